"""The jar that 'hearth install' linked into Spark is what front ends load: it must be this
hearth's.
"""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem, known


def _look(machine: Machine) -> Outcome:
    own = machine.the_own()
    jar = known(own.jar)
    for link, target in own.installed.items():
        if target != jar:
            return Problem(
                f"{link} leads to {target}, this hearth's jar is {jar}",
                link,
                "harm",
                command="hearth install",
            )
    return Fine("the link leads to this hearth's jar" if own.installed else "no link")


CHECK = Check(
    _look,
    group="hearth",
    better="a link to this hearth's jar, or none",
    source="hearth: docs/running.md",
    touches="every front end of that Spark",
)
