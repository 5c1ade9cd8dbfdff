"""Measures of a recorded run that may explain why it was faster or slower than another."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from hearth.analysis.analysis import analyse, analyse_counted_after
from hearth.analysis.document import Analysis, Counted, Executor, Metrics, Use
from hearth.analysis.findings import other_load
from hearth.analysis.saturation import bandwidth_share, mean_gb_s
from hearth.base.absent import Absent, Measured
from hearth.base.ids import parse_ids
from hearth.record.counters import share_of
from hearth.record.schema import End
from hearth.record.store import Record

Group = TypeVar("Group")
_NO_EVENT_LOG = Absent("no event log")


def measures(record: Record, counted_after_ms: int | None = None) -> dict[str, Measured[float]]:
    """Return the measures of a run that may explain a difference.

    counted_after_ms: since 1970: what the processor's counters say of the time before is left out.
    """
    machine = record.machine
    allowed = None if isinstance(machine, Absent) else machine.allowed
    analysis = (
        analyse(record.directory)
        if counted_after_ms is None
        else analyse_counted_after(record.directory, counted_after_ms)
    )
    cpus = len(parse_ids(allowed.cpus)) if allowed else None
    return {**measured(analysis, cpus), **whole_cpu(record.end, cpus)}


def medians(
    keys: Iterable[str], runs: Sequence[Mapping[str, Measured[float]] | None]
) -> dict[str, Measured[float]]:
    """Return the median of each measure over these runs; a reason where no run has it."""
    by_name: dict[str, Measured[float]] = {}
    for key in keys:
        values = [measures.get(key) for measures in runs if measures is not None]
        numbers = [float(v) for v in values if isinstance(v, int | float)]
        reasons = [v for v in values if isinstance(v, Absent)]
        if numbers:
            by_name[key] = statistics.median(numbers)
        elif reasons:
            by_name[key] = reasons[0]
    return by_name


def whole_cpu(end: End | None, cpus: int | None) -> dict[str, Measured[float]]:
    """Return the CPU seconds of the whole application, Python workers and short-lived JVMs too.

    With their shares of the time of the CPUs that it was allowed to use, and what it left idle.
    """
    if end is None or end.cpu_user_s is None or end.cpu_system_s is None:
        before = Absent("not on record")
        return {"cpu_user_s": before, "cpu_system_s": before}
    cpu_s = {"cpu_user_s": end.cpu_user_s, "cpu_system_s": end.cpu_system_s}
    if cpus is None or not end.wall_s:
        return {**cpu_s}
    user, system = (seconds / (end.wall_s * cpus) for seconds in cpu_s.values())
    idle = max(0.0, 1 - user - system)
    return {**cpu_s, "user_share": user, "system_share": system, "idle_share": idle}


def measured(analysis: Analysis, cpus: int | None) -> dict[str, Measured[float]]:
    """Return the same, of an analysis; cpus: how many the run was allowed to use, if known."""
    executors = analysis.executors
    others, cpu_s = other_load(analysis), _total(executors, lambda use: use.cpu_s)
    return {
        "gc_share": _gc_share(analysis),
        "gc_s": _gc_s(analysis),
        "remote_share": _remote_share(executors),
        "involuntary": _total(executors, lambda use: use.involuntary),
        "voluntary": _total(executors, lambda use: use.voluntary),
        "minor_faults": _total(executors, lambda use: use.minor_faults),
        "major_faults": _total(executors, lambda use: use.major_faults),
        "memory_gb": _memory_gb(executors),
        "cpu_s": cpu_s,
        "cpu_use": _cpu_use(cpu_s, analysis.record.wall_s, cpus),
        "cpi": _per(analysis.counters, "cycles", "instructions"),
        "l3_misses": _per(analysis.counters, "LLC-load-misses", "instructions", 1000),
        "tlb_misses": _per(analysis.counters, "dTLB-load-misses", "instructions", 1000),
        "remote_loads": _metric(analysis.metrics, "remote_loads"),
        "front_end": _metric(analysis.metrics, "front_end_bound"),
        "bandwidth_gb_s": mean_gb_s(analysis.timeline.bandwidth),
        "other_load": Absent("the machine was not sampled") if others is None else others,
        "spilled_mb": _spilled_mb(analysis),
        "sql_shuffle_mb": _sql_shuffle_mb(analysis),
        "bandwidth_share": bandwidth_share(analysis),
        **_counted(analysis),
    }


def _counted(analysis: Analysis) -> dict[str, Measured[float]]:
    """Return all that the processor's counters say, and where they are silent the kernel's sample.

    The kernel's NUMA balancing unmaps pages now and then, and counts the accesses that this makes
    fault, and those of them whose page was on the CPU's own node (numa_hint_faults and
    numa_hint_faults_local of /proc/vmstat): a sample, of every program of the machine.
    """
    total = {} if isinstance(analysis.metrics, Absent) else analysis.metrics.total
    counted: dict[str, Measured[float]] = {
        name: one.value for name, one in total.items() if not isinstance(one, Absent)
    }
    if "remote_loads" not in counted and not isinstance(analysis.vmstat, Absent):
        vmstat = analysis.vmstat
        faults, local = vmstat.get("numa_hint_faults"), vmstat.get("numa_hint_faults_local")
        if faults and local is not None:
            counted["remote_hint_faults"] = 1 - local / faults
    return counted


def _spilled_mb(analysis: Analysis) -> Measured[float]:
    if isinstance(analysis.stages, Absent):
        return _NO_EVENT_LOG
    return sum(stage.spill.memory for stage in analysis.stages) / (1 << 20)


def _sql_shuffle_mb(analysis: Analysis) -> Measured[float]:
    """Return how much SQL queries wrote to shuffles, in MiB."""
    if isinstance(analysis.stages, Absent):
        return _NO_EVENT_LOG
    queries = (stage for stage in analysis.stages if stage.sql is not None)
    return sum(stage.bytes.shuffle_write for stage in queries) / (1 << 20)


def _gc_share(analysis: Analysis) -> Measured[float]:
    """Return the share of tasks' time that was spent in GC."""
    share = None if isinstance(analysis.totals, Absent) else analysis.totals.time.gc_share
    return _NO_EVENT_LOG if share is None else share


