"""Copy GC logs of executors that write them into their own working directory.

An executor of a standalone worker or in a container may not be able to write into the record, and
a JVM whose log cannot be opened does not start. So it logs into its working directory, and the new
bytes are fetched through /proc/PID/cwd while it lives.
"""

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from hearth.base.private_files import open_private
from hearth.record import kernel
from hearth.record.discovery import ObservedProcess
from hearth.record.probes.base import SampledProcess, read_if_alive

_PART_BYTES = 1 << 20
#: Copied of one log at most: some 600,000 lines.
MOST_BYTES = 64 << 20


def local_log_name(record_id: str, pid: str) -> str:
    """Return the log's name in the executor's working directory.

    `%p` is the JVM's word for its pid.
    """
    return f"hearth-gc-{record_id}-{pid}.log"


class GcLogCopies:
    """Keeps each log open, so that what is written is read also after its directory is gone.

    lose: called with the reason where something cannot be copied; warn: with what is wrong and a
    remedy.
    """

    def __init__(
        self,
        proc: Path,
        record: Path,
        lose: Callable[[OSError], None],
        warn: Callable[[str, str], None],
    ) -> None:
        self._proc, self._record, self._lose, self._warn = proc, record, lose, warn
        self._open: dict[SampledProcess, int] = {}
        self._copied: Counter[SampledProcess] = Counter()

    def follow(self, processes: Iterable[ObservedProcess]) -> None:
        """Fetch what the executors have logged since the last call."""
        executors = {p.target for p in processes if p.target.role == "executor"}
        for target in executors - self._open.keys():
            log = self._log(target.pid)
            if log is not None and (descriptor := _opened(log)) is not None:
                self._open[target] = descriptor
        for target, descriptor in list(self._open.items()):
            self._fetch(target, descriptor)
            if target not in executors:
                os.close(self._open.pop(target))

    def _log(self, pid: int) -> Path | None:
        status = kernel.parse_status(read_if_alive(self._proc / str(pid) / "status") or "")
        if "NSpid" not in status:
            return None
        own_pid = status["NSpid"].split()[-1]  # in a container the JVM sees another pid
        return self._proc / str(pid) / "cwd" / local_log_name(self._record.name, own_pid)

    def _fetch(self, target: SampledProcess, descriptor: int) -> None:
        log = self._record / "gc" / f"executor-{target.pid}.log"
        left = MOST_BYTES - self._copied[target]
        while left > 0 and (part := os.read(descriptor, min(left, _PART_BYTES))):
            left -= len(part)
            try:
                with open(log, "ab", opener=open_private) as copy:
                    copy.write(part)
            except OSError as error:
                self._lose(error)
        if left == 0 and self._copied[target] < MOST_BYTES:
            what = (
                f"the GC log of executor process {target.pid} is longer than {MOST_BYTES >> 20} MB"
            )
            self._warn(what, "the rest is left out: log less with -Xlog")
        self._copied[target] = MOST_BYTES - left


def _opened(log: Path) -> int | None:
    """Open a log if it is a regular file; opening a pipe or a device must not wait."""
    try:
        descriptor = open_private(str(log), os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None  # not there yet, or not ours to read
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None
