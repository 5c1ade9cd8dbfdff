"""Heaps of many gigabytes miss in the TLB less with huge pages; `never` keeps the JVM from
asking.
"""

from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem

_FILE = "sys/kernel/mm/transparent_hugepage/enabled"


def _look(machine: Machine) -> Outcome:
    chosen = machine.tree.choice(_FILE, ("always", "madvise", "never"))
    if chosen != "never":
        return Fine(f"transparent huge pages: {chosen}")
    return Problem(
        "transparent huge pages: never", f"/{_FILE}", changes=(Change(_FILE, "madvise"),)
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
