"""On which CPU each thread last ran (field 39 of /proc/PID/task/TID/stat), and what it is for.

The kernel keeps 15 characters of a thread's name, which identifies its kind: `Executor task l`
for `Executor task launch worker for task 3.0 in stage 1.0`. Between tasks Spark calls the same
thread `Executor task idle worker`: the rows list threads that ran since the last sample, so that
one ran tasks too, shorter ones than the time between two samples.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hearth.record import kernel
from hearth.record.probes.base import Probe, Roots, Row, SampledProcess, read_if_alive, unreadable
from hearth.record.probes.schedstat import Schedstat

#: Beginnings of names, of Spark 4.3, Netty, Hadoop and HotSpot; the first that fits decides.
_KINDS = (
    ("task", ("Executor task ",)),
    (
        "communication",
        (
            *("shuffle-", "rpc-", "netty", "dispatcher-", "block-manager", "files-client"),
            *("map-output-disp", "driver-", "heartbeat", "IPC ", "push-"),
        ),
    ),
    ("gc", ("GC Thread", "G1 ", "ZGC", "ZWorker", "ZDriver", "XWorker", "XDriver", "Shenandoah")),
    ("compiler", ("C1 CompilerThre", "C2 CompilerThre", "Sweeper thread")),
    (
        "vm",
        (
            *("VM Thread", "VM Periodic Tas", "Reference Handl", "Finalizer", "Signal Dispatch"),
            *("Common-Cleaner", "Service Thread", "Monitor Deflati", "Notification Th"),
        ),
    ),
)


def kind_of(comm: str) -> str:
    """Return task, communication, gc, compiler, vm or other, by a thread's name, cut at 15."""
    for kind, beginnings in _KINDS:
        if comm.startswith(beginnings):
            return kind
    return "other"


class _Reading(NamedTuple):
    """A thread as last read: its schedstat, name, and ticks in user and system mode."""

    schedstat: bytes
    comm: str
    utime: int
    stime: int


_NEVER = _Reading(b"", "", 0, 0)


class ThreadProbe(Probe):
    """Lists only threads that ran since the last sample, each name once."""

    name = "threads"
    budget_share = 0.005
    cost = "one file for each thread, another for each that has run"

    def __init__(self, roots: Roots) -> None:
        super().__init__(roots)
        self._last: dict[SampledProcess, dict[int, _Reading]] = {}
        self._schedstat = Schedstat(roots.proc)

    def supported(self) -> str | None:
        return unreadable(self.roots.proc / "self" / "stat")

    def sample(self, targets: Sequence[SampledProcess]) -> Iterator[Row]:
        for gone in self._last.keys() - set(targets):
            del self._last[gone]
        self._schedstat.keep_only(targets)
        for target in targets:
            row = self._row(target)
            if row is not None:
                yield "samples/threads.jsonl", {**target.identity, **row}

    def _row(self, target: SampledProcess) -> dict[str, object] | None:
        before = self._last.get(target, {})
        now: dict[int, _Reading] = {}
        ran, names = [], {}
        for thread, schedstat in self._schedstat.of(target):
            tid = int(thread)
            last = before.get(tid)
            if last is not None and schedstat and schedstat == last.schedstat:
                now[tid] = last
                continue
            text = read_if_alive(f"{self.roots.proc}/{target.pid}/task/{thread}/stat")
            if text is None:
                continue
            stat = kernel.parse_stat(text)
            now[tid] = reading = _Reading(schedstat, stat.comm, stat.utime, stat.stime)
            last = last or _NEVER
            if last.comm != reading.comm:
                names[thread] = [reading.comm, kind_of(reading.comm)]
            if (last.utime, last.stime) != (reading.utime, reading.stime):
                ran.append([tid, stat.cpu, reading.utime, reading.stime])
        self._last[target] = now
        return {"ran": ran, "names": names} if now else None
