"""A governor that follows the load clocks up late, again and again, for tasks of some hundred
ms.
"""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem

_FOLDER = "sys/devices/system/cpu"
_NAMES = ("performance", "powersave", "ondemand", "conservative", "schedutil", "userspace")
#: Their `powersave` uses the whole range of clocks; the energy preference decides (kernel:
#: intel_pstate).
_AUTONOMOUS = ("intel_pstate", "amd-pstate-epp")


def _look(machine: Machine) -> Outcome:
    policy = _first(machine)
    governor = machine.tree.choice(f"{policy}/scaling_governor", _NAMES)
    driver = machine.tree.text(f"{policy}/scaling_driver")
    if governor == "performance" or (governor == "powersave" and driver in _AUTONOMOUS):
        return Fine(f"governor: {governor} of {driver[:40]}")
    return Problem(
        f"governor: {governor} of {driver[:40]}",
        f"/{policy}/scaling_governor",
        command="cpupower frequency-set -g performance",
    )


def _first(machine: Machine) -> str:
    if machine.tree.has(f"{_FOLDER}/cpufreq"):
        for name in machine.tree.names(f"{_FOLDER}/cpufreq", r"policy\d{1,6}"):
            return f"{_FOLDER}/cpufreq/{name}"
    return f"{_FOLDER}/cpu0/cpufreq"


CHECK = Check(
    _look,
    group="cpu",
    concerns="cpus",
    better="performance",
    source="kernel: admin-guide/pm/cpufreq; ClickHouse: usage recommendations; Redpanda: tuner cpu",
    touches="power and heat, also when idle",
)
