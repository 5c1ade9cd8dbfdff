"""A heap size in spark-defaults.conf holds for every application, and a plan honours it."""

from hearth.base.errors import UserError
from hearth.base.sizes import parse_mb, show_bytes, show_mb
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen

_KEYS = ("spark.driver.memory", "spark.executor.memory")
#: Ours: a heap below this share of the memory leaves most of the machine idle.
_LEAST = 1 / 8


def _look(machine: Machine) -> Outcome:
    settings, topology = machine.the_own().settings, machine.the_topology()
    total = sum(node.memory_bytes for node in topology.usable_nodes)
    executors = len(machine.the_plan().executors)
    for key in _KEYS:
        if key not in settings:
            continue
        try:
            heap = parse_mb(settings[key], key) << 20
        except UserError:
            raise NotSeen(f"{key} in spark-defaults.conf is not a size with a unit") from None
        what = f"{key} = {show_mb(heap >> 20)} on a machine of {show_bytes(total)}"
        if heap > total:
            return Problem(what, "spark-defaults.conf", "harm", command=f"remove {key} there")
        if heap * executors < _LEAST * total and (executors == 1 or "executor" in key):
            return Problem(
                what, "spark-defaults.conf", command=f"remove {key} there: the plan sizes the heap"
            )
    return Fine("no heap size in spark-defaults.conf that does not fit the machine")


CHECK = Check(
    _look,
    group="spark",
    concerns="heaps",
    better="none there: the plan sizes heaps, where plain Spark takes 1 GB",
    source="Spark: configuration, spark.driver.memory",
    touches="applications that run without hearth get Spark's 1 GB",
)
