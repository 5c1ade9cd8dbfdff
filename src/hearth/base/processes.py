"""Processes by identity (a process id alone may have been reused), and guardians."""

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_LOWEST = 19  # nice(2)
_AUTOGROUP_TRIES = 20
_AUTOGROUP_WAIT_S = 0.1


def start_ticks(pid: int, proc: Path = Path("/proc")) -> int | None:
    """Return a process's start in clock ticks since boot; None if it is gone or a zombie."""
    fields = _stat(proc / str(pid))
    return None if fields is None or fields[0] == "Z" else int(fields[22 - 3])


def _stat(process: Path) -> list[str] | None:
    """Return `/proc/PID/stat` (proc(5)) from field 3 (state) on; None if the process is gone."""
    try:
        stat = (process / "stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    # The command name is in brackets and may itself contain blanks and brackets.
    return stat[stat.rindex(")") + 2 :].split(" ")


def cpu_s(pid: int, ticks: int, proc: Path = Path("/proc")) -> float | None:
    """Return CPU seconds that the process with this id and start time has used.

    None where it is gone.
    """
    fields = _stat(proc / str(pid))
    if fields is None or fields[0] == "Z" or int(fields[22 - 3]) != ticks:
        return None
    return (int(fields[14 - 3]) + int(fields[15 - 3])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class CpuSeconds:
    """CPU time that a process and what it started and waited for have used."""

    user: float
    system: float

    @property
    def total(self) -> float:
        return self.user + self.system


def ended(child: subprocess.Popen[bytes]) -> tuple[int, CpuSeconds]:
    """Wait for a child; its exit code, negative for a signal, and what it used (wait4(2))."""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, CpuSeconds(usage.ru_utime, usage.ru_stime)


def is_alive(pid: int, ticks: int, proc: Path = Path("/proc")) -> bool:
    """Return whether the process with this id and start time is alive."""
    return start_ticks(pid, proc) == ticks


def children(pid: int, proc: Path = Path("/proc")) -> list[int]:
    """Return the ids of those that it has started itself and that are there."""
    numbers = [int(entry.name) for entry in proc.iterdir() if entry.name.isdigit()]
    stats = {number: _stat(proc / str(number)) for number in numbers}
    return [number for number, fields in stats.items() if fields and int(fields[4 - 3]) == pid]


def die_with(parent: int, by: signal.Signals = signal.SIGTERM) -> Callable[[], None]:
    """Return a `preexec_fn` that ends the child when its parent dies (prctl(2), kept over exec).

    The C library is loaded here, before the fork.
    """
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def ask() -> None:
        if prctl(_PR_SET_PDEATHSIG, by, 0, 0, 0) != 0 or os.getppid() != parent:
            os._exit(1)

    return ask


def detached(command: list[str]) -> None:
    """Start a command that outlives this process: in a session of its own, without its files and
    its directory, whose file system can be unmounted.
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
            os.chdir("/")
            os.execv(command[0], command)
    finally:
        os._exit(0)


def take_only_idle_time() -> None:
    """Take CPU time that no other process wants (sched(7), SCHED_IDLE), where the kernel agrees.

    Where the kernel shares CPU time among sessions first (sched(7), the autogroup feature), a
    policy and a nice value count within their session alone; the session has a nice value too.
    """
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    for _ in range(_AUTOGROUP_TRIES):
        try:
            Path("/proc/self/autogroup").write_text(f"{_LOWEST}\n", encoding="ascii")
            return
        except BlockingIOError:  # at most one change in 0.1 s on the whole machine
            time.sleep(_AUTOGROUP_WAIT_S)
        except OSError:  # a kernel without sessions' shares, or a read-only /proc
            return


def start_guardian(words: Sequence[str]) -> "subprocess.Popen[bytes]":
    """Start a guardian, which does one thing when this process is gone, however it ends.

    words: a command that reads its standard input to the end, and then acts. The kernel closes that
    pipe with this process, even after kill -9. The guardian is out of reach of the terminal's
    Ctrl-C, and does not hold this process's output open: who reads that waits for nobody else.
    """
    return subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )
