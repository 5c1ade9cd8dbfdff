"""Fewer partitions than task slots leave CPUs idle after every shuffle."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen

_KEY = "spark.sql.shuffle.partitions"


def _look(machine: Machine) -> Outcome:
    value = machine.the_own().settings.get(_KEY)
    if value is None:
        return Fine(f"{_KEY} is left to the plan")
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise NotSeen(f"{_KEY} in spark-defaults.conf is not a number")
    slots = sum(one.task_slots for one in machine.the_plan().executors)
    if int(value) >= slots:
        return Fine(f"{_KEY} = {value}, {slots} task slots")
    return Problem(
        f"{_KEY} = {value}, and {slots} tasks can run at once",
        "spark-defaults.conf",
        command=f"remove {_KEY} there",
    )


CHECK = Check(
    _look,
    group="spark",
    concerns="queries",
    better="not set there: adaptive execution merges partitions that are small",
    source="Spark: SQL performance tuning guide",
    touches="nothing",
)
