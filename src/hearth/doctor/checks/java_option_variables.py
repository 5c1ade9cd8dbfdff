"""Every JVM reads these variables, executors too: what they set fights the plan."""

import re

from hearth.base.java import OPTION_VARIABLES
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem

#: What a plan decides, and a heap size for all JVMs alike.
_FIGHTS = re.compile(
    r"-Xm[snx]\S+|-XX:[+-]?(?:Use\w+GC|UseNUMA|ActiveProcessorCount|ParallelGCThreads|"
    r"ConcGCThreads|CICompilerCount|Max\w*RAMPercentage|NewSize|MaxNewSize)\b\S*"
)


def _look(machine: Machine) -> Outcome:
    environment = machine.the_own().environment
    for name in OPTION_VARIABLES:
        found = _FIGHTS.search(environment.get(name, ""))
        if found:
            return Problem(
                f"{name} has {found[0][:60]}",
                f"the variable {name}",
                command=f"unset {name}; give options to one application by "
                "spark.executor.extraJavaOptions",
            )
    return Fine("no variable gives every JVM options that a plan decides")


CHECK = Check(
    _look,
    group="spark",
    better="options for each application, which hearth's plan honours",
    source="Oracle: java command, JDK_JAVA_OPTIONS; JVM tool interface, JAVA_TOOL_OPTIONS",
    touches="other Java programs that rely on the variable",
)
