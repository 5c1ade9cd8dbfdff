"""The sampler of a run: a process alongside the application, forked with this process's modules
loaded.

A new Python would take 60 ms of CPU time to load the same modules, which matters in a short run.
"""

import contextlib
import os
import select
import signal
import traceback
from pathlib import Path
from typing import NoReturn

from hearth.record import sampler

_NAME = "hearth-sampler"  # as the kernel reports it, at most 15 characters
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class SamplerProcess:
    """A running sampler; its standard input shows whether this process lives."""

    def __init__(self, record: Path, driver_pid: int) -> None:
        hears, self._says = os.pipe()
        self.pid = os.fork()  # this process has one thread
        if self.pid == 0:
            os.close(self._says)
            _become_sampler(hears, record, driver_pid)
        os.close(hears)

    def end(self, grace_s: float) -> int:
        """Ask for a last sample and its end, kill it after `grace_s`; its exit code."""
        try:
            os.write(self._says, b"end\n")
        except BrokenPipeError:
            pass  # it has already ended; see its exit code
        finally:
            os.close(self._says)
        ended = os.pidfd_open(self.pid)
        try:
            if not select.select([ended], [], [], grace_s)[0]:
                os.kill(self.pid, signal.SIGKILL)
        finally:
            os.close(ended)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def _log(record: Path) -> int:
    """Open the log of the sampler's errors; /dev/null if the record takes no more files."""
    try:
        return os.open(record / "sampler.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)


def _become_sampler(hears: int, record: Path, driver_pid: int) -> NoReturn:
    """Run the sampler in the child process."""
    code = 1
    try:
        for number in _SIGNALS:  # like a newly started program, without the parent's handlers
            signal.signal(number, signal.SIG_DFL)
        log = _log(record)
        for ours, theirs in ((hears, 0), (log, 1), (log, 2)):
            os.dup2(ours, theirs)
        with contextlib.suppress(OSError):  # a sandbox may not let a process name itself
            Path("/proc/self/comm").write_text(_NAME, encoding="ascii")
        code = sampler.main(record, driver_pid)
    except BaseException:
        traceback.print_exc()  # its last line goes to the record's warnings
    finally:
        os._exit(code)
