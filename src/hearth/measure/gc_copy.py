"""Copies GC logs of executors that write them into their own working directory.

An executor of a standalone worker or in a container may not be able to write into the record, and
a JVM whose log cannot be opened does not start. So it logs into its working directory, and the new
bytes are fetched through /proc/PID/cwd while it lives.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from hearth.measure import kernel
from hearth.measure.discovery import Found
from hearth.measure.probes.base import Target, read_if_alive
from hearth.model.private import open_private

_PART_BYTES = 1 << 20


def local_log_name(record_id: str, pid: str) -> str:
    """The log's name in the executor's working directory; `%p` is the JVM's word for its pid."""
    return f"hearth-gc-{record_id}-{pid}.log"


class GcLogCopies:
    """Keeps each log open, so that what is written is read also after its directory is gone.

    lose: called with the reason where something cannot be copied.
    """

    def __init__(self, proc: Path, record: Path, lose: Callable[[OSError], None]) -> None:
        self._proc = proc
        self._record = record
        self._lose = lose
        self._open: dict[Target, int] = {}

    def follow(self, processes: Iterable[Found]) -> None:
        """Fetches what the executors have logged since the last call."""
        executors = {p.target for p in processes if p.target.role == "executor"}
        for target in executors - self._open.keys():
            log = self._log(target.pid)
            if log is not None and os.access(log, os.R_OK):
                self._open[target] = open_private(str(log), os.O_RDONLY)
        for target, descriptor in list(self._open.items()):
            self._fetch(target.pid, descriptor)
            if target not in executors:
                os.close(self._open.pop(target))

    def _log(self, pid: int) -> Path | None:
        status = kernel.parse_status(read_if_alive(self._proc / str(pid) / "status") or "")
        if "NSpid" not in status:
            return None
        own_pid = status["NSpid"].split()[-1]  # in a container the JVM sees another pid
        return self._proc / str(pid) / "cwd" / local_log_name(self._record.name, own_pid)

    def _fetch(self, pid: int, descriptor: int) -> None:
        log = self._record / "gc" / f"executor-{pid}.log"
        while part := os.read(descriptor, _PART_BYTES):
            try:
                with open(log, "ab", opener=open_private) as copy:
                    copy.write(part)
            except OSError as error:
                self._lose(error)
