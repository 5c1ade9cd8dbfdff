"""With strict accounting a JVM cannot reserve a heap beyond the commit limit, even if memory is
free.
"""

from hearth.base.sizes import show_bytes, show_mb
from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen

_FILE = "proc/sys/vm/overcommit_memory"


def _look(machine: Machine) -> Outcome:
    mode = machine.tree.number(_FILE, 2)
    if mode != 2:
        return Fine(f"vm.overcommit_memory = {mode}")
    memory = machine.tree.fields("proc/meminfo")
    if "CommitLimit" not in memory or "Committed_AS" not in memory:
        raise NotSeen("could not read /proc/meminfo: it has no commit limit")
    left = max(0, memory["CommitLimit"] - memory["Committed_AS"]) << 10
    heaps_mb = sum(one.heap_mb + one.off_heap_mb for one in machine.the_plan().executors)
    what = (
        f"vm.overcommit_memory = 2 leaves {show_bytes(left)}, the plan's heaps take "
        f"{show_mb(heaps_mb)}"
    )
    if heaps_mb << 20 <= left:
        return Fine(what)
    return Problem(what, f"/{_FILE}, /proc/meminfo", "harm", (Change(_FILE, "0"),))


CHECK = Check(
    _look,
    group="memory",
    concerns="heaps",
    better="0, or a vm.overcommit_ratio that leaves room for the heaps",
    source="kernel: mm/overcommit-accounting; ClickHouse: usage recommendations",
    touches="programs that rely on being refused memory rather than being killed",
)
