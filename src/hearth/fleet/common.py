"""One shape of executors for all classes of machine, or why there is none."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hearth.base.ids import parse_ids
from hearth.base.sizes import show_mb
from hearth.fleet.result import Common, Fit
from hearth.machine.plan import PlannedExecutor
from hearth.spark.clusters.shape import Layout, Shape, spark_defaults

#: Of a class's task slots, and of its heaps: hearth's judgement of what one file for all is worth.
_LEAST_USED, _LEAST_HEAP = 0.75, 0.5


@dataclass(frozen=True)
class PlannedClass:
    """A class: how many machines, and their plan."""

    machines: int
    layout: Layout


def common_shape(members: Sequence[PlannedClass]) -> Common | str:
    """Return the shape with which most task slots work; in words why none will do."""
    if not members:
        return "no machine could be planned for"
    # One for each number of task slots: the one with the smallest heap.
    shapes = sorted((member.layout.shape for member in members), key=lambda each: -each.heap_mb)
    tried = [(each, fits(each, members)) for each in {s.task_slots: s for s in shapes}.values()]
    shape, best = max(tried, key=lambda each: _working(each[1], members))
    worst = min(range(len(best)), key=lambda at: _share(best[at]))
    if _share(best[worst]) >= 1:
        plan = members[worst].layout.plan
        return Common(shape, best, spark_defaults(shape, 1, plan, {}) | _instances(best, members))
    return (
        f"executors of {shape.task_slots} task slots and {show_mb(shape.heap_mb)} of heap, which "
        f"suit the fleet best, would use {best[worst].used:.0%} of the task slots and "
        f"{best[worst].heap:.0%} of the heaps of class {worst + 1}; {_LEAST_USED:.0%} and "
        f"{_LEAST_HEAP:.0%} are required: keep one file for each class, and label their nodes"
    )


def _instances(best: Sequence[Fit], members: Sequence[PlannedClass]) -> dict[str, str]:
    many = sum(fit.executors * member.machines for fit, member in zip(best, members, strict=True))
    return {"spark.executor.instances": str(many)}


def _working(tried: Sequence[Fit], members: Sequence[PlannedClass]) -> tuple[bool, float]:
    """Return whether all classes work enough, and the task slots that work in all."""
    slots = sum(
        fit.used * _slots(member.layout) * member.machines
        for fit, member in zip(tried, members, strict=True)
    )
    return min(_share(fit) for fit in tried) >= 1, slots


def _share(fit: Fit) -> float:
    """Return how much of a class is used, to the least that must be."""
    return min(fit.used / _LEAST_USED, fit.heap / _LEAST_HEAP)


def fits(shape: Shape, members: Sequence[PlannedClass]) -> list[Fit]:
    """Return how many executors of a shape each class takes: within the nodes of its own plan."""
    found = []
    for member in members:
        many = sum(
            min(slots // shape.task_slots, cpus // shape.cpus, size // shape.container_mb)
            for slots, cpus, size in _rooms(member.layout.executors)
        )
        memory = sum(each.heap_mb + each.off_heap_mb for each in member.layout.executors)
        heap = many * (shape.heap_mb + shape.off_heap_mb) / memory
        used = many * shape.task_slots / _slots(member.layout)
        found.append(Fit(many, round(used, 3), round(heap, 3)))
    return found


def _rooms(executors: Sequence[PlannedExecutor]) -> list[tuple[int, int, int]]:
    """Return the task slots, CPUs and MB of memory of each set of nodes that executors share."""
    slots: Counter[str] = Counter()
    cpus: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for each in executors:
        slots[each.memory_nodes] += each.task_slots
        cpus[each.memory_nodes] += len(parse_ids(each.cpus))
        sizes[each.memory_nodes] += each.memory_mb
    return [(slots[nodes], cpus[nodes], sizes[nodes]) for nodes in slots]


def _slots(layout: Layout) -> int:
    return sum(each.task_slots for each in layout.executors)
