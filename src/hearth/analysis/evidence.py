"""Gather what one record, or one bare event log, holds: read once, on one time axis.

Whatever is missing or broken becomes an Absent with its reason, or a warning; only a directory
that is not a record at all is an error.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, overload

from hearth.analysis.bandwidth import Traffic, read_bandwidth
from hearth.analysis.counter_samples import Counts, read_counts
from hearth.analysis.document import HandOvers
from hearth.analysis.eventlog import EventLog, read_event_log
from hearth.analysis.gclog import GcLog, read_gc_log
from hearth.analysis.hand_over import read_hand_overs
from hearth.analysis.locality import (
    ProcessMemory,
    Threads,
    cpu_share_by_node,
    read_memory,
    read_threads,
)
from hearth.analysis.samples import (
    Key,
    ProcessUse,
    SampleFile,
    SystemUse,
    last_time_s,
    read_processes,
    read_system,
)
from hearth.base.absent import Absent, Measured
from hearth.base.codec import read_typed_lines, reason
from hearth.base.errors import UserError
from hearth.base.ids import parse_ids
from hearth.base.sizes import counted
from hearth.record.schema import ProcessRow, Warned
from hearth.record.store import Record, read_record

T = TypeVar("T")
#: Steps of the time axis at most; a step is a whole number of seconds, at least one tenth.
MOST_STEPS = 1000


@dataclass
class Process:
    """One process of the run: times in seconds on the record's axis."""

    pid: int
    start_ticks: int
    role: str
    executor_id: str | None
    cpus_allowed: str | None = None
    policy: str | None = None
    seen_s: float | None = None
    gone_s: float | None = None

    @property
    def key(self) -> Key:
        """Its identity: a pid alone may have gone to another process."""
        return (self.pid, self.start_ticks)


NO_RECORD = Absent("only an event log was read; 'hearth profile' records this too")


@dataclass
class Evidence:
    """All that is known of one run."""

    record: Record | None
    origin_ms: int
    step_ms: int
    span_s: float
    log: Measured[EventLog]
    processes: list[Process] = field(default_factory=list)
    cpus_of_node: dict[str, str] = field(default_factory=dict)
    use: Measured[dict[Key, ProcessUse]] = field(default_factory=lambda: NO_RECORD)
    memory: Measured[dict[Key, ProcessMemory]] = field(default_factory=lambda: NO_RECORD)
    threads: Measured[Threads] = field(default_factory=lambda: NO_RECORD)
    system: Measured[SystemUse] = field(default_factory=lambda: NO_RECORD)
    counters: Measured[Counts] = field(default_factory=lambda: NO_RECORD)
    bandwidth: Measured[dict[str, Traffic]] = field(default_factory=lambda: NO_RECORD)
    gc: Measured[dict[int, GcLog]] = field(default_factory=lambda: NO_RECORD)
    hand_overs: Measured[HandOvers] = field(default_factory=lambda: NO_RECORD)
    warnings: list[Warned] = field(default_factory=list)

    @property
    def ticks_per_s(self) -> int:
        """The kernel's clock ticks in a second."""
        return self.record.head.clock_ticks_per_s if self.record else 100

    @overload
    def seconds(self, time_ms: float) -> float: ...
    @overload
    def seconds(self, time_ms: None) -> None: ...
    @overload
    def seconds(self, time_ms: float | None) -> float | None: ...
    def seconds(self, time_ms: float | None) -> float | None:
        """Return a wall-clock time in milliseconds on the record's axis."""
        return None if time_ms is None else round((time_ms - self.origin_ms) / 1000, 3)

    def warn(self, what: str, remedy: str | None = None) -> None:
        """Add a warning to what the record itself holds."""
        self.warnings.append(Warned(what=what, remedy=remedy))


def gather_event_log(path: Path) -> Evidence:
    """Return the evidence that a bare event log gives.

    Raises UserError as read_event_log does, and for a file of another kind.
    """
    log = read_event_log(path)
    if log.events == 0 and log.foreign_lines:
        raise UserError(
            f"'{path}' holds no Spark events: it is a different kind of file; name a run that "
            "'hearth runs' lists, or an event log"
        )
    origin = log.start_ms or log.first_ms or 0
    log.name = log.name or path.name
    span_s = max((log.last_ms or origin) - origin, 0) / 1000
    step = max(_step_ms(span_s), 1000)
    for series in (log.running_over_time, log.ended_over_time):
        if series is not None:
            series.reach(series.origin_ms + int(span_s * 1000))
            step = series.step_ms
    evidence = Evidence(None, origin, step, span_s, log)
    for warning in log.warnings:
        evidence.warn(f"event log: {warning}")
    return evidence


def gather(directory: Path) -> Evidence:
    """Return the evidence of one record; raise UserError where the directory is not a record."""
    record = read_record(directory)
    origin_ms = record.head.clock.wall_ns // 1_000_000
    span_s = _span_s(record)
    step_ms = _step_ms(span_s)
    evidence = Evidence(record, origin_ms, step_ms, span_s, Absent("not read yet"))
    evidence.cpus_of_node = record.head.cpus_of_node
    evidence.warnings += _lines(evidence, directory / "warnings.jsonl", Warned)
    evidence.log = _event_log(evidence, directory / "eventlog")
    evidence.processes = _processes(_lines(evidence, directory / "processes.jsonl", ProcessRow))
    evidence.gc = _gc_logs(evidence, directory / "gc")
    _samples(evidence)
    evidence.hand_overs = read_hand_overs(evidence, directory / "hand-over.json")
    return evidence


