"""Which threads have run: /proc/PID/task/TID/schedstat (Documentation/scheduler/sched-stats.rst).

Of hundreds of threads few run within a second, so this one file shows which others need not be
read. It stays open from sample to sample: reading it again takes a tenth of the time that opening
it takes.
"""

import contextlib
import os
import resource
from collections.abc import Collection, Iterator
from pathlib import Path

from hearth.record.probes.base import SampledProcess, thread_ids

_LENGTH = 128
#: Of the files that this process may have open; beyond it a file is opened each time.
_SHARE_OF_FILES = 0.4


def allow_many_files() -> None:
    """Raise the soft limit of open files to the hard one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # it stays as it is, which is enough
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Schedstat:
    """Reads the file of each thread of some processes."""

    def __init__(self, proc: Path) -> None:
        self._proc = proc
        self._open: dict[SampledProcess, dict[str, int]] = {}
        self._most = int(resource.getrlimit(resource.RLIMIT_NOFILE)[0] * _SHARE_OF_FILES)
        self._held = 0

    def of(self, target: SampledProcess) -> Iterator[tuple[str, bytes]]:
        """Yield each thread's id and text: ns run, ns waited for a CPU, times run.

        The text is empty for a thread that is gone, and for all where the kernel keeps none.
        """
        files = self._open.setdefault(target, {})
        threads = thread_ids(f"{self._proc}/{target.pid}")
        for gone in files.keys() - set(threads):
            self._close(files, gone)
        for thread in threads:
            yield thread, self._read(files, target.pid, thread)

    def keep_only(self, targets: Collection[SampledProcess]) -> None:
        """Close the files of processes that are not among these."""
        for gone in self._open.keys() - set(targets):
            for thread in list(self._open[gone]):
                self._close(self._open[gone], thread)
            del self._open[gone]

    def _read(self, files: dict[str, int], pid: int, thread: str) -> bytes:
        if thread in files:
            try:
                return os.pread(files[thread], _LENGTH, 0)
            except ProcessLookupError:  # another thread has its id by now
                self._close(files, thread)
        try:
            file = os.open(f"{self._proc}/{pid}/task/{thread}/schedstat", os.O_RDONLY)
        except (FileNotFoundError, ProcessLookupError):
            return b""
        files[thread] = file
        self._held += 1
        try:
            return os.pread(file, _LENGTH, 0)
        except ProcessLookupError:
            return b""
        finally:
            if self._held > self._most:
                self._close(files, thread)

    def _close(self, files: dict[str, int], thread: str) -> None:
        os.close(files.pop(thread))
        self._held -= 1
