"""What others hold is not there for the plan: its executors would swap, or be killed."""

from hearth.base.sizes import show_bytes, show_mb
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem


def _look(machine: Machine) -> Outcome:
    free = machine.tree.field("proc/meminfo", "MemAvailable") << 10
    plan = machine.the_plan()
    total_mb = plan.memory_mb
    what = f"available memory: {show_bytes(free)}, the plan takes up to {show_mb(total_mb)}"
    if total_mb << 20 <= free:
        return Fine(what)
    heaps_mb = sum(one.heap_mb + one.off_heap_mb for one in plan.executors)
    return Problem(
        what,
        "/proc/meminfo",
        "harm" if heaps_mb << 20 > free else "advice",
        command="end what holds it (ps axo rss,pid,args --sort=-rss | head), or --memory with less",
    )


CHECK = Check(
    _look,
    group="memory",
    concerns="heaps",
    better="as much available memory as the plan takes",
    source="kernel: filesystems/proc, MemAvailable",
    touches="the programs that are ended",
)
