"""Predict the slowdown of applications on a part of the machine, before they run together.

From a recorded run of each, alone on the whole machine: its tasks are scheduled on the slots of a
share (hearth.studies.models.schedule_simulation). What a split does not divide is looked for in
the records, and what is not known of it is said.
"""

from collections.abc import Sequence
from pathlib import Path

from hearth.analysis.analysis import analyse
from hearth.analysis.document import Analysis
from hearth.analysis.saturation import own_bandwidth_share
from hearth.base.absent import Absent, Measured, known
from hearth.base.errors import UserError
from hearth.machine.topology import Topology
from hearth.record.store import records_home
from hearth.studies.colocate.partition import Units
from hearth.studies.colocate.result import (
    Colocated,
    Predicted,
    colocated,
    known_alone,
    predicted,
)
from hearth.studies.colocate.study import ALONE, Colocation, KnownCurve, PriorCurves
from hearth.studies.models.colocation import Estimate, Shared, candidates
from hearth.studies.models.schedule_simulation import (
    RecordedWork,
    part,
    predict,
    prediction_warnings,
    work_of,
)
from hearth.studies.models.space import MachineSize

_ALWAYS = "{}, the disks and the page cache are shared, and not in the prediction"


def from_runs(
    names: Sequence[str], analyses: Sequence[Analysis], topology: Topology, units: Units
) -> PriorCurves:
    """Predict from each application's run on the whole machine, in the order of the names."""
    machine, number = MachineSize.allowed(topology), len(units.cpus)
    curves, notes = [], []
    for name, analysis in zip(names, analyses, strict=True):
        try:
            work = work_of(analysis, machine)
        except UserError as error:
            raise UserError(f"{name}: {error}") from error
        curves.append(_curve(name, work, machine, number))
        notes += [f"{name}: {warning}" for warning in prediction_warnings(work)]
        if work.cell.slots < machine.threads / 2:
            notes.append(
                f"{name}: its run had {work.cell.slots} task slots on {machine.threads} hardware "
                "threads, and is taken to be its best on the whole machine"
            )
    shared = shared_of(units.kind, analyses)
    source = "a recorded run of each, scheduled on the slots of a share"
    if units.kind == "core":
        return PriorCurves(source, curves, [*notes, *shared.notes], shared.stretch)
    used = _used(analyses)
    if isinstance(used, Absent):  # each run's own note says so
        return PriorCurves(source, curves, [*notes, *shared.notes], nodes=number)
    notes.append("each takes at least as long as its nodes' memory needs for what its run moved")
    return PriorCurves(source, curves, [*notes, *shared.notes], used=used, nodes=number)


def _used(analyses: Sequence[Analysis]) -> Measured[list[float]]:
    """Return the share of the machine's memory bandwidth that each run used, or why not."""
    shares = [own_bandwidth_share(analysis) for analysis in analyses]
    unknown = [one for one in shares if isinstance(one, Absent)]
    return unknown[0] if unknown else known(shares)


def _curve(name: str, work: RecordedWork, machine: MachineSize, units: int) -> KnownCurve:
    """Predict with fewer executors in proportion; instead of less than one, fewer of its slots."""
    parts = range(1, units)
    cells = [part(work.cell, n / units) for n in parts]
    predictions = predict(work, machine, cells) if cells else []
    slow = {
        str(n): Estimate(p.value / work.wall_s, p.low / work.wall_s, p.high / work.wall_s)
        for n, p in zip(parts, predictions, strict=True)
    }
    return KnownCurve(name, {**slow, str(units): Estimate(1, 1, 1)}, work.wall_s)


def known_of(colocation: Colocation) -> PriorCurves | None:
    """Return what was known before the applications ran together, or None."""
    head = colocation.head
    if head.known is not None or not head.settings.profile_first:
        return head.known
    arm = f"{ALONE}{len(head.units)}"
    alone = [trial for trial in colocation.trials if trial.arm == arm]
    ids = {trial.turn.subject: trial.runs[0].trial.record for trial in alone if trial.runs}
    places = [
        records_home(colocation.state_home) / name for name in ids.values() if name is not None
    ]
    analyses = [analyse(directory) for directory in places if directory.is_dir()]
    return known_alone(head, colocation.trials, shared_of(head.kind, analyses))


def prediction_of(colocation: Colocation, ways: Sequence[tuple[int, ...]]) -> Predicted | None:
    """Return what is predicted of these splits, or None."""
    known = known_of(colocation)
    objective = colocation.head.settings.objective
    return None if known is None else predicted(known, ways, objective)


def read_colocated(directory: Path) -> Colocated:
    """Read a colocation's result from disk; raise UserError if there is none."""
    colocation = Colocation.read(directory)
    head = colocation.head
    split = head.settings.split
    ways = candidates(split, len(head.members), len(head.units))
    prediction = prediction_of(colocation, ways)
    ran = next((trial.split for trial in colocation.trials if trial.split is not None), None)
    return colocated(colocation, prediction, ran or split)


def shared_of(kind: str, analyses: Sequence[Analysis]) -> Shared:
    """Return what applications share on a machine split into these parts.

    Within a node that is its memory: where the bandwidth of all runs alone adds up to more than it
    sustains, each may take that many times as long, if it does nothing but read memory.
    """
    if kind == "node":
        return Shared(notes=(_ALWAYS.format("links between nodes"),))
    used = _used(analyses)
    cache = _ALWAYS.format("the last-level cache")
    if isinstance(used, Absent):
        return Shared(notes=(cache, f"nor is memory bandwidth: {used.reason}"))
    return Shared(max(1.0, sum(used)), (cache,))
