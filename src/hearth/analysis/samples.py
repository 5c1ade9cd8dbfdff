"""Read the samples of a record: lines of raw cumulative values, in bounded memory.

A line that a kill tore is skipped, as is one that goes back in time; both are counted. A counter
that falls back (a process of another start would have another key, so the kernel's own reset or
wrap) counts from zero again. Times are seconds since the record's start on the monotonic clock.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from hearth.analysis.coverage import Coverage
from hearth.analysis.event_checks import numbers, whole
from hearth.base.sizes import counted

#: A silence of more than this many periods is reported as a gap.
GAP_PERIODS = 5
_LONGEST_LINE = 16 << 20
_LATEST_S = 1e9

Key = tuple[int, int]


@dataclass
class SampleFile:
    """One file of samples, read once; what was wrong with it stands in `warnings` afterwards."""

    path: Path
    warnings: list[str] = field(default_factory=list)

    def each(self, take: Callable[[dict[str, Any]], None]) -> None:
        """Give each row to `take`, which raises where values are not of their kind."""
        damaged = 0
        for row in self:
            try:
                take(row)
            except (ValueError, TypeError, KeyError, AttributeError):
                damaged += 1
        if damaged:
            self.warnings.append(f"{self.path.name}: {counted(damaged, 'damaged line')} skipped")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        torn = unreadable = 0
        with self.path.open("rb") as lines:
            while line := lines.readline(_LONGEST_LINE):
                if not line.endswith(b"\n"):
                    torn += 1
                    break
                row = _row(line)
                if row is None:
                    unreadable += 1
                else:
                    yield row
        name = self.path.name
        if torn:
            self.warnings.append(f"{name}: the last line is torn and was skipped")
        if unreadable:
            self.warnings.append(f"{name}: {counted(unreadable, 'unreadable line')} skipped")


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    t = row.get("t") if isinstance(row, dict) else None
    return row if isinstance(t, int | float) and abs(t) < _LATEST_S else None


def last_time_s(path: Path) -> float | None:
    """Return `t` of a file's last whole line, found from its end; None where there is none."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - _LONGEST_LINE, 0))
        lines = file.read().split(b"\n")[:-1]
    for line in reversed(lines):
        if (row := _row(line)) is not None:
            return float(row["t"])
    return None


class Counter:
    """A cumulative value: what it grew by from reading to reading, and in all.

    The first reading counts in full: the kernel's counters of a process begin at its start.
    """

    __slots__ = ("_last", "resets", "seen", "total")

    def __init__(self) -> None:
        self._last = 0.0
        self.seen = False
        self.total = 0.0
        self.resets = 0

    def read(self, value: float) -> float:
        """Return the growth since the last reading."""
        self.seen = True
        grown = value - self._last
        if grown < 0:
            self.resets += 1
            grown = value
        self._last = value
        self.total += grown
        return grown


class SampleClock:
    """The times of one series; finds readings to drop and missing readings."""

    __slots__ = ("backwards", "gaps", "last_s", "longest_gap_s", "period_s")

    def __init__(self, period_s: float) -> None:
        self.period_s = period_s
        self.last_s: float | None = None
        self.backwards = 0
        self.gaps = 0
        self.longest_gap_s = 0.0

    def advance(self, time_s: float) -> float | None:
        """Return the time since the last reading; None for the first one and for one to drop."""
        last, since = self.last_s, None
        if last is not None:
            since = time_s - last
            if since <= 0:
                self.backwards += 1
                return None
            if since > GAP_PERIODS * self.period_s:
                self.gaps += 1
                self.longest_gap_s = max(self.longest_gap_s, since)
        self.last_s = time_s
        return since


#: Cumulative values of a process whose growth is summed.
PROCESS_COUNTERS = (
    "utime", "stime", "minflt", "majflt", "voluntary", "involuntary", "run_delay_ns",
    "write_bytes",
)  # fmt: skip


class ProcessUse:
    """One process over the run; ticks_before: CPU time before its first sample."""

    def __init__(self, step_ms: int, period_s: float) -> None:
        self.clock = SampleClock(period_s)
        self.counters = {name: Counter() for name in PROCESS_COUNTERS}
        self.rss_max_kb = 0
        self.first_s: float | None = None
        self.ticks_before = 0.0
        self.cpu_ticks_over_time = Coverage(0, step_ms)

    def add(self, row: dict[str, Any]) -> None:
        """Take in one sample."""
        numbers(map(row.get, (*PROCESS_COUNTERS, "rss_kb", "rss_max_kb")))
        numbers((row["utime"] + 0, row["stime"] + 0))  # no process is without
        before_s = self.clock.last_s
        since_s = self.clock.advance(row["t"])
        if since_s is None and before_s is not None:
            return
        if self.first_s is None:
            self.first_s = row["t"]
        counters = self.counters
        ticks = -counters["utime"].total - counters["stime"].total
        for name, counter in counters.items():
            value = row.get(name)
            if value is not None:
                counter.read(value)
        ticks += counters["utime"].total + counters["stime"].total
        self.rss_max_kb = max(self.rss_max_kb, row.get("rss_kb") or 0, row.get("rss_max_kb") or 0)
        if since_s is not None and before_s is not None:
            start_ms, end_ms = int(before_s * 1000), int(row["t"] * 1000)
            self.cpu_ticks_over_time.add(start_ms, end_ms, ticks / max(end_ms - start_ms, 1))
        else:
            self.ticks_before = ticks

    def total(self, *names: str) -> float | None:
        """Return by how much counters grew over the process's life; None if none was read."""
        read = [self.counters[name].total for name in names if self.counters[name].seen]
        return sum(read) if read else None


