"""Without space hearth keeps no record and no archive: applications run, start slower, and are
not seen.
"""

from hearth.base.sizes import show_bytes
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem, known

#: Ours: archives of a driver and an executor with their predecessors.
_LITTLE, _NONE = 1 << 30, 16 << 20


def _look(machine: Machine) -> Outcome:
    own, told = machine.the_own(), []
    for folder, remedy in (
        (own.state, "hearth runs delete"),
        (own.cache, "hearth cache --limit 1g"),
    ):
        space = known(own.space(folder))
        what = f"{folder}: {show_bytes(space.free_bytes)} free"
        if space.free_bytes < _LITTLE:
            severity = "harm" if space.free_bytes < _NONE else "advice"
            return Problem(what, "statvfs(3)", severity, command=remedy)  # type: ignore[arg-type]
        told.append(what)
    return Fine("; ".join(told))


CHECK = Check(
    _look,
    group="hearth",
    better="1 GB or more",
    source="hearth: docs/files.md",
    touches="records or archives that are removed",
)
