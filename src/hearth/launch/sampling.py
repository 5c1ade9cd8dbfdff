"""The sampler of a run: a process beside the application, with what this one has loaded already.

It is forked and not started anew: a Python of its own takes 60 ms of CPU time to load the same
modules, which a short run would feel.
"""

import contextlib
import os
import select
import signal
import traceback
from pathlib import Path
from typing import NoReturn

from hearth.measure import sampler

_NAME = "hearth-sampler"  # as the kernel tells it, of 15 characters at most
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class SamplerProcess:
    """A running sampler; it sees by its standard input whether this process lives."""

    def __init__(self, record: Path, driver_pid: int) -> None:
        hears, self._says = os.pipe()
        self.pid = os.fork()  # this process has one thread
        if self.pid == 0:
            os.close(self._says)
            _become_sampler(hears, record, driver_pid)
        os.close(hears)

    def end(self, grace_s: float) -> int:
        """Asks for a last sample and its end, kills it after `grace_s`; its exit code."""
        try:
            os.write(self._says, b"end\n")
        except BrokenPipeError:
            pass  # it ended before; its code tells
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
    """Of what goes wrong in the sampler; nowhere, where the record takes no more files."""
    try:
        return os.open(record / "sampler.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)


def _become_sampler(hears: int, record: Path, driver_pid: int) -> NoReturn:
    """What the child does."""
    code = 1
    try:
        for number in _SIGNALS:  # as a program that was started: not the parent's ways
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
