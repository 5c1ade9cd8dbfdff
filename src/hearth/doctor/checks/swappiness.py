"""A collection visits the whole heap: what of it was swapped out is read back page by page."""

from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem

_FILE = "proc/sys/vm/swappiness"
#: What tuned's profile throughput-performance sets.
_MOST = 10


def _look(machine: Machine) -> Outcome:
    value = machine.tree.number(_FILE, 200)
    if not machine.tree.field("proc/meminfo", "SwapTotal"):
        return Fine(f"vm.swappiness = {value}, without swap")
    if value <= _MOST:
        return Fine(f"vm.swappiness = {value}")
    return Problem(
        f"vm.swappiness = {value}, with swap", f"/{_FILE}", changes=(Change(_FILE, "1"),)
    )


CHECK = Check(
    _look,
    group="memory",
    concerns="heaps",
    better="1: the kernel drops cached files first, and swaps only to avoid killing",
    source="kernel: admin-guide/sysctl/vm, swappiness; Redpanda: tuner swappiness",
    touches="idle programs stay in memory, so less is left for the cache of files",
)
