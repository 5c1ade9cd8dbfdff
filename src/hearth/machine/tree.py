"""Files of a machine's `/proc`, `/sys`, `/dev` and `/etc`, read as if a hostile hand had made them.

A file may be missing, cut, a directory, a pipe or endless. All of these end in `NotSeen`, whose
message says what could not be read: never in a value, never in waiting.
"""

import os
import re
import stat
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NoReturn

from hearth.base.ids import parse_ids

#: A value is a line or a few; /proc/interrupts of a machine with 1,000 CPUs takes some megabytes.
_VALUE_BYTES = 16 << 10
_TABLE_BYTES = 16 << 20
_NUMBER = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_FIELD = re.compile(
    r"(?<![\w()-])(?:Node \d{1,6} )?([A-Za-z_][\w()-]*):?[ \t]{1,99}(\d{1,19})(?: kB)?", re.ASCII
)
_IDS = re.compile(r"(?:\d{1,6}(?:-\d{1,6})?(?:,\d{1,6}(?:-\d{1,6})?)*)?", re.ASCII)
_CHOSEN = re.compile(r"\[([^\[\]\s]+)\]")


class NotSeen(Exception):  # noqa: N818 - not an error: an answer
    """A file is not there, or cannot be believed; the message says why."""


@dataclass(frozen=True)
class Mount:
    """A line of /proc/self/mountinfo (proc_pid_mountinfo(5)); options: of the mount and of its
    file system; root: the directory of the file system that the point shows."""

    device: str
    root: str
    point: str
    kind: str
    options: frozenset[str]


