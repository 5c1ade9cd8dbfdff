"""A governor that follows the load clocks up late, again and again, for tasks of some hundred
ms.
"""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.frequency import policies, share

_NAMES = ("performance", "powersave", "ondemand", "conservative", "schedutil", "userspace")
#: Their `powersave` uses the whole range of clocks; the energy preference decides (kernel:
#: intel_pstate).
_AUTONOMOUS = ("intel_pstate", "amd-pstate-epp")


def _look(machine: Machine) -> Outcome:
    tree, every = machine.tree, policies(machine.tree, "scaling_governor")
    chosen = {
        policy: (
            tree.choice(f"{policy}/scaling_governor", _NAMES),
            tree.text(f"{policy}/scaling_driver"),
        )
        for policy in every
    }
    slow = [policy for policy in every if not _is_fast(*chosen[policy])]
    governor, driver = chosen[(slow or every)[0]]
    what = f"governor: {governor} of {driver[:40]}"
    if not slow:
        return Fine(what)
    return Problem(
        f"{what}{share(slow, every)}",
        f"/{slow[0]}/scaling_governor",
        command="cpupower frequency-set -g performance",
    )


def _is_fast(governor: str, driver: str) -> bool:
    return governor == "performance" or (governor == "powersave" and driver in _AUTONOMOUS)


CHECK = Check(
    _look,
    group="cpu",
    concerns="cpus",
    better="performance",
    source="kernel: admin-guide/pm/cpufreq; ClickHouse: usage recommendations; Redpanda: tuner cpu",
    touches="power and heat, also when idle",
)
