"""Make the JSON document that the page's script draws on a run's time axis.

Times are seconds from the start of the record. An executor has the same number, and so the same
colour, in every lane, in the machine's picture and in every run of a page.
"""

from collections.abc import Iterable
from typing import Any

from hearth.analysis.document import AnalysedMachine, Analysis, Series, Stage, ThreadTrace, Timeline
from hearth.base.absent import Absent, Measured
from hearth.base.codec import to_json
from hearth.base.ids import parse_ids

#: No screen shows more columns; a series of a whole day is thinned to as many points.
MOST_POINTS = 1200
#: As many observations of threads as are drawn.
MOST_PLACES = 60_000


def axis(run: Analysis, executors: list[str]) -> dict[str, Any]:
    """Return all that is drawn of a run.

    A lane without data is left out. executors: in colour order.
    """
    timeline = run.timeline
    every = max(1, -(-len(timeline.t) // MOST_POINTS))
    return {
        "wall_s": run.record.wall_s,
        "executors": executors,
        "t": [round(t, 3) for t in timeline.t[::every]],
        "stages": _stages(run.stages),
        "tasks": None if isinstance(run.tasks_sample, Absent) else to_json(run.tasks_sample),
        "running": _one(timeline.running_tasks, every),
        "slots": _one(timeline.slots, every),
        "ended": _one(timeline.ended_tasks, every) if _has_widths(run.stages) else None,
        "pauses": [] if isinstance(timeline.gc, Absent) else [list(pause) for pause in timeline.gc],
        "cpus": _cpus(timeline, run.machine, every),
        "node_cpu": _many(timeline.cpu_by_node, every),
        "local": _many(timeline.local_share_by_executor, every),
        "bandwidth": _bandwidth(timeline, every),
        "threads": _threads(run.threads, run.machine),
    }


def executors_of(runs: Iterable[Analysis]) -> list[str]:
    """Return the names of all executors of these runs, the driver last; position gives colour."""
    names: set[str] = set()
    for run in runs:
        names |= {executor.id for executor in run.executors}
        if not isinstance(run.tasks_sample, Absent):
            names |= set(run.tasks_sample.executors)
    return sorted(names, key=natural)


def natural(name: str) -> tuple[bool, int, str]:
    """Return numbers by their value, then words."""
    return (not name.isdigit(), int(name) if name.isdigit() else 0, name)


def thin(values: Series, every: int) -> Series:
    """Return the mean of each `every` values, of those that are known."""
    if every == 1:
        return values
    groups = (values[i : i + every] for i in range(0, len(values), every))
    return [_mean([value for value in group if value is not None]) for group in groups]


def _mean(values: list[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None


def _one(values: Measured[list[float]], every: int) -> Series | None:
    return None if isinstance(values, Absent) else thin([*values], every)


def _many(series: Measured[dict[str, Series]], every: int) -> dict[str, Series] | None:
    if isinstance(series, Absent) or not series:
        return None
    return {name: thin(series[name], every) for name in sorted(series, key=natural)}


def _has_widths(stages: Measured[list[Stage]]) -> bool:
    return not isinstance(stages, Absent) and any(stage.widths for stage in stages)


def _stages(stages: Measured[list[Stage]]) -> list[list[Any]]:
    """Return [id, attempt, name, start, end or None, tasks, row]; no two of a row overlap."""
    known = [] if isinstance(stages, Absent) else stages
    started = [(stage.submitted_s, stage) for stage in known if stage.submitted_s is not None]
    free: list[float] = []
    bars = []
    for start, stage in sorted(started, key=lambda pair: pair[0]):
        end = float("inf") if stage.completed_s is None else stage.completed_s
        row = next((i for i, moment in enumerate(free) if moment <= start), len(free))
        free[row : row + 1] = [end]
        names = (stage.id, stage.attempt, stage.label or stage.name)
        bars.append([*names, start, stage.completed_s, stage.tasks, row])
    return bars


def _cpus(
    timeline: Timeline, machine: Measured[AnalysedMachine], every: int
) -> dict[str, Any] | None:
    """Return CPUs busy: each executor's own, and those of processes that are not of the run."""
    by_executor = _many(timeline.cpu_by_executor, every)
    if by_executor is None:
        return None
    other = timeline.cpu_other
    return {
        "by_executor": by_executor,
        "other": None if isinstance(other, Absent) else [_positive(v) for v in thin(other, every)],
        "all": None
        if isinstance(machine, Absent)
        else sum(len(parse_ids(node.cpus)) for node in machine.nodes),
    }


def _positive(value: float | None) -> float | None:
    return None if value is None else max(value, 0.0)


def _bandwidth(timeline: Timeline, every: int) -> dict[str, Any] | None:
    """Return shares of what each node sustains; GB/s for the nodes of which that is unknown."""
    bandwidth = timeline.bandwidth
    if isinstance(bandwidth, Absent):
        return None
    names = sorted(bandwidth.nodes, key=natural)
    shares: dict[str, Series] = {}
    rates: dict[str, Series] = {}
    for name in names:
        node = bandwidth.nodes[name]
        if isinstance(node.share, Absent):
            rates[name] = thin(node.gb_s, every)
        else:
            shares[name] = thin(node.share, every)
    return {"share": shares, "gb_s": rates}


def cpu_rows(
    used: Iterable[int], machines: Iterable[Measured[AnalysedMachine]]
) -> list[tuple[int, str | None]]:
    """Return the CPUs of some machines, and others that were used, by node; None: it is unknown."""
    node_of: dict[int, str] = {}
    for machine in machines:
        for node in [] if isinstance(machine, Absent) else machine.nodes:
            node_of |= dict.fromkeys(parse_ids(node.cpus), node.id)
    cpus = sorted({*used, *node_of}, key=lambda cpu: (natural(node_of.get(cpu, "")), cpu))
    return [(cpu, node_of.get(cpu)) for cpu in cpus]


def _threads(
    threads: Measured[ThreadTrace], machine: Measured[AnalysedMachine]
) -> dict[str, Any] | None:
    """Return which thread was on which CPU when.

    Cpus: [CPU, its node or None], in the axis's order.
    """
    if isinstance(threads, Absent):
        return None
    columns = threads.columns
    cpus = cpu_rows(columns.cpu, [machine])
    row = {cpu: at for at, (cpu, _) in enumerate(cpus)}
    every = max(1, -(-len(columns.t) // MOST_PLACES))
    keys = list(zip(columns.pid, columns.tid, strict=True))
    ids = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    thread = [ids[key] for key in keys]
    return {
        "cpus": cpus,
        "t": columns.t[::every],
        "row": [row[cpu] for cpu in columns.cpu[::every]],
        "thread": thread[::every],
    }
