"""Heaps of many gigabytes miss in the TLB less with huge pages; `never` keeps the JVM from
asking.
"""

from hearth.base.sizes import show_mb
from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem

_FILE = "sys/kernel/mm/transparent_hugepage/enabled"
#: Ours: the page tables of a smaller heap take 32 MB or less.
_FROM_MB = 16 << 10


def _look(machine: Machine) -> Outcome:
    chosen = machine.tree.choice(_FILE, ("always", "madvise", "never"))
    if chosen != "never":
        return Fine(f"transparent huge pages: {chosen}")
    heap_mb = max(each.heap_mb for each in machine.the_plan().executors)
    if heap_mb < _FROM_MB:
        return Fine(f"transparent huge pages: never, with heaps of at most {show_mb(heap_mb)}")
    return Problem(
        f"transparent huge pages: never, with heaps of {show_mb(heap_mb)}",
        f"/{_FILE}",
        changes=(Change(_FILE, "madvise"),),
    )


CHECK = Check(
    _look,
    group="memory",
    concerns="heaps",
    better="madvise: programs that ask for huge pages get them, such as a JVM with "
    "-XX:+UseTransparentHugePages",
    source="kernel: admin-guide/mm/transhuge; Oracle: java command, -XX:+UseTransparentHugePages",
    touches="every program that asks for huge pages by madvise(2); no other",
)
