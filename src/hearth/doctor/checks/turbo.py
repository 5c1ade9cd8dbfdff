"""Without turbo a stage's last task, alone on its core, runs no faster than all together."""

from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem

_INTEL = "sys/devices/system/cpu/intel_pstate/no_turbo"
_OTHERS = "sys/devices/system/cpu/cpufreq/boost"


def _look(machine: Machine) -> Outcome:
    if machine.tree.has(_INTEL):
        path, off, on = _INTEL, 1, "0"
    else:
        path, off, on = _OTHERS, 0, "1"
    if machine.tree.number(path, 1) != off:
        return Fine("turbo: on")
    return Problem("turbo: off", f"/{path}", changes=(Change(path, on),))


CHECK = Check(
    _look,
    group="cpu",
    concerns="cpus",
    better="on; off only for measurements that must not depend on heat",
    source="kernel: admin-guide/pm/intel_pstate and cpufreq; ClickHouse: usage recommendations",
    touches="power and heat; run times scatter more",
)
