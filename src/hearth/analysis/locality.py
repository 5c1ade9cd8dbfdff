"""Derive the share of memory that was local: where a process's pages lay and its threads ran.

The local share of a process is the sum over nodes of (its CPU time on the node, as a share) times
(its anonymous and huge pages on the node, as a share): what would be local if every thread used
all of the memory alike. For a process whose CPUs all belong to one node that is the share of its
pages there, whatever was sampled of its threads. File pages do not count: the page cache may have
them from anyone.
"""

from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from hearth.analysis.coverage import Coverage
from hearth.analysis.event_checks import whole
from hearth.analysis.samples import Key, SampleFile
from hearth.base.codec import check
from hearth.base.ids import parse_ids

#: Rows of the thread trace that are kept; of more, every second, fourth, eighth ... one.
MOST_TRACE_ROWS = 100_000
MOST_THREADS = 20_000


@dataclass
class Threads:
    """The trace of one record: sampled places, and how often threads changed node."""

    columns: dict[str, list[Any]] = field(
        default_factory=lambda: {"t": [], "pid": [], "tid": [], "cpu": []}
    )
    stride: int = 1
    names: dict[tuple[int, int], tuple[str, str]] = field(default_factory=dict)
    node_transitions: dict[str, int] = field(default_factory=dict)
    observations: int = 0
    ticks_by_node: dict[Key, dict[str, float]] = field(default_factory=dict)


class _Trace:
    """Takes in the rows; of a day there are millions of readings, so the loop does little."""

    def __init__(self, node_of_cpu: dict[str, str]) -> None:
        self.threads = Threads()
        self._node_of_cpu = {int(cpu): node for cpu, node in node_of_cpu.items()}
        #: Of each process and thread: the CPU and the ticks of the last reading.
        self._last: dict[Key, dict[int, tuple[int, int]]] = {}

    def add(self, row: dict[str, Any]) -> None:
        pid, ran = whole(row, "pid"), row.get("ran") or []
        key = (pid, whole(row, "start_ticks"))
        if set(map(type, chain.from_iterable(ran))) - {int}:
            raise ValueError("a reading is not a whole number")
        names = row.get("names") or {}
        check(names, dict[str, list[str]])
        threads, node_of = self.threads, self._node_of_cpu
        for tid, (name, kind) in names.items():
            if len(threads.names) < MOST_THREADS:
                threads.names[pid, int(tid)] = (name, kind)
        nodes = threads.ticks_by_node.setdefault(key, {})
        last = self._last.setdefault(key, {})
        for tid, cpu, user, system in ran:
            ticks = grown = user + system
            before = last.get(tid)
            if before is not None:
                grown = max(ticks - before[1], 0)
                if before[0] != cpu:
                    self._moved(pid, tid, before[0], cpu)
            last[tid] = (cpu, ticks)
            node = node_of.get(cpu, "unknown")
            nodes[node] = nodes.get(node, 0.0) + grown
        self._keep(row["t"], pid, ran)
        if len(last) > 2 * MOST_THREADS:
            for old in list(last)[:MOST_THREADS]:
                del last[old]

    def _moved(self, pid: int, tid: int, before: int, cpu: int) -> None:
        if self._node_of_cpu.get(before) != self._node_of_cpu.get(cpu):
            kind = self.threads.names.get((pid, tid), ("", "other"))[1]
            counts = self.threads.node_transitions
            counts[kind] = counts.get(kind, 0) + 1

    def _keep(self, t: float, pid: int, ran: list[list[int]]) -> None:
        """Keep every reading whose number is a multiple of the stride."""
        threads, columns = self.threads, self.threads.columns
        readings = ran[-threads.observations % threads.stride :: threads.stride]
        threads.observations += len(ran)
        columns["t"] += [t] * len(readings)
        columns["pid"] += [pid] * len(readings)
        columns["tid"] += [reading[0] for reading in readings]
        columns["cpu"] += [reading[1] for reading in readings]
        while len(columns["t"]) > MOST_TRACE_ROWS:
            threads.stride *= 2
            for name, column in columns.items():
                columns[name] = column[::2]


def read_threads(file: SampleFile, node_of_cpu: dict[str, str]) -> Threads:
    """Read samples/threads.jsonl."""
    trace = _Trace(node_of_cpu)
    file.each(trace.add)
    return trace.threads


def cpu_share_by_node(
    cpus_allowed: str | None, cpus_of_node: dict[str, str], ticks_by_node: dict[str, float] | None
) -> dict[str, float] | None:
    """Return how a process's CPU time divides over the nodes; None if unknown.

    A process whose allowed CPUs belong to one node needs no trace.
    """
    if cpus_allowed is not None:
        allowed = set(parse_ids(cpus_allowed))
        nodes = [n for n, cpus in cpus_of_node.items() if allowed & set(parse_ids(cpus))]
        if len(nodes) == 1:
            return {nodes[0]: 1.0}
    total = sum((ticks_by_node or {}).values())
    if not ticks_by_node or not total:
        return None
    return {node: ticks / total for node, ticks in ticks_by_node.items()}


class ProcessMemory:
    """The pages of one process over the run, by node."""

    def __init__(self, cpu_share: dict[str, float] | None, step_ms: int) -> None:
        self.cpu_share = cpu_share
        self._weighted = 0.0
        self._total_s = 0.0
        self._before: tuple[float, float | None] | None = None
        self.local_over_time = Coverage(0, step_ms)
        self.sampled_over_time = Coverage(0, step_ms)

    def add(self, row: dict[str, Any]) -> None:
        """Take in one sample; its share holds from the sample before to this one."""
        check(row["nodes"], dict[str, dict[str, int]])
        share = local_share(row["nodes"], self.cpu_share)
        if self._before is not None and share is not None and row["t"] > self._before[0]:
            start, end = self._before[0], row["t"]
            self._weighted += share * (end - start)
            self._total_s += end - start
            self.local_over_time.add(int(start * 1000), int(end * 1000), share)
            self.sampled_over_time.add(int(start * 1000), int(end * 1000))
        self._before = (row["t"], share)

    def share(self) -> float | None:
        """Return the mean local share over time; that of the only sample where there is one."""
        if self._total_s:
            return self._weighted / self._total_s
        return self._before[1] if self._before else None

    def over_time(self) -> list[float | None]:
        """Return the local share in each step; None where nothing was sampled."""
        pairs = zip(
            self.local_over_time.covered_ms(), self.sampled_over_time.covered_ms(), strict=True
        )
        return [round(local / total, 4) if total else None for local, total in pairs]


def local_share(
    nodes_kb: dict[str, dict[str, int]], cpu_share: dict[str, float] | None
) -> float | None:
    """Return the local share of one reading of numa_maps; None without pages or CPU time."""
    pages = {n: kb.get("anon_kb", 0) + kb.get("huge_kb", 0) for n, kb in nodes_kb.items()}
    total = sum(pages.values())
    if not total or cpu_share is None:
        return None
    return sum(kb / total * cpu_share.get(node, 0.0) for node, kb in pages.items())


def read_memory(
    file: SampleFile, cpu_shares: dict[Key, dict[str, float] | None], step_ms: int
) -> dict[Key, ProcessMemory]:
    """Read samples/memory.jsonl: the pages of each process, named by (pid, start_ticks)."""
    processes: dict[Key, ProcessMemory] = {}

    def take(row: dict[str, Any]) -> None:
        key = (whole(row, "pid"), whole(row, "start_ticks"))
        memory = processes.get(key) or ProcessMemory(cpu_shares.get(key), step_ms)
        memory.add(row)
        processes[key] = memory

    file.each(take)
    return processes
