"""Above `memory.high` the kernel slows every thread of the group down instead of refusing
memory.
"""

from hearth.base.sizes import show_bytes, show_mb
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.groups import limit, own_groups


def _look(machine: Machine) -> Outcome:
    tree = machine.tree
    # The root group of the machine has no such file; neither has one without the controller.
    files = [f"{folder}/memory.high" for folder in own_groups(tree)]
    found = [(limit(tree, file), file) for file in files if tree.has(file)]
    limits = [(high, file) for high, file in found if high is not None]
    if not limits:
        return Fine("memory.high: max")
    high, file = min(limits)
    plan = machine.the_plan()
    total_mb = plan.memory_mb
    what = f"memory.high = {show_bytes(high)}, the plan takes {show_mb(total_mb)}"
    if total_mb << 20 <= high:
        return Fine(what)
    return Problem(what, f"/{file}", command=f"echo max > /{file}")


CHECK = Check(
    _look,
    group="memory",
    concerns="heaps",
    better="max, and a limit that ends what exceeds it (memory.max)",
    source="kernel: admin-guide/cgroup-v2, memory.high",
    touches="what else runs in that control group",
)
