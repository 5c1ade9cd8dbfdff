"""A lease that cannot be believed is not counted: two applications may then get the same CPUs."""

from hearth.base.sizes import counted
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem, known


def _look(machine: Machine) -> Outcome:
    found = known(machine.the_own().leases)
    if not found.problems:
        return Fine(f"{counted(len(found.leases), 'lease')} in {found.directory}")
    return Problem(
        f"{counted(len(found.problems), 'lease')} not counted: {found.problems[0][:120]}",
        found.directory,
        command=f"hearth status --leases; remove the file in {found.directory} if nobody uses it",
    )


CHECK = Check(
    _look,
    group="hearth",
    better="leases that can be read",
    source="hearth: docs/leases.md",
    touches="nothing, if its application has ended",
)
