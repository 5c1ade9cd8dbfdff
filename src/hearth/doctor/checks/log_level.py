"""At this level Spark writes lines for every block and every message; tasks wait for the log."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem, known

_KEY = "spark.log.level"
_MUCH = ("DEBUG", "TRACE", "ALL")


def _look(machine: Machine) -> Outcome:
    own = machine.the_own()
    # The setting goes before the file (SparkContext).
    level, where = own.settings.get(_KEY), "spark-defaults.conf"
    if level is None:
        level, where = known(own.root_log_level), "log4j2.properties"
    if level is None:
        return Fine("log level: Spark's own")
    if level.upper() not in _MUCH:
        return Fine(f"log level: {level[:20]}")
    key = _KEY if where == "spark-defaults.conf" else "rootLogger.level"
    return Problem(f"log level: {level.upper()}", where, command=f"remove {key} there")


CHECK = Check(
    _look,
    group="spark",
    better="info or warn; debug for the classes of interest alone",
    source="Spark: configuration, configuring logging; ClickHouse: warnings, logging level",
    touches="what the logs of later runs tell",
)
