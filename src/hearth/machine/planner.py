"""Ask the JVM side for topologies and plans, as dataclasses."""

import contextlib
import os
import stat
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hearth.base.codec import typed
from hearth.base.errors import UserError
from hearth.machine import jvm
from hearth.machine.plan import Plan
from hearth.machine.topology import Topology


def topology(of: str | None = None, debug: bool = False) -> Topology:
    """This machine, or one that `--machine` names: a capture or a description. Raises UserError."""
    words = [] if of is None else ["--machine", of]
    return typed(jvm.call("topology", *words, debug=debug), Topology)


def plan(
    request: dict[str, Any],
    debug: bool = False,
    words: Sequence[str] = (),
    inherits: tuple[int, ...] = (),
) -> Plan:
    """Return the answer to the document of a `PlanRequest`; words, inherits: of a lease that is
    offered.

    Raises UserError where nothing fits.
    """
    return typed(jvm.call("plan", *words, request=request, debug=debug, inherits=inherits), Plan)


def plans(requests: Sequence[dict[str, Any]], debug: bool = False) -> list[Plan | UserError]:
    """Return the answer to each document of a `PlanRequest`, in their order: the plan, or why none.

    All are made, by one start of the JVM, for the machine and its neighbours as they are at one
    moment. Raises UserError where none can be made at all.
    """
    if not requests:
        return []
    several = {"schema": "hearth/plan-requests/1", "requests": list(requests)}
    answers = jvm.call("plan", request=several, debug=debug)["plans"]
    return [typed(answer["plan"], Plan) if "plan" in answer else UserError(answer["refused"])
            for answer in answers]  # fmt: skip


#: As `LeaseRegistry` on the JVM side has them.
_VARIABLE = "HEARTH_LEASES"
_CANDIDATES = ("/run/hearth", "/run/lock", "/dev/shm")


class Offer:
    """A file that may become the lease of an application that is one JVM of plain Spark: no class
    of hearth's takes one there. `words` and `inherits` are for the verb `plan`.

    This process makes the file and holds it open; the verb locks, fills and publishes it in the
    step in which it plans. The lock belongs to the open file, not to a process (fcntl(2), open
    file description locks): the driver inherits the descriptor, and the kernel ends the lease with
    it.
    """

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
        """Return the descriptor to inherit if the lease was taken.

        Else nothing, and the file goes.
        """
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
