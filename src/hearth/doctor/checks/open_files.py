"""A shuffle reads files of every map task and has sockets to every peer; at the limit, tasks
fail.
"""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.rlimits import limit_of

#: What Elasticsearch asks for too; below the second number a large shuffle fails.
_WANTED, _FEW = 65535, 4096


def _look(machine: Machine) -> Outcome:
    # The JVM raises the soft limit to the hard one by itself (-XX:+MaxFDLimit).
    _, hard = limit_of(machine.tree, "Max open files")
    if hard is None or hard >= _WANTED:
        return Fine(f"open files: {'unlimited' if hard is None else hard}")
    return Problem(
        f"open files: at most {hard} (hard limit)",
        "/proc/self/limits",
        "harm" if hard < _FEW else "advice",
        command="a line '* hard nofile 1048576' in /etc/security/limits.d, then log in again; "
        "LimitNOFILE= of systemd; docker run --ulimit nofile=1048576",
    )


CHECK = Check(
    _look,
    group="limits",
    better="65,535 or more",
    source="Elasticsearch: bootstrap checks, file descriptors; JVM: -XX:+MaxFDLimit",
    touches="what the user's other programs may open",
)
