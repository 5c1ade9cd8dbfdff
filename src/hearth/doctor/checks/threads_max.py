"""The machine's limit of threads, of all users together."""

from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem

_FILE = "proc/sys/kernel/threads-max"
#: Ours: an executor has some hundred threads, and each CPU may have an executor.
_EACH = 512


def _look(machine: Machine) -> Outcome:
    value = machine.tree.number(_FILE, 1 << 32)
    wanted = max(16384, _EACH * len(machine.the_topology().usable_cpus))
    if value >= wanted:
        return Fine(f"kernel.threads-max = {value}")
    return Problem(
        f"kernel.threads-max = {value}", f"/{_FILE}", changes=(Change(_FILE, str(2 * wanted)),)
    )


CHECK = Check(
    _look,
    group="limits",
    better="512 for each CPU, and 16,384 at least",
    source="man 5 proc_sys_kernel, threads-max; the numbers are hearth's",
    touches="kernel memory, if so many are started",
)
