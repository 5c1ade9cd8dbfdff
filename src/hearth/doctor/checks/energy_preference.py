"""The processor itself chooses its clock by this hint: towards power it clocks up late and low."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.frequency import policies, share

_FILE = "energy_performance_preference"
_SAVING = ("power", "balance_power")
_ALL = ("default", "performance", "balance_performance", *_SAVING)


def _look(machine: Machine) -> Outcome:
    every = policies(machine.tree, _FILE)
    chosen = {policy: machine.tree.choice(f"{policy}/{_FILE}", _ALL) for policy in every}
    saving = [policy for policy in every if chosen[policy] in _SAVING]
    what = f"energy preference: {chosen[(saving or every)[0]]}"
    if not saving:
        return Fine(what)
    return Problem(
        f"{what}{share(saving, every)}",
        f"/{saving[0]}/{_FILE}",
        command="sh -c 'for f in "
        "/sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference; "
        "do echo performance > $f; done'",
    )


CHECK = Check(
    _look,
    group="cpu",
    concerns="cpus",
    better="performance",
    source="kernel: admin-guide/pm/intel_pstate; tuned: profile throughput-performance",
    touches="power and heat, also when idle",
)
