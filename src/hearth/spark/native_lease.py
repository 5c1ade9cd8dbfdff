"""The lease of an application that is one JVM of plain Spark: no class of hearth's takes one there.

This process makes the file and holds it open; the verb `plan` locks, fills and publishes it in the
same step in which it plans. The lock belongs to the open file, not to a process (fcntl(2), open
file description locks): the driver inherits the descriptor, and the kernel ends the lease with it.
"""

import contextlib
import os
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path

#: As `LeaseRegistry` on the JVM side has them.
_VARIABLE = "HEARTH_LEASES"
_CANDIDATES = ("/run/hearth", "/run/lock", "/dev/shm")


class Offer:
    """A file that may become a lease: `words` and `inherits` for the verb `plan`."""

    def __init__(self, folder: Path, name: str) -> None:
        self._name = name
        self._file = folder / f".hearth-lease-{uuid.uuid4()}.new"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        # Who can read it could lock it before the verb `plan` does.
        self.fd = os.open(self._file, flags, 0o600)
        self._tell = _standard_error()

    @property
    def inherits(self) -> tuple[int, ...]:
        return (self.fd, self._tell)

    @property
    def words(self) -> tuple[str, ...]:
        names = (str(self._file), str(os.getpid()), self._name)
        return ("--lease", str(self.fd), *names, str(self._tell))

    def settle(self) -> tuple[int, ...]:
        """The descriptor to inherit if the lease was taken; else nothing, and the file goes."""
        os.close(self._tell)
        if os.fstat(self.fd).st_size and not os.path.lexists(self._file):
            return (self.fd,)
        with contextlib.suppress(OSError):
            self._file.unlink(missing_ok=True)
        os.close(self.fd)
        return ()


@contextlib.contextmanager
def offer(name: str) -> Iterator[Offer | None]:
    """A new file among the leases of this machine; None where none can be made.

    The plan then says that leases cannot be read, or there is no lease: nothing depends on it.
    """
    try:
        made = Offer(_directory(), name)
    except OSError:
        yield None
        return
    try:
        yield made
    except BaseException:
        made.settle()
        raise


def _standard_error() -> int:
    """Where the verb says what takes long: its own standard error is read when it has ended."""
    try:
        return os.dup(2)
    except OSError:  # closed
        return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)


def _directory() -> Path:
    if chosen := os.environ.get(_VARIABLE):
        return Path(chosen).absolute()
    for candidate in map(Path, _CANDIDATES):
        with contextlib.suppress(OSError):
            seen = candidate.lstat()
            open_to_all = seen.st_mode & stat.S_IWOTH and seen.st_mode & stat.S_ISVTX
            if stat.S_ISDIR(seen.st_mode) and seen.st_uid == 0 and open_to_all:
                return candidate
    raise FileNotFoundError("no directory for the leases of all users")
