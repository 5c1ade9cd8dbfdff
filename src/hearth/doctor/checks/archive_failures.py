"""Without a class-data archive each JVM of an application starts seconds later."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem, known


def _look(machine: Machine) -> Outcome:
    failures = known(machine.the_own().archive_failures)
    if not failures:
        return Fine("no archive has failed within a day")
    name, reason = failures[0]
    return Problem(
        f"the archive of '{name[:40]}' could not be made: {reason[:120]}",
        machine.the_own().cache,
        command="fix that, then hearth cache --remove archives; or wait a day",
    )


CHECK = Check(
    _look,
    group="hearth",
    better="archives, which hearth makes by itself",
    source="hearth: docs/files.md, class-data archives",
    touches="nothing",
)
