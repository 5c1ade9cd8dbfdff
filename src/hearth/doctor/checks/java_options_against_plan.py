"""Threads of the collector and compilers are counted from an executor's own CPUs; a fixed number
is not.
"""

import re

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem

_KEYS = (
    "spark.driver.extraJavaOptions",
    "spark.executor.extraJavaOptions",
    "spark.driver.defaultJavaOptions",
    "spark.executor.defaultJavaOptions",
)
_HEAP = re.compile(r"-Xmx\S+")
_COUNT = re.compile(r"-XX:(?:ActiveProcessorCount|ParallelGCThreads|ConcGCThreads)=(\d{1,6})\b")


def _look(machine: Machine) -> Outcome:
    settings = machine.the_own().settings
    for key in _KEYS:
        options = settings.get(key, "")
        if heap := _HEAP.search(options):
            return Problem(
                f"{key} has {heap[0][:40]}, which Spark refuses",
                "spark-defaults.conf",
                "harm",
                command=f"remove it there; set {key.rsplit('.', 1)[0]}.memory",
            )
        cpus = len(machine.the_topology().usable_cpus)
        for count in _COUNT.finditer(options):
            if int(count[1]) > cpus:
                return Problem(
                    f"{key} has {count[0]} on {cpus} usable CPUs",
                    "spark-defaults.conf",
                    command=f"remove {count[0]} there: hearth's plan sets it for each executor",
                )
    return Fine("no Java option in spark-defaults.conf contradicts the machine")


CHECK = Check(
    _look,
    group="spark",
    better="numbers that the plan derives",
    source="Spark: configuration, extraJavaOptions; JVM: HotSpot ergonomics",
    touches="nothing",
)
