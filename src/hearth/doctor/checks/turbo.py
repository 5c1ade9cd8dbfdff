"""Without turbo a stage's last task, alone on its core, runs no faster than all together."""

from hearth.base.ids import named
from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem
from hearth.doctor.frequency import CPUS
from hearth.doctor.tree import NotSeen, Tree

_INTEL = "sys/devices/system/cpu/intel_pstate/no_turbo"
_OTHERS = "sys/devices/system/cpu/cpufreq/boost"
#: A register of the firmware's has four bytes at most.
_MOST = (1 << 32) - 1


def _look(machine: Machine) -> Outcome:
    if machine.tree.has(_INTEL):
        path, off, on = _INTEL, 1, "0"
    else:
        path, off, on = _OTHERS, 0, "1"
    if machine.tree.number(path, 1) != off:
        return Fine("turbo: on")
    above_nominal = _above_nominal(machine.tree) if path == _OTHERS else {}
    above = [cpu for cpu, is_above in above_nominal.items() if is_above]
    if above_nominal and not above:
        return Fine("turbo: off, and no CPU's performance goes above its nominal one")
    more = f"; with it {named('CPU', above)} could clock higher" if above else ""
    return Problem(f"turbo: off{more}", f"/{path}", changes=(Change(path, on),))


def _above_nominal(tree: Tree) -> dict[int, bool]:
    """Return whether each CPU's highest performance is above its nominal one, as the firmware tells
    (acpi_cppc); nothing where it does not tell of all. Some makers rank cores by it: it says no
    more.
    """
    try:
        cpus = [int(name[3:]) for name in tree.names(CPUS, r"cpu\d{1,6}")]
        found = {}
        for cpu in cpus:
            place = f"{CPUS}/cpu{cpu}/acpi_cppc"
            highest = tree.number(f"{place}/highest_perf", _MOST)
            nominal = tree.number(f"{place}/nominal_perf", _MOST)
            if not nominal:
                return {}
            found[cpu] = highest > nominal
    except NotSeen:
        return {}
    return found


CHECK = Check(
    _look,
    group="cpu",
    concerns="cpus",
    better="on; off only for measurements that must not depend on heat",
    source="kernel: admin-guide/pm/intel_pstate and cpufreq; ClickHouse: usage recommendations",
    touches="power and heat; run times scatter more",
)