class Tree:
    """The files below a root: `/`, or a copy of another machine's.

    confined: whether a link that leads out of the root is not a file of that machine.
    """

    def __init__(self, root: Path = Path("/"), confined: bool = False) -> None:
        self.root = root
        self._within = Path(os.path.realpath(root)) if confined else None

    def has(self, path: str) -> bool:
        """Return whether something is there."""
        try:
            return os.path.lexists(self._at(path))
        except (OSError, ValueError, NotSeen):
            return False

    def _at(self, path: str) -> Path:
        """Return where a file is; raise NotSeen where it is outside."""
        file = self.root / path
        if self._within and not Path(os.path.realpath(file)).is_relative_to(self._within):
            raise NotSeen(f"could not read /{path}: a link points outside the capture")
        return file

    def mode(self, path: str) -> int:
        """Return the mode of what is there (inode(7)), links followed; raise NotSeen."""
        try:
            return self._at(path).stat().st_mode
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not a file name"
            raise NotSeen(f"could not read /{path}: {reason}") from None

    def may_write(self, path: str) -> bool:
        """Return whether this process may make files in a directory."""
        return os.access(self.root / path, os.W_OK | os.X_OK)

    def may_make(self, path: str) -> bool:
        """Return whether this process may make a directory, or files in it if it is there.

        Raise NotSeen where there is no root.
        """
        at = path.strip("/")
        while not self.has(at):
            if not at:
                raise NotSeen("there is no /")
            at = at.rpartition("/")[0]
        return self.may_write(at)

    def data(self, path: str, most: int = _VALUE_BYTES) -> bytes:
        """Return the content of a file; raise NotSeen, also where it is longer than `most`."""
        try:
            # A pipe without a writer must not be waited for.
            file = os.open(self._at(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                if not stat.S_ISREG(os.fstat(file).st_mode):
                    raise NotSeen(f"could not read /{path}: it is not a file")
                content = _read(file, most + 1)
            finally:
                os.close(file)
        except FileNotFoundError:
            raise NotSeen(f"there is no /{path}") from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not a file name"
            raise NotSeen(f"could not read /{path}: {reason}") from None
        if len(content) > most:
            raise NotSeen(f"could not read /{path}: it is longer than {most} bytes")
        return content

    def text(self, path: str, most: int = _VALUE_BYTES) -> str:
        """Return the text of a file, without white space around it; raise NotSeen."""
        try:
            text = self.data(path, most).decode("utf-8")
        except UnicodeDecodeError:
            raise NotSeen(f"could not read /{path}: it is not text") from None
        if "\0" in text:
            raise NotSeen(f"could not read /{path}: it is not text")
        return text.strip()

    def table(self, path: str) -> list[str]:
        """Return the lines of a file that may be long; raise NotSeen, also where it is empty."""
        lines = self.text(path, _TABLE_BYTES).splitlines()
        return lines if lines else self._refuse(path, "")

    def number(self, path: str, most: int = (1 << 63) - 1) -> int:
        """Return the whole number that a file holds, from 0 to `most`; raise NotSeen."""
        text = self.text(path)
        if not _NUMBER.fullmatch(text) or not 0 <= int(text) <= most:
            self._refuse(path, text)
        return int(text)

    def chosen(self, path: str) -> str:
        """Return the word in brackets, or all that a file holds; raise NotSeen."""
        text = self.text(path)
        words = _CHOSEN.findall(text)
        return str(words[0]) if len(words) == 1 else text

    def choice(self, path: str, among: Collection[str]) -> str:
        """Return the word in brackets, or the only one; raise NotSeen if it is none of `among`."""
        word = self.chosen(path)
        return word if word in among else self._refuse(path, word)

    def ids(self, path: str) -> set[int]:
        """Return the CPUs or nodes of a list such as `0-3,8`; raise NotSeen."""
        text = self.text(path)
        try:
            return set(parse_ids(text)) if _IDS.fullmatch(text) else self._refuse(path, text)
        except ValueError:
            return self._refuse(path, text)

    def fields(self, path: str) -> dict[str, int]:
        """Return the numbers of lines such as `MemTotal: 8 kB` and `oom_kill 0`; raise NotSeen."""
        rows = (_FIELD.fullmatch(line.strip()) for line in self.table(path))
        numbers = {row[1]: int(row[2]) for row in rows if row}
        return numbers if numbers else self._refuse(path, "")

    def field(self, path: str, name: str) -> int:
        """Return one of these numbers; raise NotSeen."""
        numbers = self.fields(path)
        if name not in numbers:
            raise NotSeen(f"could not read /{path}: it has no {name}")
        return numbers[name]

    def names(self, folder: str, pattern: str = r"[\w.:-]{1,64}") -> list[str]:
        """Return the names in a directory that match a pattern, sorted; raise NotSeen."""
        try:
            names = [path.name for path in self._at(folder).iterdir()]
        except FileNotFoundError:
            raise NotSeen(f"there is no /{folder}") from None
        except OSError as error:
            raise NotSeen(f"could not read /{folder}: {error.strerror}") from None
        return sorted(name for name in names if re.fullmatch(pattern, name, re.ASCII))

    def mounts(self) -> list[Mount]:
        """Return what is mounted, in the kernel's order; raise NotSeen."""
        path = "proc/self/mountinfo"
        mounts = [mount for line in self.table(path) if (mount := _mount(line))]
        return mounts if mounts else self._refuse(path, "")

    def mount_of(self, path: str) -> Mount:
        """Return the mount that an absolute path without links lies on; raise NotSeen."""
        folders = {str(path), *map(str, PurePosixPath(path).parents)}
        over = [mount for mount in self.mounts() if mount.point in folders]
        if not over:
            raise NotSeen(f"could not read /proc/self/mountinfo: it has no mount for {path}")
        longest = max(len(mount.point) for mount in over)
        return [mount for mount in over if len(mount.point) == longest][-1]

    def _refuse(self, path: str, text: str) -> NoReturn:
        shown = "".join(c if c.isprintable() else "?" for c in text[:40])
        raise NotSeen(f"could not read /{path}: '{shown}' is not what the kernel writes there")


def _read(file: int, most: int) -> bytes:
    """Return at most so many bytes: files of /proc come in parts."""
    parts: list[bytes] = []
    while most > 0 and (part := os.read(file, most)):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


def _mount(line: str) -> Mount | None:
    before, dash, after = line.partition(" - ")
    fields, system = before.split(), after.split()
    if not dash or len(fields) < 6 or len(system) < 2 or not re.fullmatch(r"\d+:\d+", fields[2]):
        return None
    options = {*fields[5].split(","), *(system[2].split(",") if len(system) > 2 else ())}
    point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields[4])
    return Mount(fields[2], fields[3], point, system[0], frozenset(options))
