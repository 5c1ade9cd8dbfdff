"""Above `memory.high` the kernel slows every thread of the group down instead of refusing
memory.
"""

from hearth.base.sizes import show_bytes, show_mb
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.groups import limit, own_group


def _look(machine: Machine) -> Outcome:
    folder = own_group(machine.tree)
    high = limit(machine.tree, f"{folder}/memory.high")
    if high is None:
        return Fine("memory.high: max")
    plan = machine.the_plan()
    total_mb = sum(one.heap_mb + one.off_heap_mb + one.overhead_mb for one in plan.executors)
    what = f"memory.high = {show_bytes(high)}, the plan takes {show_mb(total_mb)}"
    if total_mb << 20 <= high:
        return Fine(what)
    return Problem(what, f"/{folder}/memory.high", command=f"echo max > /{folder}/memory.high")


CHECK = Check(
    _look,
    group="memory",
    concerns="heaps",
    better="max, and a limit that ends what exceeds it (memory.max)",
    source="kernel: admin-guide/cgroup-v2, memory.high",
    touches="what else runs in that control group",
)
