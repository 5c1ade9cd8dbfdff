"""A limit below the processor's highest clock slows every task down until it is lifted."""

from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem
from hearth.doctor.frequency import CPUS, policies, share

_PERCENT = f"{CPUS}/intel_pstate/max_perf_pct"
#: In kHz.
_MOST = 100_000_000


def _look(machine: Machine) -> Outcome:
    tree = machine.tree
    if tree.has(_PERCENT) and (percent := tree.number(_PERCENT, 100)) < 100:
        what = f"clocks are limited to {percent} % of the highest"
        return Problem(what, f"/{_PERCENT}", changes=(Change(_PERCENT, "100"),))
    every = policies(tree, "scaling_max_freq")
    highest = {policy: tree.number(f"{policy}/cpuinfo_max_freq", _MOST) for policy in every}
    now = {policy: tree.number(f"{policy}/scaling_max_freq", _MOST) for policy in every}
    cut = [policy for policy in every if now[policy] < highest[policy]]
    if not cut:
        return Fine("no clock is limited below what the processor reaches")
    lowest = min(cut, key=lambda policy: now[policy] / highest[policy])
    return Problem(
        f"clocks are limited to {now[lowest] / 1e6:.1f} of {highest[lowest] / 1e6:.1f} GHz"
        f"{share(cut, every)}",
        f"/{lowest}/scaling_max_freq",
        changes=tuple(Change(f"{policy}/scaling_max_freq", str(highest[policy])) for policy in cut),
    )


CHECK = Check(
    _look,
    group="cpu",
    concerns="cpus",
    better="no limit: the processor itself keeps within its power and heat",
    source="kernel: admin-guide/pm/cpufreq, scaling_max_freq; admin-guide/pm/intel_pstate; tuned: "
    "profile throughput-performance, min_perf_pct",
    touches="power and heat",
)
