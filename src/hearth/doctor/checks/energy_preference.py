"""The processor itself chooses its clock by this hint: towards power it clocks up late and low."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem

_FILE = "sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference"
_SAVING = ("power", "balance_power")
_ALL = ("default", "performance", "balance_performance", *_SAVING)


def _look(machine: Machine) -> Outcome:
    chosen = machine.tree.choice(_FILE, _ALL)
    if chosen not in _SAVING:
        return Fine(f"energy preference: {chosen}")
    return Problem(
        f"energy preference: {chosen}",
        f"/{_FILE}",
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
