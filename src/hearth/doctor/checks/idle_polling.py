"""CPUs that poll when idle draw power, and leave none of it to the turbo of those that work."""

from hearth.doctor.boot import boot_words
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem


def _look(machine: Machine) -> Outcome:
    words = boot_words(machine.tree)
    if "idle=poll" not in words:
        return Fine("no boot option makes idle CPUs poll")
    return Problem(
        "boot option idle=poll", "/proc/cmdline", command="remove idle=poll from the boot options"
    )


CHECK = Check(
    _look,
    group="cpu",
    concerns="cpus",
    better="the kernel's idle states: Spark's tasks are far longer than it takes to wake up",
    source="kernel: admin-guide/pm/cpuidle",
    touches="latency of the first microseconds after idleness",
    reboot=True,
)