def _gc_s(analysis: Analysis) -> Measured[float]:
    totals = analysis.totals
    return _NO_EVENT_LOG if isinstance(totals, Absent) else totals.time.gc / 1000


def _remote_share(executors: Sequence[Executor]) -> Measured[float]:
    """Return the share of threads' time away from their memory, the mean over JVMs."""
    local = _known((one.local_share for one in executors), lambda share: share)
    return local if isinstance(local, Absent) else 1 - statistics.fmean(local)


def _memory_gb(executors: Sequence[Executor]) -> Measured[float]:
    """Return the sum of what each JVM held at most, at whatever time that was."""
    most = _total(executors, lambda use: use.rss_max_mb)
    return most if isinstance(most, Absent) else most / 1024


def _cpu_use(cpu_s: Measured[float], wall_s: float, cpus: int | None) -> Measured[float]:
    if cpus is None:
        return Absent("it is not known how many CPUs the run was allowed to use")
    return cpu_s / (wall_s * cpus) if not isinstance(cpu_s, Absent) and wall_s else cpu_s


def _total(executors: Sequence[Executor], of: Callable[[Use], float | None]) -> Measured[float]:
    known = _known((one.use for one in executors), of)
    return known if isinstance(known, Absent) else sum(known)


def _known(
    groups: Iterable[Measured[Group]], of: Callable[[Group], Measured[float] | None]
) -> Measured[list[float]]:
    """Return the values of those JVMs of which it is known; the first reason where of none."""
    values = [group if isinstance(group, Absent) else of(group) for group in groups]
    known = [value for value in values if value is not None and not isinstance(value, Absent)]
    reasons = (value for value in values if isinstance(value, Absent))
    return known or next(reasons, Absent("not recorded"))


def _per(
    counters: Measured[dict[str, dict[str, Measured[Counted]]]],
    event: str,
    other: str,
    scale: float = 1,
) -> Measured[float]:
    """Return an event per `scale` others, of the events summed over all processes."""
    if isinstance(counters, Absent):
        return counters

    def total(name: str) -> float:
        counts = (events[name] for events in counters.values() if name in events)
        return sum(count.value for count in counts if not isinstance(count, Absent))

    share = share_of(total(event), total(other))
    return scale * share if share else Absent(f"{event} and {other} were not counted")


def _metric(metrics: Measured[Metrics], name: str) -> Measured[float]:
    """Return a metric of the processor, of all processes together."""
    if isinstance(metrics, Absent):
        return metrics
    metric = metrics.total.get(name, Absent(f"{name} was not counted"))
    return metric if isinstance(metric, Absent) else metric.value
