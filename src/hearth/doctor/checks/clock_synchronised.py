"""Where machines of a cluster have different times, timeouts end early, tokens are refused, and
logs cannot be put in order.
"""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem, known
from hearth.doctor.cluster import is_in_a_cluster


def _look(machine: Machine) -> Outcome:
    if not is_in_a_cluster(machine):
        return Fine("of interest in a cluster only, and no setting of Spark leads to one")
    if known(machine.the_own().clock_synchronised):
        return Fine("the kernel's clock is synchronised")
    return Problem(
        "the kernel's clock is not synchronised",
        "adjtimex(2)",
        command="timedatectl set-ntp true; or install chrony",
    )


CHECK = Check(
    _look,
    group="network",
    better="chrony, systemd-timesyncd or the like on every machine",
    source="man 2 adjtimex, STA_UNSYNC; Cloudera: health test of the host clock offset",
    touches="the time may jump once",
)
