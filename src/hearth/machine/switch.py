"""Changes a setting of the kernel, and undoes the change, whichever process dies in between.

What was set is kept before anything is changed, in a file of the user's own, and dropped after the
last value is back: after a kill, `undo` finds either what was or nothing to do. A change lasts
until the machine starts again, or longer with a drop-in for systemd-sysctl or tmpfiles; or only as
long as a lock is held, for measuring: the kernel releases that with its process, and a guardian,
or else hearth's next command, undoes what was abandoned.
"""

import contextlib
import errno
import fcntl
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from hearth.base.codec import LEFT_OUT, load_typed, to_json
from hearth.base.errors import UserError
from hearth.base.private_files import private_directory, write_private
from hearth.base.processes import start_guardian
from hearth.machine.tree import NotSeen, Tree
from hearth.record.store import write_document

_PROC_SYS = "proc/sys/"
_NAME = re.compile(r"[a-z0-9-]{1,64}", re.ASCII)
_SETTING = re.compile(r"(?:proc/sys|sys)/[\w./:-]{1,200}", re.ASCII)
_MARK = (
    "# Written by 'hearth doctor --fix {name} --persist'; 'hearth doctor --undo {name}' removes it."
)
_BOOT = "proc/sys/kernel/random/boot_id"
#: What a guardian does once the process that started it is gone.
_RESTORE = """
import sys
from pathlib import Path
sys.stdin.read()
from hearth.machine.switch import Switch
Switch(Path(sys.argv[1]), Path(sys.argv[2])).take_back_abandoned()
"""


@dataclass(frozen=True)
class Change:
    """A write to a file of /proc/sys or /sys; path: without the leading slash.

    counterpart: a file that the kernel sets to 0 when this one is written, and the other way round.
    """

    path: str
    value: str
    counterpart: str = ""

    @property
    def command(self) -> str:
        """Return the command that makes it."""
        if self.path.startswith(_PROC_SYS):
            return f"sysctl -w {self._sysctl}={self.value}"
        return f"sh -c 'echo {self.value} > /{self.path}'"

    @property
    def line(self) -> str:
        """Return the line of sysctl.d(5) or tmpfiles.d(5) that makes it."""
        if self.path.startswith(_PROC_SYS):
            return f"{self._sysctl} = {self.value}"
        return f"w /{self.path} - - - - {self.value}"

    @property
    def _sysctl(self) -> str:
        return self.path.removeprefix(_PROC_SYS).replace("/", ".")


@dataclass(frozen=True)
class SavedValue:
    """A file of /proc/sys or /sys, what it held, and what is written to it.

    instead: what was set by the file's counterpart, which the kernel has dropped since.
    """

    path: str
    before: str
    after: str
    instead: "SavedValue | None" = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class Switched:
    """A change that was begun; drop_ins: files that make it last, without the leading slash.

    temporary: whether it ends with the process that made it.
    """

    name: str
    boot: str
    settings: list[SavedValue]
    drop_ins: list[str]
    temporary: bool = field(default=False, metadata=LEFT_OUT)
    schema: Literal["hearth/doctor-switched/1"] = "hearth/doctor-switched/1"


