"""Put every series of a run on one time axis of equal steps."""

from collections.abc import Iterable
from itertools import zip_longest

from hearth.analysis.bandwidth import by_node
from hearth.analysis.coverage import Coverage
from hearth.analysis.document import Bandwidth, Pause, Series, Timeline
from hearth.analysis.eventlog import EventLog
from hearth.analysis.evidence import Evidence
from hearth.analysis.samples import Key, ProcessUse
from hearth.base.absent import Absent, Measured
from hearth.base.ids import parse_ids

#: Pauses shown on the axis: the longest of all JVMs together.
MOST_PAUSES = 5000
_NO_TASK = "no task ended in the log"


def timeline(evidence: Evidence) -> Timeline:
    """Return the series of one run; a value of None is a step in which nothing was sampled."""
    log = evidence.log if isinstance(evidence.log, EventLog) else None
    running = log.running_over_time if log else None
    step_ms = running.step_ms if running else evidence.step_ms
    count = max(int(-(-evidence.span_s * 1000 // step_ms)), 1)
    slots = _slots(evidence, log, step_ms, count) if log else _log_reason(evidence)
    return Timeline(
        step_s=step_ms / 1000,
        t=[round(i * step_ms / 1000, 3) for i in range(count)],
        running_tasks=_in_slots(log, slots, count) if log else _log_reason(evidence),
        ended_tasks=_ended(log, count) if log else _log_reason(evidence),
        slots=slots,
        cpu_by_node=_by_node(evidence, count),
        cpu_by_executor=_cpu_by_executor(evidence, count),
        gc=_pauses(evidence),
        local_share_by_executor=_local_shares(evidence, count),
        bandwidth=_bandwidth(evidence, step_ms, count),
        cpu_other=_cpu_other(evidence, count),
    )


def step_function(log: EventLog) -> list[tuple[int, int, int]]:
    """Return (start, end, slots) of each executor, in wall-clock milliseconds, to the log's end."""
    end_ms = log.last_ms or 0
    return [
        (start, end, count)
        for start, end, count in _merged(
            (e.added_ms, min(e.removed_ms or end_ms, end_ms), e.slots)
            for e in log.executors.values()
            if e.added_ms is not None and e.slots is not None
        )
    ]


def _merged(spans: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Return spans that overlap, as spans that do not, with their slots added up."""
    changes: dict[int, int] = {}
    for start, end, count in spans:
        if end > start:
            changes[start] = changes.get(start, 0) + count
            changes[end] = changes.get(end, 0) - count
    merged, slots, before = [], 0, 0
    for time in sorted(changes):
        if slots:
            merged.append((before, time, slots))
        slots += changes[time]
        before = time
    return merged


def _slots(evidence: Evidence, log: EventLog, step_ms: int, count: int) -> list[float]:
    coverage = Coverage(evidence.origin_ms, step_ms)
    by_plan = step_function(log)
    for start, end, slots in by_plan:
        coverage.add(start, end, slots)
    for since, until, more in _widths(log):
        for start, end, slots in by_plan:
            coverage.add(max(start, since), min(end, until), slots * more)
    return _rounded(coverage.means(), count)


def _widths(log: EventLog) -> list[tuple[int, int, float]]:
    """Return (start, end, more slots as a share of the plan's) of what was found while stages ran.

    Of two stages beside each other, what was found last counts.
    """
    found = sorted(
        (at_ms, stage.completed_ms or log.last_ms or at_ms, tasks / planned - 1)
        for stage in log.stages.values()
        for at_ms, tasks, planned, _ in stage.widths
    )
    after = [at_ms for at_ms, _, _ in found[1:]]
    return [
        (at_ms, end_ms if later_ms is None else min(end_ms, later_ms), more)
        for (at_ms, end_ms, more), later_ms in zip_longest(found, after)
    ]


def _ended(log: EventLog, count: int) -> Measured[list[float]]:
    if log.ended_over_time is None:
        return Absent(_NO_TASK)
    return _rounded(log.ended_over_time.means(), count)


def _in_slots(log: EventLog, slots: Measured[list[float]], count: int) -> Measured[list[float]]:
    """Return tasks at work, at most the slots that there were.

    To Spark a task runs until the driver has handled its result, but its slot is free, and taken by
    the next, as soon as the result has come (TaskSchedulerImpl.statusUpdate).
    """
    if log.running_over_time is None:
        return Absent(_NO_TASK)
    tasks = _rounded(log.running_over_time.means(), count)
    if isinstance(slots, Absent) or any(e.slots is None for e in log.executors.values()):
        return tasks
    return [min(task, slot) if slot else task for task, slot in zip(tasks, slots, strict=True)]


def _rounded(values: list[float], count: int) -> list[float]:
    shown = [round(value, 3) for value in values[:count]]
    return shown + [0.0] * (count - len(shown))


def _padded(values: Series, count: int) -> Series:
    return values[:count] + [None] * (count - len(values))


def _log_reason(evidence: Evidence) -> Absent:
    log = evidence.log
    return log if isinstance(log, Absent) else Absent(_NO_TASK)


def _by_node(evidence: Evidence, count: int) -> Measured[dict[str, Series]]:
    if isinstance(evidence.system, Absent):
        return evidence.system
    shares = evidence.system.share_by_node()
    return {node: _padded(values, count) for node, values in sorted(shares.items())}


def _names(evidence: Evidence) -> list[tuple[str, Key]]:
    return [(p.executor_id or "driver", p.key) for p in evidence.processes
            if p.role in ("executor", "driver")]  # fmt: skip


def _cpu_by_executor(evidence: Evidence, count: int) -> Measured[dict[str, Series]]:
    """Return CPUs used, in whole CPUs."""
    if isinstance(evidence.use, Absent):
        return evidence.use
    ticks_per_ms = evidence.ticks_per_s / 1000
    series: dict[str, Series] = {}
    for name, key in _names(evidence):
        if key in evidence.use:
            means = evidence.use[key].cpu_ticks_over_time.means()
            series[name] = [*_rounded([mean / ticks_per_ms for mean in means], count)]
    return series


def _cpu_other(evidence: Evidence, count: int) -> Measured[Series]:
    """Return CPUs busy less those that the run's processes used, its Python workers included.

    Below zero where the machine's samples and the processes' are not of the same moment: only sums
    over many steps say how much others used.
    """
    if isinstance(evidence.system, Absent):
        return evidence.system
    if isinstance(evidence.use, Absent):
        return evidence.use
    shares = evidence.system.share_by_node()
    cpus = {node: len(parse_ids(ids)) for node, ids in evidence.cpus_of_node.items()}
    if not shares or not set(shares) <= set(cpus):
        return Absent("it is not known which CPUs belong to which node")
    used = [0.0] * count
    for use in evidence.use.values():
        before = _before_sampled(use, evidence.ticks_per_s)
        for covered in (use.cpu_ticks_over_time, before):
            for step, ticks in enumerate(covered.means()[:count]):
                used[step] += ticks * 1000 / evidence.ticks_per_s
    other: Series = []
    for step in range(count):
        busy = [_at(values, step, cpus[node]) for node, values in shares.items()]
        known = [value for value in busy if value is not None]
        whole = sum(known) if len(known) == len(busy) else None
        other.append(None if whole is None else round(whole - used[step], 3))
    return other


def _before_sampled(use: ProcessUse, ticks_per_s: int) -> Coverage:
    """Return CPU ticks of a process from before its first sample, as if of one busy CPU."""
    before = Coverage(0, use.cpu_ticks_over_time.step_ms)
    end_ms = int((use.first_s or 0.0) * 1000)
    length_ms = min(max(int(use.ticks_before * 1000 / ticks_per_s), 1000), end_ms)
    before.add(end_ms - length_ms, end_ms, use.ticks_before / max(length_ms, 1))
    return before


def _at(shares: Series, step: int, cpus: int) -> float | None:
    share = shares[step] if step < len(shares) else None
    return None if share is None else share * cpus


def _local_shares(evidence: Evidence, count: int) -> Measured[dict[str, Series]]:
    if isinstance(evidence.memory, Absent):
        return evidence.memory
    return {
        name: _padded(evidence.memory[key].over_time(), count)
        for name, key in _names(evidence)
        if key in evidence.memory
    }


def _bandwidth(evidence: Evidence, step_ms: int, count: int) -> Measured[Bandwidth]:
    """Return the bandwidth that all programs on the machine used, not the run alone."""
    if isinstance(evidence.bandwidth, Absent):
        return evidence.bandwidth
    assert evidence.record is not None
    return by_node(evidence.bandwidth, evidence.record.head, step_ms / 1000, count)


def _pauses(evidence: Evidence) -> Measured[list[Pause]]:
    """Return the longest, in the order of time."""
    if isinstance(evidence.gc, Absent):
        return evidence.gc
    names = {key[0]: name for name, key in _names(evidence)}
    pauses: list[Pause] = []
    for pid, log in evidence.gc.items():
        for pause in log.longest:
            start_s = evidence.seconds(pause.end_s * 1000 - pause.pause_ms)
            name = names.get(pid, f"pid {pid}")
            pauses.append(Pause(name, start_s, pause.pause_ms, pause.kind))
    pauses.sort(key=lambda pause: -pause.pause_ms)
    return sorted(pauses[:MOST_PAUSES], key=lambda pause: pause.start_s)
