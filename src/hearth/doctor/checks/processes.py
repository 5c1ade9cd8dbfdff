"""Each thread of a JVM counts; at the limit it says 'unable to create native thread' and fails."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.rlimits import limit_of

_WANTED, _FEW = 4096, 1024


def _look(machine: Machine) -> Outcome:
    soft, _ = limit_of(machine.tree, "Max processes")
    if soft is None or soft >= _WANTED:
        return Fine(f"processes and threads of the user: {'unlimited' if soft is None else soft}")
    return Problem(
        f"processes and threads of the user: at most {soft}",
        "/proc/self/limits",
        "harm" if soft < _FEW else "advice",
        command="a line '* - nproc 32768' in /etc/security/limits.d, then log in again; "
        "LimitNPROC= of systemd",
    )


CHECK = Check(
    _look,
    group="limits",
    better="4,096 or more",
    source="Elasticsearch: bootstrap checks, number of threads",
    touches="how much a runaway program of the user can start",
)
