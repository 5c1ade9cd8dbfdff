"""A kernel thread compares pages to share equal ones; heaps that change have none."""

from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem

_FILE = "sys/kernel/mm/ksm/run"


def _look(machine: Machine) -> Outcome:
    value = machine.tree.number(_FILE, 2)
    if value != 1:
        return Fine(f"same-page merging: {value}")
    return Problem("same-page merging runs", f"/{_FILE}", changes=(Change(_FILE, "0"),))


CHECK = Check(
    _look,
    group="memory",
    concerns="heaps",
    better="0, unless this machine hosts virtual machines that need it to fit",
    source="kernel: admin-guide/mm/ksm",
    touches="virtual machines use more memory as their pages change",
)
