"""Where it cannot write hearth keeps no record and no archive: applications run, start slower, and
are not seen.
"""

from hearth.base.sizes import show_bytes
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem, known

#: Ours: archives of a driver and an executor with their predecessors.
_LITTLE, _NONE = 1 << 30, 16 << 20


def _look(machine: Machine) -> Outcome:
    own, told = machine.the_own(), []
    for folder, remedy, variable in (
        (own.state, "hearth runs delete", "XDG_STATE_HOME"),
        (own.cache, "hearth cache --limit 1g", "XDG_CACHE_HOME"),
    ):
        if not machine.tree.may_make(folder):
            command = f"export {variable}= with a directory of your own"
            return Problem(f"{folder}: may not be written", "access(2)", "harm", command=command)
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
