"""Measures of a recorded run that may explain why it was faster or slower than another."""

import statistics
from typing import Any

from hearth.analysis.analysis import analyse
from hearth.analysis.document import Analysis
from hearth.analysis.findings import other_load
from hearth.base.absent import Absent, Measured
from hearth.base.codec import to_json
from hearth.base.ids import parse_ids
from hearth.record.counters import share_of
from hearth.record.store import Record

Document = dict[str, Any]


def measures(record: Record) -> Document:
    """What may explain a difference, of one run: a number, or `{"absent": reason}`."""
    analysis = analyse(record.directory)
    allowed = None if isinstance(record.machine, Absent) else record.machine.allowed
    others = other_load(analysis)
    return {
        **measured(to_json(analysis), len(parse_ids(allowed.cpus)) if allowed else None),
        "other_load": {"absent": "the machine was not sampled"} if others is None else others,
        **_moved(analysis),
    }


def _moved(analysis: Analysis) -> Document:
    """What its stages spilled and what queries shuffled; of memory's bandwidth, what was used."""
    absent: Any = {"absent": "no event log"}
    spilled = shuffled = absent
    if not isinstance(analysis.stages, Absent):
        mib = 1 << 20
        spilled = sum(stage.spill.memory for stage in analysis.stages) / mib
        queries = (stage for stage in analysis.stages if stage.sql is not None)
        shuffled = sum(stage.bytes.shuffle_write for stage in queries) / mib
    share = bandwidth_share(analysis)
    return {
        "spilled_mb": spilled,
        "sql_shuffle_mb": shuffled,
        "bandwidth_share": to_json(share) if isinstance(share, Absent) else share,
    }


def bandwidth_share(analysis: Analysis) -> Measured[float]:
    """Of what memory sustains the share that a run used on average."""
    found = analysis.timeline.bandwidth
    if isinstance(found, Absent):
        return found
    rates, most = [], []
    for node in found.nodes.values():
        if isinstance(node.sustained_gb_s, Absent):
            return node.sustained_gb_s
        known = [rate for rate in node.gb_s if rate is not None]
        if not known:
            return Absent("no sample of the bandwidth")
        rates.append(statistics.fmean(known))
        most.append(node.sustained_gb_s)
    return sum(rates) / sum(most) if most else Absent("no node's bandwidth was counted")


def measured(analysis: Document, cpus: int | None) -> Document:
    """The same, of an analysis; cpus: how many the run was allowed to use, if known."""
    executors = analysis["executors"]
    time_s = analysis["totals"].get("time")
    gc: Any = {"absent": "no event log"}
    if isinstance(time_s, dict) and time_s.get("run"):
        gc = time_s["gc"] / time_s["run"]
    local = _known(executors, "memory", "local_share")
    cpu = _known(executors, "use", "cpu_s")
    cpu_s = sum(c["user"] + c["system"] for c in cpu) if isinstance(cpu, list) else cpu
    wall_s = analysis["record"]["wall_s"]
    use = cpu_s
    if cpus is None:
        use = {"absent": "it is not known how many CPUs the run was allowed to use"}
    elif not isinstance(cpu_s, dict) and wall_s:
        use = cpu_s / (wall_s * cpus)
    return {
        "gc_share": gc,
        "remote_share": 1 - sum(local) / len(local) if isinstance(local, list) else local,
        "involuntary": _total(executors, "involuntary"),
        "voluntary": _total(executors, "voluntary"),
        "cpu_s": cpu_s,
        "cpu_use": use,
        "cpi": _per(analysis["counters"], "cycles", "instructions"),
        "l3_misses": _per(analysis["counters"], "LLC-load-misses", "instructions", 1000),
        "front_end": _metric(analysis["metrics"], "front_end_bound"),
        "bandwidth_gb_s": _bandwidth(analysis["timeline"]),
    }


def _total(executors: list[Document], key: str) -> Any:
    known = _known(executors, "use", key)
    return sum(known) if isinstance(known, list) else known


def _known(executors: list[Document], group: str, key: str) -> Any:
    """The values of those JVMs of which it is known; `{"absent": reason}` where of none."""
    groups = [executor[group] for executor in executors]
    values = [g[key] for g in groups if key in g and g[key] is not None]
    present = [value for value in values if not (isinstance(value, dict) and "absent" in value)]
    if present:
        return present
    reasons = [part["absent"] for part in (*groups, *values) if "absent" in part]
    return {"absent": reasons[0] if reasons else "not recorded"}


def _per(counters: Document, event: str, other: str, scale: float = 1) -> Any:
    """An event per `scale` others, of the events summed over all processes."""
    if "absent" in counters:
        return counters
    sums = {
        name: sum(events.get(name, {}).get("value", 0.0) for events in counters.values())
        for name in (event, other)
    }
    share = share_of(sums[event], sums[other])
    return scale * share if share else {"absent": f"{event} and {other} were not counted"}


def _metric(metrics: Document, name: str) -> Any:
    """A metric of the processor, of all processes together."""
    present = metrics if "absent" in metrics else metrics["total"][name]
    return present if "absent" in present else present["value"]


def _bandwidth(timeline: Document) -> Any:
    """GB/s of the whole machine, mean over the run."""
    bandwidth = timeline.get("bandwidth") or {"absent": "not recorded"}
    if "absent" in bandwidth:
        return bandwidth
    series = [node["gb_s"] for node in bandwidth["nodes"].values()]
    known = [[v for v in values if v is not None] for values in series]
    if not all(known):
        return {"absent": "no sample of the bandwidth"}
    return sum(sum(values) / len(values) for values in known)
