"""A fleet's classes of machine, their plans, and the odd machines, for a terminal."""

from collections.abc import Iterator, Sequence

from hearth.base.sizes import show_mb
from hearth.fleet.result import Common, FleetPlan, MachineClass
from hearth.report.terminal.screen import Screen

_MOST_NAMES = 8


def show_fleet(fleet: FleetPlan, screen: Screen) -> list[str]:
    """Return lines that tell what the document does."""
    many = sum(len(each.machines) for each in fleet.classes)
    lines = [screen.title(f"{_count(many, 'machine')}, {_count(len(fleet.classes), 'class')}")]
    for number, each in enumerate(fleet.classes, 1):
        lines += ["", *_class(number, each, screen)]
    if fleet.classes:
        lines += ["", *_common(fleet, screen)]
    if fleet.usual:
        lines += ["", screen.title("on most machines")]
        for usual in fleet.usual:
            text = f"{usual.name} ({usual.machines} of {many}): better: {usual.better}"
            lines.append(screen.paragraph(text, "  ", "    "))
    if fleet.odd:
        lines += ["", screen.title("on odd machines")]
        for odd in fleet.odd:
            text = f"{odd.machine}: {odd.severity} {odd.name}: {odd.seen}; better: {odd.better}"
            lines.append(screen.paragraph(f"{text}; command: {odd.command}", "  ", "    "))
    if fleet.unread:
        lines += ["", screen.title("not read, or not examined")]
        for unread in fleet.unread:
            lines.append(screen.paragraph(f"{unread.machine}: {unread.reason}", "  ", "    "))
    return lines


def _class(number: int, each: MachineClass, screen: Screen) -> Iterator[str]:
    yield screen.title(f"class {number}: {_count(len(each.machines), 'machine')}")
    yield screen.paragraph(brief_names(each.machines), "  ", "    ")
    yield f"  {each.summary}"
    shape = each.shape
    kind = "one JVM" if each.plan.is_native else _count(each.executors, "executor")
    yield f"  plan: {kind} of {shape.task_slots} task slots and {show_mb(shape.heap_mb)} of heap"
    for what in each.unlike:
        yield screen.paragraph(f"unlike most with this processor: {what}", "  ", "    ")


def _common(fleet: FleetPlan, screen: Screen) -> Iterator[str]:
    if fleet.common is None:
        yield screen.paragraph(f"no spark-defaults.conf fits all: {fleet.no_common}", "", "  ")
        return
    yield screen.title("one spark-defaults.conf for all")
    yield from (f"  {name} {value}" for name, value in fleet.common.settings.items())
    yield screen.paragraph(f"# {_fits(fleet.common)}", "  ", "  # ")


def _fits(common: Common) -> str:
    each = [
        f"class {number}: {fit.executors} on each machine, {fit.used:.0%} of its task slots"
        for number, fit in enumerate(common.fits, 1)
    ]
    return "; ".join(each)


def brief_names(names: Sequence[str]) -> str:
    """Return some names, and how many more there are."""
    more = len(names) - _MOST_NAMES
    shown = ", ".join(names[:_MOST_NAMES])
    return f"{shown} and {more} more" if more > 0 else shown


def _count(many: int, what: str) -> str:
    plural = f"{what}es" if what.endswith("s") else f"{what}s"
    return f"{many} {what if many == 1 else plural}"