class Switch:
    """Changes of one machine; folder: where what was set is kept."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._tree = Tree(root)
        self._folder = folder

    @staticmethod
    def of(state_home: Path) -> "Switch":
        """Return that of this machine, with what is kept below hearth's state directory."""
        return Switch(Path("/"), state_home / "doctor" / "switched")

    def plan(self, name: str, changes: Sequence[Change], persist: bool) -> Switched:
        """Return what a fix would change, and change nothing.

        Raises UserError where it is made already, or this process cannot make it.
        """
        self._drop_if_over(name)
        if self._file(name).exists():
            raise UserError(
                f"--fix: {name} is fixed already: 'hearth doctor --undo {name}' undoes it"
            )
        settings = [self._saved(one) for one in changes]
        for one in changes:
            self._check_writable(one)
        return Switched(
            name, self._boot(), settings, list(_drop_ins(name, changes)) if persist else []
        )

    def apply(self, planned: Switched) -> None:
        """Keep what is set, then change it; all is put back if the kernel does not keep a value."""
        self._keep(planned)
        try:
            for one in planned.settings:
                self._write(one.path, one.after)
            changes = [Change(one.path, one.after) for one in planned.settings]
            for path, lines in _drop_ins(planned.name, changes).items():
                if path in planned.drop_ins:
                    self._add(path, "\n".join([_MARK.format(name=planned.name), *lines, ""]))
        except BaseException:
            self._restore(planned)
            raise

    @contextlib.contextmanager
    def held(self, planned: Switched) -> Iterator[None]:
        """Have it changed for a while, whichever process dies meanwhile.

        Raises UserError where another process has a setting changed in this way.
        """
        with self._locked() as free:
            if not free:
                raise UserError(
                    f"{planned.name}: another 'hearth compare' has a setting switched for its "
                    "runs: wait until it has ended"
                )
            folders = [str(self._tree.root.absolute()), str(self._folder.absolute())]
            guardian = start_guardian([sys.executable, "-P", "-c", _RESTORE, *folders])
            try:
                self.apply(replace(planned, temporary=True))
                try:
                    yield
                finally:
                    self._undo(planned.name)
            finally:
                guardian.kill()
                guardian.communicate()

    def take_back_abandoned(self) -> list[str]:
        """Put back what a process that was killed had changed for a while; a line for each."""
        with self._locked() as free:
            if not free:
                return []
            lines = []
            for file in sorted(self._folder.glob("*.json")):
                name = file.stem
                try:
                    if not self._read(name).temporary:
                        continue
                    self._undo(name)
                    lines.append(
                        f"put back {name}, which a comparison that was killed had switched"
                    )
                except UserError as error:
                    lines.append(str(error))
            return lines

    @contextlib.contextmanager
    def _locked(self) -> Iterator[bool]:
        """Try to take the lock; return whether this process holds it."""
        private_directory(self._folder)
        lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
        finally:
            os.close(lock)

    def undo(self, name: str) -> Switched:
        """Put back what was set, however far the change got; raise UserError if it cannot be."""
        if not _NAME.fullmatch(name) or not self._file(name).exists():
            raise UserError(f"--undo: hearth has not fixed {name}: there is nothing to undo")
        with self._locked() as free:
            if not free and self._read(name).temporary:
                raise UserError(
                    f"--undo: {name} is switched for a run of 'hearth compare', which puts it back"
                )
            return self._undo(name)

    def _read(self, name: str) -> Switched:
        file = self._file(name)
        try:
            switched = load_typed(file, Switched)
            _check(switched, name)
        except (OSError, ValueError) as error:
            raise UserError(
                f"'{file}' cannot be read: {error}; remove it, and set {name} by hand"
            ) from error
        return switched

    def _undo(self, name: str) -> Switched:
        switched, file = self._read(name), self._file(name)
        if switched.boot == self._boot():
            for one in switched.settings:
                now = self._now(one.path)
                if now not in (one.before, one.after):
                    raise UserError(
                        f"--undo: /{one.path} is '{now[:40]}', and hearth wrote "
                        f"'{one.after}': somebody changed it "
                        f"since; it was '{one.before}' before; remove '{file}' to keep "
                        "what is set now"
                    )
        self._restore(switched)
        return switched

    def _restore(self, switched: Switched) -> None:
        """Restore in reverse; remove the file last, so that a kill leaves it to the next undo."""
        if switched.boot == self._boot():
            for one in reversed(switched.settings):
                if self._now(one.path) != one.before:
                    back = one.instead or one
                    self._write(back.path, back.before)
        for path in switched.drop_ins:
            self._remove(path, switched.name)
        self._file(switched.name).unlink(missing_ok=True)

    def _drop_if_over(self, name: str) -> None:
        """Forget a change without drop-in if the machine has started again since."""
        with contextlib.suppress(OSError, ValueError):
            switched = load_typed(self._file(name), Switched)
            if switched.boot != self._boot() and not switched.drop_ins:
                self._file(name).unlink(missing_ok=True)

    def _saved(self, change: Change) -> SavedValue:
        """Return what is set: by the counterpart, where the kernel shows 0 for this one."""
        saved = SavedValue(change.path, self._now(change.path), change.value)
        if not change.counterpart or saved.before != "0":
            return saved
        by = SavedValue(change.counterpart, self._now(change.counterpart), "0")
        return replace(saved, instead=by)

    def _keep(self, planned: Switched) -> None:
        private_directory(self._folder)
        write_document(self._file(planned.name), to_json(planned))

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.json"

    def _boot(self) -> str:
        with contextlib.suppress(NotSeen):
            return self._tree.text(_BOOT)
        return "unknown"

    def _now(self, path: str) -> str:
        """Return what is set, as it is written: the word in brackets of several."""
        try:
            return self._tree.chosen(path)
        except NotSeen as reason:
            raise UserError(str(reason)) from None

    def _check_writable(self, change: Change) -> None:
        if not os.access(self._tree.root / change.path, os.W_OK):
            raise UserError(
                f"--fix: /{change.path} cannot be written here (only by root, and never "
                "in a container with a "
                f"read-only /proc or /sys): on the host, as root: {change.command}"
            )

    def _write(self, path: str, value: str) -> None:
        file = self._tree.root / path
        try:
            setting = os.open(file, os.O_WRONLY | os.O_TRUNC | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                os.write(setting, f"{value}\n".encode())
            finally:
                os.close(setting)
        except OSError as error:
            refused = isinstance(error, PermissionError) or error.errno == errno.EROFS
            hint = "; run it as root on the host" if refused else ""
            raise UserError(
                f"/{path}: '{value}' cannot be written: {error.strerror}{hint}"
            ) from error
        if self._now(path) != value:
            raise UserError(
                f"/{path}: the kernel did not keep '{value}': it is '{self._now(path)[:40]}'"
            )

    def _add(self, path: str, text: str) -> None:
        file = self._tree.root / path
        if file.exists():
            raise UserError(f"--persist: {file} exists already: remove it, or leave --persist out")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_private(file, text)
            file.chmod(0o644)  # systemd's services read it, and it holds no secret
        except OSError as error:
            raise UserError(
                f"--persist: {file} cannot be written: {error.strerror}; run it as root"
            ) from error

    def _remove(self, path: str, name: str) -> None:
        """Remove a file only if hearth wrote it."""
        file = self._tree.root / path
        with contextlib.suppress(FileNotFoundError):
            if file.read_text(encoding="utf-8", errors="replace").startswith(
                _MARK.format(name=name)
            ):
                file.unlink()


def _check(switched: Switched, name: str) -> None:
    """Raise ValueError for what hearth never wrote: it would be written to files of the kernel."""
    if switched.name != name:
        raise ValueError(f"it belongs to {switched.name[:40]}")
    for one in [*switched.settings, *(one.instead for one in switched.settings if one.instead)]:
        if not _SETTING.fullmatch(one.path) or ".." in one.path.split("/"):
            raise ValueError(f"'{one.path[:40]}' is not a setting of the kernel")
    if set(switched.drop_ins) - {_SYSCTL.format(name=name), _TMPFILES.format(name=name)}:
        raise ValueError("it names files that hearth does not write")


_SYSCTL = "etc/sysctl.d/90-hearth-{name}.conf"
_TMPFILES = "etc/tmpfiles.d/hearth-{name}.conf"


def _drop_ins(name: str, changes: Sequence[Change]) -> dict[str, list[str]]:
    """Return the lines of each file that makes changes last: sysctl.d(5), tmpfiles.d(5)."""
    lines: dict[str, list[str]] = {}
    for change in changes:
        kind = _SYSCTL if change.path.startswith(_PROC_SYS) else _TMPFILES
        lines.setdefault(kind.format(name=name), []).append(change.line)
    return lines
