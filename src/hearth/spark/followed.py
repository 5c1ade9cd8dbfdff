"""Follow a run from its parent process: pass signals on, and know how the run ended.

The child becomes the run by exec, and dies with its parent. It stays in the parent's process group,
so that the terminal reaches it without help.
"""

import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NoReturn

from hearth.base.errors import UserError
from hearth.base.processes import CpuSeconds, die_with, start_ticks

State = Literal["finished", "failed", "interrupted"]
#: What somebody may send to the parent and mean for the run.
_PASSED_ON = {
    getattr(signal, name)
    for name in ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2")
}
_ASK_TO_END = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM}
_WATCHED = {signal.SIGCHLD, *_PASSED_ON}
#: What a child writes: that it begins, or why it does not; a pipe takes so much at once.
_BEGAN, _USER, _INTERRUPTED, _SYSTEM, _MOST = b".", "user: ", "interrupted", "system: ", 4096


@dataclass(frozen=True)
class RunEnd:
    """The end of a run. began: whether the child had become the run; code: as in a shell."""

    began: bool
    code: int
    wall_s: float
    cpu: CpuSeconds
    #: the child's id, and its start in clock ticks
    pid: int = 0
    start_ticks: int = 0
    #: of the largest process, the child or one that it waited for
    peak_mb: int = 0
    interrupted: bool = False  #: whether somebody asked it to end
    said: str = ""  #: what the child said when it began

    @property
    def state(self) -> State:
        """How it ended: a program that ends well when it is asked to has finished."""
        if self.code == 0:
            return "finished"
        return "interrupted" if self.interrupted else "failed"


@dataclass(frozen=True)
class RunSide:
    """The child's end: it says that it becomes the run, or why it does not."""

    pipe: int

    def begins(self, said: str = "") -> None:
        os.write(self.pipe, _BEGAN + said.encode(errors="surrogateescape")[: _MOST - 1])

    def fails(self, why: str) -> None:
        os.write(self.pipe, why.encode()[:_MOST])


def follow(become: Callable[[RunSide], object]) -> RunEnd:
    """Call `become` in a child process, which becomes the run, and return when that has ended.

    What keeps it from becoming the run is raised here: UserError, OSError, KeyboardInterrupt, else
    RuntimeError.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    children = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    reading, writing = os.pipe()
    dies, began = die_with(os.getpid()), time.monotonic()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    try:
        pid = os.fork()
        if pid == 0:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            dies()
            become_run(become, RunSide(writing))
        ticks = start_ticks(pid) or 0
        os.close(writing)
        code, used, asked = _wait(pid)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        signal.signal(signal.SIGCHLD, children)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    if said and not said.startswith(_BEGAN):
        raise_said(said.decode(errors="replace"))
    cpu, wall_s = CpuSeconds(used.ru_utime, used.ru_stime), time.monotonic() - began
    told = said[len(_BEGAN) :].decode(errors="surrogateescape")
    peak_mb = used.ru_maxrss >> 10
    return RunEnd(bool(said), code, wall_s, cpu, pid, ticks, peak_mb, asked, told)


def become_run(become: Callable[[RunSide], object], side: RunSide) -> NoReturn:
    """Become the run; this process never comes back from here."""
    try:
        become(side)
    except UserError as error:
        side.fails(f"{_USER}{error}")
    except KeyboardInterrupt:
        side.fails(_INTERRUPTED)
    except OSError as error:
        told = [error.errno, error.strerror, error.filename and str(error.filename)]
        side.fails(f"{_SYSTEM}{json.dumps(told)}")
    except BaseException as fault:  # of whatever kind: the parent raises it
        side.fails(f"{type(fault).__name__}: {fault}")
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(1)


def raise_said(why: str) -> NoReturn:
    """Raise what a child has said of why it does not become the run."""
    if why.startswith(_USER):
        raise UserError(why.removeprefix(_USER))
    if why == _INTERRUPTED:
        raise KeyboardInterrupt
    if why.startswith(_SYSTEM):
        number, what, file = json.loads(why.removeprefix(_SYSTEM))
        raise OSError(number, what, *([] if file is None else [file]))
    raise RuntimeError(why)


def _wait(pid: int) -> tuple[int, resource.struct_rusage, bool]:
    """Return the exit code, 128 + N for a signal, what it used with all that it waited for, and
    whether a signal came that asks it to end.
    """
    asked = False
    while True:
        came = signal.sigwaitinfo(_WATCHED)
        if came.si_signo != signal.SIGCHLD:
            asked = asked or came.si_signo in _ASK_TO_END
            if came.si_code <= 0:  # from a process; one of the terminal has reached both
                os.kill(pid, came.si_signo)
            continue
        ended, status, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return (128 - code if code < 0 else code), usage, asked
