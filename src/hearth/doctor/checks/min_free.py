"""The kernel keeps this much free: too little stalls allocations, too much is lost to heaps."""

from hearth.base.sizes import show_bytes
from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem

_FILE = "proc/sys/vm/min_free_kbytes"
#: Ours: below 1/2,000 of the memory on machines of 64 GB and more, or above 1/20 of any.
_LEAST, _MOST, _LARGE_KB = 2000, 20, 64 << 20


def _look(machine: Machine) -> Outcome:
    free_kb = machine.tree.number(_FILE, 1 << 40)
    total_kb = machine.tree.field("proc/meminfo", "MemTotal")
    what = (
        f"vm.min_free_kbytes = {free_kb} ({show_bytes(free_kb << 10)} of "
        f"{show_bytes(total_kb << 10)})"
    )
    wanted = min(total_kb // 200, 2 << 20)
    if free_kb * _MOST > total_kb:
        return Problem(what, f"/{_FILE}", changes=(Change(_FILE, str(wanted)),))
    if total_kb >= _LARGE_KB and free_kb * _LEAST < total_kb:
        return Problem(what, f"/{_FILE}", changes=(Change(_FILE, str(wanted)),))
    return Fine(what)


CHECK = Check(
    _look,
    group="memory",
    concerns="heaps",
    better="about 0.5 % of the memory, at most 2 GB",
    source="kernel: admin-guide/sysctl/vm, min_free_kbytes; the limits are hearth's",
    touches="how much memory programs and the cache of files can use",
)
