"""Processes by identity: a process id alone may have been reused."""

import contextlib
import ctypes
import os
import signal
from collections.abc import Callable
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def start_ticks(pid: int, proc: Path = Path("/proc")) -> int | None:
    """Field 22 of `/proc/PID/stat` (proc(5)); None where the process is gone or a zombie."""
    try:
        stat = (proc / str(pid) / "stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    # The command name is in brackets and may itself contain blanks and brackets.
    fields = stat[stat.rindex(")") + 2 :].split(" ")
    return None if fields[0] == "Z" else int(fields[22 - 3])


def is_alive(pid: int, ticks: int, proc: Path = Path("/proc")) -> bool:
    """Whether the process with this id and start time is alive."""
    return start_ticks(pid, proc) == ticks


def die_with(parent: int, by: signal.Signals = signal.SIGTERM) -> Callable[[], None]:
    """For `preexec_fn`: the kernel ends the child when its parent dies (prctl(2), kept over exec).

    The C library is loaded here, before the fork.
    """
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def ask() -> None:
        if prctl(_PR_SET_PDEATHSIG, by, 0, 0, 0) != 0 or os.getppid() != parent:
            os._exit(1)

    return ask


def detached(work: Callable[[], None]) -> None:
    """Does `work` in a process that outlives this one: in a session of its own, without this one's
    open files, on CPU time that nobody else wants (sched(7), SCHED_IDLE).
    """
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork() == 0:
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(nothing, stream)
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            with contextlib.suppress(OSError):
                os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
            work()
    finally:
        os._exit(0)
