"""An event log names every task several times: without compression it takes many times the
space.
"""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem


def _look(machine: Machine) -> Outcome:
    settings = machine.the_own().settings
    if settings.get("spark.eventLog.enabled", "false").lower() != "true":
        return Fine("no event log in spark-defaults.conf")
    if settings.get("spark.eventLog.compress", "true").lower() == "true":
        return Fine("event log: compressed")
    return Problem(
        "event log: not compressed",
        "spark-defaults.conf",
        command="remove spark.eventLog.compress there",
    )


CHECK = Check(
    _look,
    group="spark",
    better="compressed, as Spark does by default since 4.0",
    source="Spark: core migration guide, from 3.5 to 4.0",
    touches="programs that read the log as text",
)