def read_processes(file: SampleFile, step_ms: int, period_s: float = 1.0) -> dict[Key, ProcessUse]:
    """Read samples/process.jsonl: what each process, named by (pid, start_ticks), used."""
    processes: dict[Key, ProcessUse] = {}

    def take(row: dict[str, Any]) -> None:
        key = (whole(row, "pid"), whole(row, "start_ticks"))
        use = processes.get(key) or ProcessUse(step_ms, period_s)
        use.add(row)
        processes[key] = use

    file.each(take)
    for (pid, _), use in processes.items():
        file.warnings.extend(_clock_warnings(f"{file.path.name}: process {pid}", use.clock))
        resets = sum(counter.resets for counter in use.counters.values())
        if resets:
            file.warnings.append(f"{file.path.name}: process {pid}: {resets} counters decreased")
    return processes


def _clock_warnings(what: str, clock: SampleClock) -> list[str]:
    warnings = []
    if clock.backwards:
        warnings.append(f"{what}: {clock.backwards} samples went back in time and were dropped")
    if clock.gaps:
        warnings.append(f"{what}: {clock.gaps} gaps, the longest of {clock.longest_gap_s:.1f} s")
    return warnings


#: Positions in a row of /proc/stat (proc(5)).
_IDLE, _IOWAIT, _FIELDS = 3, 4, 8


class SystemUse:
    """The machine's CPUs over the run, by NUMA node, and the kernel's counts of memory."""

    def __init__(self, node_of_cpu: dict[str, str], step_ms: int, period_s: float) -> None:
        self.clock = SampleClock(period_s)
        self.node_of_cpu = node_of_cpu
        self.busy: dict[str, Coverage] = {}
        self.all: dict[str, Coverage] = {}
        self._first: dict[str, Any] = {}
        self._last: dict[str, Any] = {}
        self._step_ms = step_ms
        self._before: dict[str, list[int]] = {}

    def add(self, row: dict[str, Any]) -> None:
        """Take in one sample."""
        before_s = self.clock.last_s
        if self.clock.advance(row["t"]) is None and before_s is not None:
            return
        # The next row is compared with this one, complete or not.
        before, self._before = self._before, row["cpu"]
        if before_s is not None:
            self._spread(before, row["cpu"], int(before_s * 1000), int(row["t"] * 1000))
        self._last = row.get("vmstat") or {}
        self._first = self._first or self._last

    def _spread(
        self, earlier: dict[str, list[int]], cpus: dict[str, list[int]], start_ms: int, end_ms: int
    ) -> None:
        """Sum over each node's CPUs; a CPU that came or went in between does not count."""
        both = cpus if cpus.keys() == earlier.keys() else cpus.keys() & earlier.keys()
        now, before = self._sums(cpus, both), self._sums(earlier, both)
        for node, ticks in now.items():
            numbers((*ticks, *before[node]))
            if not _IOWAIT < len(ticks) == len(before[node]):
                raise ValueError("other columns than /proc/stat has")
        span_ms = max(end_ms - start_ms, 1)
        for node, ticks in now.items():
            # A CPU's idle time may fall back by some ticks (proc(5)).
            grown = [max(a - b, 0) for a, b in zip(ticks, before[node], strict=True)]
            if node not in self.all:
                self.all[node] = Coverage(0, self._step_ms)
                self.busy[node] = Coverage(0, self._step_ms)
            total = sum(grown)
            busy = total - grown[_IDLE] - grown[_IOWAIT]
            self.all[node].add(start_ms, end_ms, total / span_ms)
            self.busy[node].add(start_ms, end_ms, busy / span_ms)

    def _sums(self, cpus: dict[str, list[int]], names: Collection[str]) -> dict[str, list[int]]:
        """Return ticks of each kind, added up over the CPUs of each node."""
        of_node: dict[str, list[list[int]]] = {}
        for cpu in names:
            of_node.setdefault(self.node_of_cpu.get(cpu, "unknown"), []).append(cpus[cpu])
        return {
            node: [sum(kind) for kind in zip(*rows, strict=True)][:_FIELDS]
            for node, rows in of_node.items()
        }

    def share_by_node(self) -> dict[str, list[float | None]]:
        """Return busy over all CPU time of each node in each step.

        None where nothing was sampled.
        """
        shares = {}
        for node, every in self.all.items():
            pairs = zip(self.busy[node].covered_ms(), every.covered_ms(), strict=True)
            shares[node] = [round(busy / total, 4) if total else None for busy, total in pairs]
        return shares

    def vmstat_growth(self) -> dict[str, float]:
        """Return by how much each of the kernel's counts grew; one that fell began again at 0."""
        grown = {}
        for name, value in self._last.items():
            before = self._first.get(name)
            if isinstance(value, int | float) and isinstance(before, int | float):
                grown[name] = value - before if value >= before else value
        return grown


def read_system(
    file: SampleFile, node_of_cpu: dict[str, str], step_ms: int, period_s: float = 1.0
) -> SystemUse:
    """Read samples/system.jsonl; `node_of_cpu` maps CPU to node, both as text."""
    use = SystemUse(node_of_cpu, step_ms, period_s)
    file.each(use.add)
    file.warnings.extend(_clock_warnings(file.path.name, use.clock))
    return use
