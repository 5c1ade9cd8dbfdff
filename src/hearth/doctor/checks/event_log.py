"""An event log names every task several times: without compression it takes many times the
space.
"""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem


def _look(machine: Machine) -> Outcome:
    settings = machine.the_own().settings
    if settings.get("spark.eventLog.enabled", "false").lower() != "true":
        return Fine("no event log in spark-defaults.conf")
    if settings.get("spark.eventLog.compress", "false").lower() == "true":
        return Fine("event log: compressed")
    return Problem(
        "event log: not compressed",
        "spark-defaults.conf",
        command="spark.eventLog.compress true there",
    )


CHECK = Check(
    _look,
    group="spark",
    better="spark.eventLog.compress true",
    source="Spark: configuration, spark.eventLog.compress",
    touches="programs that read the log as text",
)
