"""The first compiler hardly optimises: the code of tasks never gets as fast as it can."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.java import option_words

_WITHOUT = (
    "-Xint",
    "-client",
    "-XX:TieredStopAtLevel=0",
    "-XX:TieredStopAtLevel=1",
    "-XX:TieredStopAtLevel=2",
    "-XX:TieredStopAtLevel=3",
    "-XX:-UseCompiler",
)


def _look(machine: Machine) -> Outcome:
    found = [word for word in option_words(machine) if word in _WITHOUT]
    if not found:
        return Fine("no Java option turns the second compiler off")
    return Problem(
        f"Java option {found[0]}",
        "spark-defaults.conf and variables such as JAVA_TOOL_OPTIONS",
        command=f"remove {found[0]} from where you set it",
    )


CHECK = Check(
    _look,
    group="spark",
    concerns="cpus",
    better="both compilers; C1 alone only for commands that end at once",
    source="Oracle: java command, tiered compilation; Elasticsearch: bootstrap checks, client JVM",
    touches="start-up of very short applications",
)
