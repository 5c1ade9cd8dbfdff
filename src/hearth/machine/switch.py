"""Changes a setting of the kernel for a while, and restores it, whichever process dies meanwhile.

What was set is kept before anything is changed, in a file of the user's own, and dropped after the
last value is back. A lock is held meanwhile: the kernel releases it with its process, and a
guardian, or else hearth's next command, restores what was abandoned.
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
from hearth.base.private_files import private_directory
from hearth.base.processes import start_guardian
from hearth.machine.tree import NotSeen, Tree
from hearth.record.store import write_document

_SETTING = re.compile(r"(?:proc/sys|sys)/[\w./:-]{1,200}", re.ASCII)
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
    """What is changed for a while; name: of the doctor's finding."""

    name: str
    boot: str
    settings: list[SavedValue]
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

    def plan(self, name: str, changes: Sequence[Change]) -> Switched:
        """Return what would be changed, and change nothing.

        Raises UserError where it is changed already, or this process cannot change it.
        """
        if self._file(name).exists():
            raise UserError(
                f"'{self._file(name)}' tells what {name} was before a comparison changed it, and "
                "it has not been restored yet"
            )
        settings = [self._saved(one) for one in changes]
        for one in changes:
            self._check_writable(one)
        return Switched(name, self._boot(), settings)

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
                self._change(planned)
                try:
                    yield
                finally:
                    self._take_back(planned)
            finally:
                guardian.kill()
                guardian.communicate()

    def take_back_abandoned(self) -> list[str]:
        """Restore what a process that was killed had changed; a line for each."""
        with self._locked() as free:
            if not free:
                return []
            lines = []
            for file in sorted(self._folder.glob("*.json")):
                try:
                    self._take_back(self._read(file))
                    lines.append(
                        f"put back {file.stem}, which a comparison that was killed had switched"
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

    def _change(self, planned: Switched) -> None:
        """Keep what is set, then change it; all is put back if the kernel does not keep a value."""
        write_document(self._file(planned.name), to_json(planned))
        try:
            for one in planned.settings:
                self._write(one.path, one.after)
        except BaseException:
            self._restore(planned)
            raise

    def _read(self, file: Path) -> Switched:
        try:
            switched = load_typed(file, Switched)
            _check(switched, file.stem)
        except (OSError, ValueError) as error:
            raise UserError(
                f"'{file}' cannot be read: {error}; remove it, and set {file.stem} by hand"
            ) from error
        return switched

    def _take_back(self, switched: Switched) -> None:
        """Put back what was set; raise UserError where somebody has changed it since."""
        if switched.boot == self._boot():
            for one in switched.settings:
                now = self._now(one.path)
                if now not in (one.before, one.after):
                    raise UserError(
                        f"/{one.path} is '{now[:40]}', and hearth wrote '{one.after}': somebody "
                        f"changed it since; it was '{one.before}' before; remove "
                        f"'{self._file(switched.name)}' to keep what is set now"
                    )
        self._restore(switched)

    def _restore(self, switched: Switched) -> None:
        """Restore in reverse; remove the file last: a kill leaves it to hearth's next command."""
        if switched.boot == self._boot():
            for one in reversed(switched.settings):
                if self._now(one.path) != one.before:
                    back = one.instead or one
                    self._write(back.path, back.before)
        self._file(switched.name).unlink(missing_ok=True)

    def _saved(self, change: Change) -> SavedValue:
        """Return what is set: by the counterpart, where the kernel shows 0 for this one."""
        saved = SavedValue(change.path, self._now(change.path), change.value)
        if not change.counterpart or saved.before != "0":
            return saved
        by = SavedValue(change.counterpart, self._now(change.counterpart), "0")
        return replace(saved, instead=by)

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
                f"/{change.path} cannot be written here (only by root, and never in a container "
                "with a read-only /proc or /sys)"
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


def _check(switched: Switched, name: str) -> None:
    """Raise ValueError for what hearth never wrote: it would be written to files of the kernel."""
    if switched.name != name:
        raise ValueError(f"it belongs to {switched.name[:40]}")
    for one in [*switched.settings, *(one.instead for one in switched.settings if one.instead)]:
        if not _SETTING.fullmatch(one.path) or ".." in one.path.split("/"):
            raise ValueError(f"'{one.path[:40]}' is not a setting of the kernel")
