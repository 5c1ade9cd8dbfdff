"""With `always`, a thread that touches new memory waits while the kernel moves pages to make
room.
"""

from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem

_FILE = "sys/kernel/mm/transparent_hugepage/defrag"
_ON = "sys/kernel/mm/transparent_hugepage/enabled"
_CHOICES = ("always", "defer", "defer+madvise", "madvise", "never")


def _look(machine: Machine) -> Outcome:
    chosen = machine.tree.choice(_FILE, _CHOICES)
    enabled = machine.tree.choice(_ON, ("always", "madvise", "never"))
    if chosen != "always" or enabled == "never":
        return Fine(f"defragmentation for huge pages: {chosen}")
    change = Change(_FILE, "defer+madvise")
    return Problem("defragmentation for huge pages: always", f"/{_FILE}", changes=(change,))


CHECK = Check(
    _look,
    group="memory",
    concerns="heaps",
    better="defer+madvise: only programs that ask wait, for others a kernel thread makes room",
    source="kernel: admin-guide/mm/transhuge",
    touches="how soon programs that do not ask get huge pages",
)
