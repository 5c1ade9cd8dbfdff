"""On which CPU each thread last ran (field 39 of /proc/PID/task/TID/stat), and what it is for.

The kernel keeps 15 characters of a thread's name, which is what tells its kind: `Executor task l`
for `Executor task launch worker for task 3.0 in stage 1.0`. Between tasks Spark calls the same
thread `Executor task idle worker`: told of are threads that ran since the last sample, so that one
ran tasks too, shorter ones than the time between two samples.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from hearth.measure import kernel
from hearth.measure.probes.base import Probe, Row, Target, read_if_alive, thread_ids, unreadable

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
    """task, communication, gc, compiler, vm or other, from a thread's name cut to 15 characters."""
    for kind, beginnings in _KINDS:
        if comm.startswith(beginnings):
            return kind
    return "other"


class ThreadProbe(Probe):
    """Only threads that ran since the last sample are told of, each name once."""

    name = "threads"
    budget_share = 0.005
    cost = "one file for each thread"

    def __init__(self, roots: Any) -> None:
        super().__init__(roots)
        self._seen: dict[Target, dict[int, tuple[str, int, int]]] = {}

    def supported(self) -> str | None:
        return unreadable(self.roots.proc / "self" / "stat")

    def sample(self, targets: Sequence[Target]) -> Iterator[Row]:
        for gone in self._seen.keys() - set(targets):
            del self._seen[gone]
        for target in targets:
            row = self._row(target)
            if row is not None:
                yield "samples/threads.jsonl", {**target.identity, **row}

    def _row(self, target: Target) -> dict[str, Any] | None:
        before = self._seen.get(target, {})
        now: dict[int, tuple[str, int, int]] = {}
        ran, names = [], {}
        folder = self.roots.proc / str(target.pid)
        threads = [int(name) for name in thread_ids(folder)]
        if not threads:
            return None
        for tid in threads:
            text = read_if_alive(f"{folder}/task/{tid}/stat")
            if text is None:
                continue
            stat = kernel.parse_stat(text)
            now[tid] = (stat.comm, stat.utime, stat.stime)
            comm, utime, stime = before.get(tid, ("", 0, 0))
            if comm != stat.comm:
                names[str(tid)] = [stat.comm, kind_of(stat.comm)]
            if (utime, stime) != (stat.utime, stat.stime):
                ran.append([tid, stat.cpu, stat.utime, stat.stime])
        self._seen[target] = now
        return {"alive": len(now), "ran": ran, "names": names}
