"""Entering and leaving the kernel costs more on CPUs whose timer is off, and shuffles do both
often.
"""

from hearth.base.ids import brief_ids, show_ids
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem

_FILE = "sys/devices/system/cpu/nohz_full"


def _look(machine: Machine) -> Outcome:
    if machine.tree.has(_FILE) and machine.tree.text(_FILE) in ("", "(null)"):
        return Fine("no CPU without timer")
    ours = machine.tree.ids(_FILE) & machine.the_topology().usable_cpus
    if not ours:
        return Fine("no CPU without timer among those that may be used")
    return Problem(
        f"CPUs without timer: {brief_ids(show_ids(ours))}",
        f"/{_FILE}",
        command="remove nohz_full= from the boot options",
    )


CHECK = Check(
    _look,
    group="cpu",
    concerns="cpus",
    better="none: it helps one thread alone on a CPU, and executors have many",
    source="kernel: timers/no_hz",
    touches="the programs that it was set for",
    reboot=True,
)
