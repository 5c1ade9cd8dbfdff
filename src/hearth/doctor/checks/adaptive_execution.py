"""Without it a query keeps the number of partitions and the joins that were guessed before it
ran.
"""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem

_KEYS = ("spark.sql.adaptive.enabled", "spark.sql.adaptive.coalescePartitions.enabled")


def _look(machine: Machine) -> Outcome:
    settings = machine.the_own().settings
    off = [key for key in _KEYS if settings.get(key, "true").lower() == "false"]
    if not off:
        return Fine("adaptive execution: on")
    return Problem(f"{off[0]} = false", "spark-defaults.conf", command=f"remove {off[0]} there")


CHECK = Check(
    _look,
    group="spark",
    concerns="queries",
    better="true, Spark's default since 3.2",
    source="Spark: SQL performance tuning guide, adaptive query execution",
    touches="plans of queries can change from run to run",
)
