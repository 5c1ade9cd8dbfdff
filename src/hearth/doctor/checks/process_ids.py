"""Each thread has an id: many executors with many threads each use them up."""

from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem

_FILE = "proc/sys/kernel/pid_max"
#: What the kernel gives each CPU by itself (kernel/pid.c).
_EACH = 1024


def _look(machine: Machine) -> Outcome:
    value = machine.tree.number(_FILE, 1 << 22)
    wanted = max(32768, _EACH * len(machine.the_topology().usable_cpus))
    if value >= wanted:
        return Fine(f"kernel.pid_max = {value}")
    return Problem(f"kernel.pid_max = {value}", f"/{_FILE}", changes=(Change(_FILE, str(1 << 22)),))


CHECK = Check(
    _look,
    group="limits",
    better="1,024 for each CPU, and 32,768 at least",
    source="man 5 proc_sys_kernel, pid_max",
    touches="nothing on 64-bit machines",
)
