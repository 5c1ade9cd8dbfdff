"""Find where a run was (nodes, binding), and what moving it elsewhere changes."""

import math
from dataclasses import dataclass

from hearth.analysis.document import Analysis
from hearth.base.absent import Absent
from hearth.base.errors import UserError
from hearth.studies.models import scaling
from hearth.studies.models.binding import (
    NORMAL_90,
    PUBLISHED,
    Binding,
    BindingGain,
    Nodes,
    change,
    cost,
)
from hearth.studies.models.schedule_simulation import Move
from hearth.studies.models.space import Interval, MachineSize

_BY_MASTER = (
    "its executors were not seen: taken to be bound to nodes, as its master local-numa does"
)
_NOT_RECORDED = (
    "what its executors were bound to is not on record: taken to be nothing, Spark's own way"
)


@dataclass(frozen=True)
class RecordedBinding:
    """The binding of a run's executors, their number of nodes, and what was assumed."""

    binding: Binding
    nodes: int
    note: str | None = None


@dataclass(frozen=True)
class Placed:
    """A run's binding and nodes, those it is predicted for, and the effect of the change.

    effect: the factor on the run's time as memory gets nearer.
    """

    ran: RecordedBinding
    binding: Binding
    nodes: int
    move: Move
    effect: Interval | Absent
    notes: tuple[str, ...] = ()


def ran(analysis: Analysis, nodes: Nodes) -> RecordedBinding:
    """Return a run's binding as its executors were seen, or else as its settings say."""
    sampled = [one for one in analysis.executors if one.tasks and not isinstance(one.nodes, Absent)]
    kernel = [one for one in sampled if one.policy is not None and one.policy.startswith("bind")]
    if sampled:
        of = [frozenset(one.nodes) for one in sampled if not isinstance(one.nodes, Absent)]
        number = max(min(len(frozenset().union(*of)), nodes.number), 1)
        if len(kernel) < len(sampled):
            return RecordedBinding("none", nodes.number)
        widest = max(map(len, of))
        return RecordedBinding(
            "node" if widest == 1 else "package" if widest < nodes.number else "none", number
        )
    return _as_set(analysis, nodes.number)


def _as_set(analysis: Analysis, number: int) -> RecordedBinding:
    """Return the binding that the master implies, for a run that was not sampled."""
    master = analysis.record.master or ""
    if master.startswith("local-numa"):
        return RecordedBinding("node", number, _BY_MASTER)
    return RecordedBinding("none", number, _NOT_RECORDED)


def placed(
    before: RecordedBinding,
    wanted: Binding | None,
    number: int | None,
    machine: MachineSize,
    nodes: Nodes,
) -> Placed:
    """Return the change; asked, number: as `--bind` and `--nodes` say; None for as in the run.

    Raises UserError for more nodes than it is known of how work scales.
    """
    binding, on = wanted or before.binding, number or before.nodes
    most = max(scaling.PUBLISHED.loss)
    if on != before.nodes and max(on, before.nodes) > most:
        raise UserError(
            f"--nodes: from {before.nodes} to {on}: how work scales was published for up to {most} "
            "nodes: give --nodes as in the run, or leave it out"
        )
    worth = BindingGain.of(list(PUBLISHED.values()))
    had, has = cost(before.binding, nodes.within(before.nodes)), cost(binding, nodes.within(on))
    moved = change(had, has, worth)
    slower = scaling.PUBLISHED.step(before.nodes, on)
    move = Move(machine.share(on, nodes.number), on / before.nodes, slower, moved)
    notes = [] if before.note is None or wanted is None else [before.note]
    if on != before.nodes:
        notes.append(
            f"from {before.nodes} to {on} nodes each task's time changes by "
            f"{math.exp(slower[0]) - 1:+.0%}, as in three published workloads on up to four nodes "
            "of a POWER8; the input is the same"
        )
    effect = _effect(before, binding, on, nodes, moved)
    if isinstance(effect, Absent) and wanted is not None:
        notes.append(f"--bind {wanted} changes nothing here: {effect.reason}")
    elif not isinstance(effect, Absent):
        notes.append("what local memory is worth is that of five published workloads on four nodes "
                     "of a POWER8, by the share of memory on other nodes")  # fmt: skip
        if "package" in (wanted, before.binding):
            notes.append("no study measured binding to packages: taken to be worth a part of "
                         "binding to nodes")  # fmt: skip
    return Placed(before, binding, on, move, effect, tuple(notes))


def _effect(
    before: RecordedBinding, binding: Binding, on: int, nodes: Nodes, moved: tuple[float, float]
) -> Interval | Absent:
    if nodes.number == 1:
        return Absent("the machine has one NUMA node, so all memory is equally near")
    if moved == (0.0, 0.0):
        if on == 1:
            return Absent("on one node all memory is equally near")
        return Absent(f"the run's executors were bound to {_named(before.binding)} already")
    middle, reach = moved[0], NORMAL_90 * moved[1]
    return Interval(*(math.exp(middle + at * reach) for at in (-1, 0, 1)))


def _named(binding: Binding) -> str:
    return {"none": "nothing", "node": "nodes", "package": "packages"}[binding]
