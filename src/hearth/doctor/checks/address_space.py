"""A JVM reserves far more addresses than it uses: under this limit it does not start, or fails
later.
"""

from hearth.base.sizes import show_bytes
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.rlimits import limit_of


def _look(machine: Machine) -> Outcome:
    soft, _ = limit_of(machine.tree, "Max address space")
    if soft is None:
        return Fine("addresses of a process: unlimited")
    return Problem(
        f"addresses of a process: at most {show_bytes(soft)}",
        "/proc/self/limits",
        "harm",
        command="ulimit -v unlimited, and its line 'as' in /etc/security/limits.conf",
    )


CHECK = Check(
    _look,
    group="limits",
    better="unlimited",
    source="man 2 getrlimit, RLIMIT_AS; Elasticsearch: bootstrap checks, maximum size virtual "
    "memory",
    touches="how much memory the user's other programs may map",
)
