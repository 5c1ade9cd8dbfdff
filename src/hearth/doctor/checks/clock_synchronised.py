"""Where machines of a cluster have different times, timeouts end early, tokens are refused, and
logs cannot be put in order.
"""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem, known
from hearth.doctor.cluster import matters
from hearth.doctor.tree import NotSeen


def _look(machine: Machine) -> Outcome:
    if not matters(machine):
        return Fine("of interest in a cluster only, and no setting of Spark points to one")
    clock = known(machine.clock)
    if clock.synchronised is None:
        raise NotSeen("adjtimex(2) did not say whether the clock is synchronised")
    seen = f"services seen: {', '.join(clock.services) or 'none'}"
    if clock.synchronised:
        within = "" if clock.error_s is None else f", within {clock.error_s:.3g} s by its estimate"
        return Fine(f"the kernel's clock is synchronised{within}; {seen}")
    return Problem(
        f"the kernel's clock is not synchronised; {seen}",
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