def _span_s(record: Record) -> float:
    """Return the seconds that a record covers: to its end, or a killed run's last sample."""
    if record.wall_s is not None:
        return record.wall_s
    files = sorted((record.directory / "samples").glob("*.jsonl"))
    times = [last_time_s(file) for file in files]
    return max((time for time in times if time is not None), default=0.0)


def _step_ms(span_s: float) -> int:
    step_ms = 100
    while span_s * 1000 / step_ms > MOST_STEPS:
        step_ms *= 2
    return step_ms


def _event_log(evidence: Evidence, directory: Path) -> Measured[EventLog]:
    try:
        log = read_event_log(directory, evidence.origin_ms, evidence.step_ms)
    except UserError as error:
        return Absent(str(error))
    for warning in log.warnings:
        evidence.warn(f"event log: {warning}")
    return log


def _lines(evidence: Evidence, file: Path, kind: type[T]) -> list[T]:
    try:
        rows, damaged = read_typed_lines(file, kind)
    except (OSError, ValueError) as error:
        evidence.warn(f"{file.name} cannot be read: {reason(error)}")
        return []
    if damaged:
        evidence.warn(f"{file.name}: {counted(damaged, 'unreadable line')} skipped")
    return rows


def _processes(rows: list[ProcessRow]) -> list[Process]:
    processes: dict[Key, Process] = {}
    for row in rows:
        key = (row.pid, row.start_ticks)
        known = processes.get(key)
        if row.event == "gone":
            if known is not None:
                known.gone_s = row.t
            continue
        processes[key] = Process(
            row.pid, row.start_ticks, row.role, row.executor_id, row.cpus_allowed,
            row.policy, known.seen_s if known else row.t,
        )  # fmt: skip
    return list(processes.values())


_GC_FILE = re.compile(r"(?:driver|executor)-(\d+)\.log(?:\.(\d+))?$")


def _gc_logs(evidence: Evidence, directory: Path) -> Measured[dict[int, GcLog]]:
    files: dict[int, list[Path]] = {}
    for file in directory.glob("*.log*"):
        if match := _GC_FILE.match(file.name):
            files.setdefault(int(match[1]), []).append(file)
    if not files:
        return Absent("the record holds no GC log")
    logs = {}
    for pid, parts in files.items():
        # A rotated log's numbers wrap around: the time of the last write gives their order.
        log = logs[pid] = read_gc_log(*sorted(parts, key=lambda part: part.stat().st_mtime))
        for warning in log.warnings:
            evidence.warn(f"GC log: {warning}")
    return logs


def _samples(evidence: Evidence) -> None:
    node_of_cpu = {
        str(cpu): node
        for node, cpus in evidence.cpus_of_node.items()
        for cpu in parse_ids(cpus)
    }  # fmt: skip
    step = evidence.step_ms

    def read(name: str, reader: Callable[[SampleFile], T]) -> Measured[T]:
        return _sample_file(evidence, name, reader)

    evidence.use = read("process", lambda f: read_processes(f, step, _period_s(evidence, f)))
    evidence.threads = read("threads", lambda f: read_threads(f, node_of_cpu))
    evidence.system = read(
        "system", lambda f: read_system(f, node_of_cpu, step, _period_s(evidence, f))
    )
    evidence.counters = read("counters", read_counts)
    evidence.bandwidth = read("bandwidth", lambda f: read_bandwidth(f, step))
    shares = _cpu_shares(evidence)
    evidence.memory = read("memory", lambda f: read_memory(f, shares, step))


def _cpu_shares(evidence: Evidence) -> dict[Key, dict[str, float] | None]:
    ticks = {} if isinstance(evidence.threads, Absent) else evidence.threads.ticks_by_node
    return {
        process.key: cpu_share_by_node(
            process.cpus_allowed, evidence.cpus_of_node, ticks.get(process.key)
        )
        for process in evidence.processes
    }


def _sample_file(evidence: Evidence, name: str, reader: Callable[[SampleFile], T]) -> Measured[T]:
    assert evidence.record is not None
    path = evidence.record.directory / "samples" / f"{name}.jsonl"
    if not path.is_file():
        return Absent(_why_absent(evidence.record, name))
    file = SampleFile(path)
    content = reader(file)
    for warning in file.warnings:
        evidence.warn(warning)
    return content


def _why_absent(record: Record, name: str) -> str:
    probe = record.head.probe(name)
    if probe is not None and probe.reason:
        return probe.reason
    return f"the record holds no samples of the probe '{name}'"


def _period_s(evidence: Evidence, file: SampleFile) -> float:
    assert evidence.record is not None
    probe = evidence.record.head.probe(file.path.stem)
    return (probe and probe.period_s) or 1.0
