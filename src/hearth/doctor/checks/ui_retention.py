"""The driver's heap holds each task that the UI retains, and its collector visits them all."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen

#: Spark's own default.
_KEY, _DEFAULT = "spark.ui.retainedTasks", 100_000


def _look(machine: Machine) -> Outcome:
    value = machine.the_own().settings.get(_KEY, str(_DEFAULT))
    if not (value.isascii() and value.isdigit() and len(value) < 12):
        raise NotSeen(f"{_KEY} in spark-defaults.conf is not a number")
    if int(value) <= _DEFAULT:
        return Fine(f"{_KEY} = {value}")
    return Problem(
        f"{_KEY} = {value}",
        "spark-defaults.conf",
        command=f"remove {_KEY} there; the event log has all",
    )


CHECK = Check(
    _look,
    group="spark",
    better="100000, the default, or less",
    source="Spark: configuration, spark.ui.retainedTasks",
    touches="the UI shows fewer tasks of old stages",
)
