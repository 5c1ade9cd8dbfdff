"""Without container support a JVM counts the host's CPUs and memory: too many threads, too large
a heap.
"""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.java import option_words

_OFF = "-XX:-UseContainerSupport"


def _look(machine: Machine) -> Outcome:
    if _OFF not in option_words(machine):
        return Fine("the JVM sees its container's limits")
    allowed = machine.the_topology().allowed
    limited = allowed.memory_limit_bytes is not None or allowed.cpu_quota is not None
    return Problem(
        f"Java option {_OFF}" + (", and a control group limits this process" if limited else ""),
        "spark-defaults.conf and variables such as JAVA_TOOL_OPTIONS",
        "harm" if limited else "advice",
        command=f"remove {_OFF} from where you set it",
    )


CHECK = Check(
    _look,
    group="spark",
    better="the default, on",
    source="Oracle: java command, -XX:+UseContainerSupport",
    touches="nothing",
)
