"""At the limit of a file's size, a task that writes shuffle data is ended by a signal."""

from hearth.base.sizes import show_bytes
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.rlimits import limit_of


def _look(machine: Machine) -> Outcome:
    soft, _ = limit_of(machine.tree, "Max file size")
    if soft is None:
        return Fine("size of a file: unlimited")
    return Problem(
        f"size of a file: at most {show_bytes(soft)}",
        "/proc/self/limits",
        "harm",
        command="ulimit -f unlimited, and its line 'fsize' in /etc/security/limits.conf",
    )


CHECK = Check(
    _look,
    group="limits",
    better="unlimited",
    source="man 2 getrlimit, RLIMIT_FSIZE; Elasticsearch: bootstrap checks, maximum file size",
    touches="what the user's other programs may write",
)
