"""A stage ends with its last task: one on a slow core is the straggler of every stage."""

from hearth.base.ids import brief_ids, parse_ids, show_ids
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem

#: Ours: cores of one kind differ by their best ones' extra clock, some percent.
_ALIKE = 0.85
#: What the topology calls a kind, and the files that name it.
_TOLD_BY = {
    "cpu_": "/sys/devices/cpu_*/cpus",
    "arm_": "/proc/cpuinfo (CPU part)",
    "capacity_": "/sys/devices/system/cpu/cpu*/cpu_capacity",
    "": "hearth topology",
}
_ONE_KIND = (
    "taskset with the CPUs of one kind before hearth submit; measure both with hearth compare"
)


def _look(machine: Machine) -> Outcome:
    topology = machine.the_topology()
    kinds: dict[str, set[int]] = {}
    for core in topology.cores:
        ours = set(parse_ids(core.cpus)) & topology.usable_cpus
        if ours and core.kind is not None:
            kinds.setdefault(core.kind, set()).update(ours)
    if len(kinds) < 2:
        return _by_clock(machine)
    told = next(name for name in _TOLD_BY if all(kind.startswith(name) for kind in kinds))
    slow = {cpu for one in topology.cores if one.efficient for cpu in parse_ids(one.cpus)}
    if told == "capacity_" and not slow & topology.usable_cpus:
        return Fine("the kernel's capacities of the cores differ by less than 15 %")
    listed = "; ".join(
        f"{kind[:40]}{', slower' if cpus <= slow else ''}: CPUs {brief_ids(show_ids(cpus))}"
        for kind, cpus in sorted(kinds.items())
    )
    return Problem(f"cores of several kinds: {listed}", _TOLD_BY[told], command=_ONE_KIND)


def _by_clock(machine: Machine) -> Outcome:
    """Judge by the highest clock of each CPU, where the kernel names no kinds."""
    tree = machine.tree
    clocks: dict[int, int] = {}
    for cpu in machine.the_topology().usable_cpus:
        path = f"sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq"
        if tree.has(path):
            clocks[cpu] = tree.number(path, 100_000_000)
    if not clocks or min(clocks.values()) >= _ALIKE * max(clocks.values()):
        return Fine("the kernel reports cores of one kind only")
    slow = show_ids(cpu for cpu, clock in clocks.items() if clock < _ALIKE * max(clocks.values()))
    low, high = min(clocks.values()) / 1e6, max(clocks.values()) / 1e6
    return Problem(
        f"CPUs {brief_ids(slow)} reach {low:.1f} GHz at most, others up to {high:.1f} GHz",
        "/sys/devices/system/cpu/cpu*/cpufreq/cpuinfo_max_freq",
        command=_ONE_KIND,
    )


CHECK = Check(
    _look,
    group="cpu",
    concerns="cpus",
    better="tasks on cores of one kind, or smaller tasks, which even out",
    source="kernel: admin-guide/pm/intel_pstate (hybrid processors); Spark: tuning guide, level "
    "of parallelism",
    touches="the other cores are left to other programs",
)
