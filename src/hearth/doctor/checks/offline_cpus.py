"""CPUs that are there and switched off run no tasks."""

from hearth.base.ids import brief_ids, show_ids
from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem

_FOLDER = "sys/devices/system/cpu"


def _look(machine: Machine) -> Outcome:
    tree = machine.tree
    off = tree.ids(f"{_FOLDER}/present") - tree.ids(f"{_FOLDER}/online")
    if tree.has(f"{_FOLDER}/smt/control") and tree.text(f"{_FOLDER}/smt/control") in (
        "off",
        "forceoff",
    ):
        return Fine("CPUs are offline because SMT is off")
    if not off:
        return Fine("all CPUs are online")
    return Problem(
        f"offline CPUs: {brief_ids(show_ids(off))}",
        f"/{_FOLDER}/online",
        changes=tuple(Change(f"{_FOLDER}/cpu{cpu}/online", "1") for cpu in sorted(off)),
    )


CHECK = Check(
    _look,
    group="cpu",
    concerns="cpus",
    better="all online, unless one is faulty",
    source="kernel: core-api/cpu_hotplug",
    touches="power; a CPU that was switched off because it is faulty",
)
