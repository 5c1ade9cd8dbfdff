"""From the document that a command of hearth's prints to the seconds and measures of each arm."""

import statistics
from collections.abc import Iterable
from typing import Any

from hearth.base.absent import Absent, Measured
from hearth.base.codec import typed
from hearth.machine.plan import Plan
from hearth.studies.bench.result import BenchResult
from hearth.studies.characterise.result import Characterised
from hearth.studies.colocate.result import Colocated
from hearth.studies.compare.result import Compared, ComparedArm

#: Of each arm, by its name: `seconds`, and measures by theirs.
Readings = dict[str, dict[str, float]]


def readings(document: dict[str, Any]) -> Readings:
    """Return those of a document; raise ValueError for one that is none of a step's."""
    kind = str(document.get("schema"))
    if kind.startswith("hearth/comparison/"):
        return _compared(typed(document, Compared))
    if kind.startswith("hearth/characterisation/"):
        return _characterised(typed(document, Characterised))
    if kind.startswith("hearth/bench-result/"):
        return _series(typed(document, BenchResult))
    if kind.startswith("hearth/colocation/"):
        return _colocated(typed(document, Colocated))
    if kind.startswith("hearth/plan/"):
        return _planned(typed(document, Plan))
    raise ValueError(f"'{kind}' is not a document of a study's step")


def runs(document: dict[str, Any]) -> dict[str, dict[str, list[float]]]:
    """Return those of each run of an arm, by the names of `readings`."""
    kind = str(document.get("schema")).split("/")[1]
    parts: list[tuple[str, Compared]] = []
    if kind == "comparison":
        parts = [("", typed(document, Compared))]
    elif kind == "characterisation":
        one = typed(document, Characterised)
        parts = [(question.subject if len(one.subjects) > 1 else "", question.comparison)
                 for question in one.questions if question.comparison is not None]  # fmt: skip
    elif kind == "bench-result":
        series = typed(document, BenchResult)
        parts = [(job.application if len(series.jobs) > 1 else "", job) for job in series.jobs]
    return {f"{of}, {arm.name}" if of else arm.name: {"seconds": arm.seconds, **(arm.each or {})}
            for of, part in parts for arm in part.finished}  # fmt: skip


def reasons(document: dict[str, Any]) -> list[str]:
    """Return why a document has no answer, or not every one."""
    unanswered = [
        str(question["reason"])
        for question in document.get("questions", ())
        if question.get("reason") is not None
    ]
    failed = [f"{arm['name']}: {why}" for arm in document.get("arms", ())
              for why in (arm.get("failures") or ())[:1]]  # fmt: skip
    failed += [f"{job['application']}, {why}" for job in document.get("jobs", ())
               for why in reasons(job)]  # fmt: skip
    return [*unanswered, *failed]


def _compared(comparison: Compared) -> Readings:
    return {arm.name: _arm(arm) for arm in comparison.finished}


def _arm(arm: ComparedArm) -> dict[str, float]:
    measures = _known((arm.measures or {}).items())
    cpu = (
        {} if arm.cpu is None else {"cpu_user_s": arm.cpu.user_s, "cpu_system_s": arm.cpu.system_s}
    )
    return {"seconds": arm.median, **measures, **cpu}


def _characterised(document: Characterised) -> Readings:
    """Return all arms; those of several subjects are named with theirs."""
    several = len(document.subjects) > 1
    read: Readings = {}
    for question in document.questions:
        if question.comparison is None:
            continue
        sustained = question.comparison.settings.sustained_gb_s
        for arm, values in _compared(question.comparison).items():
            if sustained and "bandwidth_gb_s" in values:
                values["bandwidth_share"] = values["bandwidth_gb_s"] / sustained
            read[f"{question.subject}, {arm}" if several else arm] = values
        if question.scaling is not None:
            numbers = vars(question.scaling).items()
            read["scaling"] = {k: float(v) for k, v in numbers if isinstance(v, int | float)}
    return read


def _series(series: BenchResult) -> Readings:
    """Return each master's; those of several jobs are named with theirs."""
    several = len(series.jobs) > 1
    return {
        f"{job.application}, {name}" if several else name: values
        for job in series.jobs
        for name, values in _compared(job).items()
    }


def _colocated(colocation: Colocated) -> Readings:
    """Return each application in each arm, and each arm's throughput."""
    read: Readings = {}
    for arm in colocation.arms:
        for member in arm.members:
            if member.median_s is not None:
                values = {"seconds": member.median_s, "completed": float(member.completed)}
                read[f"{arm.name}, {member.name}"] = {**values, **_known(member.measures.items())}
        ratios = [read[f"{arm.name}, {m.name}"]["seconds"] for m in arm.members if m.median_s]
        if ratios:
            read[arm.name] = {"seconds": statistics.geometric_mean(ratios)}
            read[arm.name] |= _known((arm.machine or {}).items())
            if arm.throughput is not None:
                read[arm.name]["throughput"] = arm.throughput.value
    return read


def _planned(plan: Plan) -> Readings:
    executors = 0 if plan.is_native else len(plan.executors)
    slots = max(executor.task_slots for executor in plan.executors)
    return {"plan": {"executors": float(executors), "slots": float(slots)}}


def _known(measures: Iterable[tuple[str, Measured[float]]]) -> dict[str, float]:
    return {name: value for name, value in measures if not isinstance(value, Absent)}
