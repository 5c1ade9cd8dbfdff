"""Something has been swapped out already: memory was short, or was taken for the cache of files."""

from hearth.base.sizes import show_bytes
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen

#: Ours: less of the memory is some idle service.
_SHARE = 0.02


def _look(machine: Machine) -> Outcome:
    memory = machine.tree.fields("proc/meminfo")
    try:
        used = (memory["SwapTotal"] - memory["SwapFree"]) << 10
        total = memory["MemTotal"] << 10
    except KeyError as missing:
        raise NotSeen(f"could not read /proc/meminfo: it has no {missing}") from None
    if used < 0:
        raise NotSeen("could not read /proc/meminfo: more swap is free than there is")
    if used <= _SHARE * total:
        return Fine(f"swap in use: {show_bytes(used)}")
    return Problem(
        f"swap in use: {show_bytes(used)}",
        "/proc/meminfo",
        command="swapoff -a && swapon -a, once enough memory is free",
    )


CHECK = Check(
    _look,
    group="memory",
    concerns="heaps",
    better="none in use before an application starts",
    source="kernel: filesystems/proc, meminfo; the limit of 2 % is hearth's",
    touches="reads everything back into memory, which takes a while",
)
