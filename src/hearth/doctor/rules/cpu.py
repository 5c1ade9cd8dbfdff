"""CPUs: which run, how fast they are clocked, and what takes time from them."""

import re

from hearth.base.ids import brief_ids, named, parse_ids, show_ids
from hearth.base.sizes import counted
from hearth.doctor.cgroups import need_groups
from hearth.doctor.machine import Machine
from hearth.doctor.rule import Fine, Outcome, Problem, Rule, published
from hearth.machine.switch import Change
from hearth.machine.tree import NotSeen, Tree

_CPUS = "sys/devices/system/cpu"
_SMT = f"{_CPUS}/smt/control"
_INTEL_TURBO, _BOOST = f"{_CPUS}/intel_pstate/no_turbo", f"{_CPUS}/cpufreq/boost"
_CLOCK = "sys/devices/system/clocksource/clocksource0"
_CPUINFO = "proc/cpuinfo"
_STAT = "proc/stat"

_GOVERNORS = ("performance", "powersave", "ondemand", "conservative", "schedutil", "userspace")
#: Their `powersave` uses the whole range of clocks; the energy preference decides (kernel:
#: intel_pstate).
_AUTONOMOUS = ("intel_pstate", "amd-pstate-epp")
#: Firmware's registers have four bytes at most.
_MOST_PERFORMANCE = (1 << 32) - 1
#: Ours: hosts with more threads than this on one node are rare.
_MOST_OF_ONE_NODE = 64
#: Ours, of the time that CPUs were not idle; and a minute of work, in hundredths of a second.
_MOST_STOLEN, _LEAST_BUSY = 0.05, 6000
_SLOW_CLOCKS = ("hpet", "acpi_pm", "jiffies", "refined-jiffies", "xen")
_FAST_CLOCKS = (
    "tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "timebase",
    "riscv_clocksource",
)  # fmt: skip
#: Ours: cores of one kind differ by their best ones' extra clock, some percent.
_SAME_KIND_FROM = 0.85
#: What the topology calls a kind, and the files that name it.
_TOLD_BY = {
    "cpu_": "/sys/devices/cpu_*/cpus",
    "arm_": f"/{_CPUINFO} (CPU part)",
    "capacity_": f"/{_CPUS}/cpu*/cpu_capacity",
    "": "hearth topology",
}


def _governor(machine: Machine) -> Outcome:
    tree, every = machine.tree, _policies(machine.tree, "scaling_governor")
    chosen = {
        policy: (
            tree.choice(f"{policy}/scaling_governor", _GOVERNORS),
            tree.text(f"{policy}/scaling_driver"),
        )
        for policy in every
    }
    slow = [policy for policy in every if not _is_fast(*chosen[policy])]
    governor, driver = chosen[(slow or every)[0]]
    seen = f"governor: {governor} of {driver[:40]}"
    if not slow:
        return Fine(seen)
    if len(slow) < len(every):
        seen += f" (of {len(slow)} of {len(every)} groups of CPUs)"
    files = [f"{policy}/scaling_governor" for policy in slow]
    return Problem(
        seen,
        changes=tuple(Change(file, "performance") for file in files),
        files="/" + re.sub(r"\d+", "*", files[0]),
        reads=f"/{files[0]}",
    )


def _is_fast(governor: str, driver: str) -> bool:
    return governor == "performance" or (governor == "powersave" and driver in _AUTONOMOUS)


def _policies(tree: Tree, file: str) -> list[str]:
    """Return the folders of all policies (admin-guide/pm/cpufreq) that have a file, by number.

    Kernels before 3.17 have one below each CPU only. Raises NotSeen for none.
    """
    shared = f"{_CPUS}/cpufreq"
    names = tree.names(shared, r"policy\d{1,6}") if tree.has(shared) else []
    folders = [f"{shared}/{name}" for name in names]
    if not folders:
        folders = [f"{_CPUS}/{name}/cpufreq" for name in tree.names(_CPUS, r"cpu\d{1,6}")]
    used = [one for one in folders if tree.has(f"{one}/{file}") and _is_used(tree, one)]
    if not used:
        raise NotSeen(f"there is no /{_CPUS}/cpu*/cpufreq/{file}")
    return sorted(used, key=lambda folder: int("".join(filter(str.isdigit, folder))))


def _is_used(tree: Tree, folder: str) -> bool:
    """Return whether a CPU is clocked by it; the files of a policy of offline CPUs are not read."""
    affected = f"{folder}/affected_cpus"
    try:
        return not tree.has(affected) or bool(tree.text(affected).strip())
    except NotSeen:
        return False


def _turbo(machine: Machine) -> Outcome:
    if machine.tree.has(_INTEL_TURBO):
        path, off, on = _INTEL_TURBO, 1, "0"
    else:
        path, off, on = _BOOST, 0, "1"
    if machine.tree.number(path, 1) != off:
        return Fine("turbo: on")
    above_nominal = _above_nominal(machine.tree) if path == _BOOST else {}
    above = [cpu for cpu, is_above in above_nominal.items() if is_above]
    if above_nominal and not above:
        return Fine("turbo: off, and no CPU's performance goes above its nominal one")
    more = f"; with it {named('CPU', above)} could clock higher" if above else ""
    return Problem(f"turbo: off{more}", changes=(Change(path, on),), reads=f"/{path}")


def _above_nominal(tree: Tree) -> dict[int, bool]:
    """Return whether each CPU's highest performance is above its nominal one, as the firmware tells
    (acpi_cppc); nothing where it does not tell of all. Some makers rank cores by it: it says no
    more.
    """
    above = {}
    try:
        for cpu in [int(name[3:]) for name in tree.names(_CPUS, r"cpu\d{1,6}")]:
            folder = f"{_CPUS}/cpu{cpu}/acpi_cppc"
            highest = tree.number(f"{folder}/highest_perf", _MOST_PERFORMANCE)
            nominal = tree.number(f"{folder}/nominal_perf", _MOST_PERFORMANCE)
            if not nominal:
                return {}
            above[cpu] = highest > nominal
    except NotSeen:
        return {}
    return above


def _hardware_threads(machine: Machine) -> Outcome:
    states = ("on", "off", "forceoff", "notsupported", "notimplemented")
    state = machine.tree.choice(_SMT, states)
    if state not in ("off", "forceoff"):
        return Fine(f"SMT: {state}")
    if state == "forceoff":
        return Problem("SMT: forceoff", how="remove nosmt=force from the boot options")
    return Problem("SMT: off", changes=(Change(_SMT, "on"),))


def _isolated_cpus(machine: Machine) -> Outcome:
    ours = machine.tree.ids(f"{_CPUS}/isolated") & machine.require_topology().usable_cpus
    if not ours:
        return Fine("no isolated CPU among those that may be used")
    planned = {cpu for one in machine.require_plan().executors for cpu in parse_ids(one.cpus)}
    seen = f"isolated CPUs: {brief_ids(show_ids(ours))}"
    if ours & planned:
        return Problem(f"{seen}, and the plan's executors run on some of them", "harm")
    return Problem(seen)


def _offline_cpus(machine: Machine) -> Outcome:
    tree = machine.tree
    off = tree.ids(f"{_CPUS}/present") - tree.ids(f"{_CPUS}/online")
    if tree.has(_SMT) and tree.text(_SMT) in ("off", "forceoff"):
        return Fine("CPUs are offline because SMT is off")
    if not off:
        return Fine("all CPUs are online")
    return Problem(
        f"offline CPUs: {brief_ids(show_ids(off))}",
        changes=tuple(Change(f"{_CPUS}/cpu{cpu}/online", "1") for cpu in sorted(off)),
        files=f"/{_CPUS}/cpu*/online",
    )


def _cpu_quota(machine: Machine) -> Outcome:
    quota, cpus = (
        machine.require_topology().allowed.cpu_quota,
        len(machine.require_topology().usable_cpus),
    )
    if quota is None:
        need_groups(machine.tree)
    if quota is None or quota.cpus >= cpus:
        return Fine(f"no CPU quota below the {counted(cpus, 'CPU')} that may be used")
    throttled = quota.throttled_periods
    so_far = f"; used up in {counted(throttled, 'period')} so far" if throttled else ""
    return Problem(f"CPU quota of {quota.cpus:g} on {counted(cpus, 'CPU')}{so_far}")


def _hidden_topology(machine: Machine) -> Outcome:
    is_virtual, nodes = machine.is_virtual(), machine.require_topology().nodes
    if not is_virtual:
        return Fine(f"/{_CPUINFO} names no hypervisor")
    lines = machine.tree.table(_CPUINFO)
    cpus = sum(1 for line in lines if re.match(r"processor\s*:", line))
    if len(nodes) > 1 or cpus <= _MOST_OF_ONE_NODE:
        return Fine(f"a virtual machine; CPUs: {cpus}, nodes: {len(nodes)}")
    return Problem(f"a virtual machine of {cpus} CPUs and one node", "note")


def _stolen_time(machine: Machine) -> Outcome:
    words = machine.tree.table(_STAT)[0].split()
    are_numbers = all(word.isascii() and word.isdigit() for word in words[1:])
    if words[:1] != ["cpu"] or len(words) < 9 or not are_numbers:
        raise NotSeen(f"could not read /{_STAT}: its first line is not that of all CPUs")
    user, nice, system, _idle, _wait, hard, soft, steal = map(int, words[1:9])
    busy = user + nice + system + hard + soft + steal
    if busy < _LEAST_BUSY:
        raise NotSeen("this machine has been busy for less than a minute since it started")
    share = steal / busy
    seen = f"stolen by the host: {share:.1%} of the busy time since the machine started"
    return Fine(seen) if share <= _MOST_STOLEN else Problem(seen)


def _clock_source(machine: Machine) -> Outcome:
    now = machine.tree.choice(f"{_CLOCK}/current_clocksource", (*_SLOW_CLOCKS, *_FAST_CLOCKS))
    if now in _FAST_CLOCKS:
        return Fine(f"clock source: {now}")
    others = machine.tree.text(f"{_CLOCK}/available_clocksource").split()
    better = next((name for name in _FAST_CLOCKS if name in others), None)
    if better is None:
        raise NotSeen(
            f"the clock source is {now}, and /{_CLOCK}/available_clocksource has none "
            "that is faster"
        )
    return Problem(
        f"clock source: {now}, with {better} available",
        changes=(Change(f"{_CLOCK}/current_clocksource", better),),
    )


def _core_kinds(machine: Machine) -> Outcome:
    topology = machine.require_topology()
    kinds: dict[str, set[int]] = {}
    for core in topology.cores:
        cpus = set(parse_ids(core.cpus)) & topology.usable_cpus
        if cpus and core.kind is not None:
            kinds.setdefault(core.kind, set()).update(cpus)
    if len(kinds) < 2:
        return _kinds_by_clock(machine)
    named_by = next(name for name in _TOLD_BY if all(kind.startswith(name) for kind in kinds))
    slow = {cpu for one in topology.cores if one.efficient for cpu in parse_ids(one.cpus)}
    if named_by == "capacity_" and not slow & topology.usable_cpus:
        return Fine("the kernel's capacities of the cores differ by less than 15 %")
    listed = "; ".join(
        f"{kind[:40]}{', slower' if cpus <= slow else ''}: CPUs {brief_ids(show_ids(cpus))}"
        for kind, cpus in sorted(kinds.items())
    )
    return Problem(f"cores of several kinds: {listed}", "note", reads=_TOLD_BY[named_by])


def _kinds_by_clock(machine: Machine) -> Outcome:
    """Judge by the highest clock of each CPU, where the kernel names no kinds."""
    clocks: dict[int, int] = {}
    for cpu in machine.require_topology().usable_cpus:
        path = f"{_CPUS}/cpu{cpu}/cpufreq/cpuinfo_max_freq"
        if machine.tree.has(path):
            clocks[cpu] = machine.tree.number(path, 100_000_000)
    low, high = min(clocks.values(), default=0), max(clocks.values(), default=0)
    if low >= _SAME_KIND_FROM * high:
        return Fine("the kernel reports cores of one kind only")
    slow = show_ids(cpu for cpu, clock in clocks.items() if clock < _SAME_KIND_FROM * high)
    return Problem(
        f"CPUs {brief_ids(slow)} reach {low / 1e6:.1f} GHz at most, others up to "
        f"{high / 1e6:.1f} GHz",
        "note",
    )


CPU = {
    "governor": Rule(
        _governor,
        why="A governor that follows the load clocks up late, again and again, for tasks of some "
        "hundred ms.",
        reads=f"/{_CPUS}/cpufreq/policy*/scaling_governor",
        better="performance",
        source="kernel: admin-guide/pm/cpufreq; ClickHouse: usage recommendations; Redpanda: "
        "tuner cpu",
        touches="power and heat, also when idle",
    ),
    "turbo": Rule(
        _turbo,
        why="Without turbo a stage's last task, alone on its core, runs no faster than all "
        "together.",
        reads=f"/{_INTEL_TURBO}, /{_BOOST}",
        better="on; off only for measurements that must not depend on heat",
        source="kernel: admin-guide/pm/intel_pstate and cpufreq; ClickHouse: usage recommendations",
        touches="power and heat; run times scatter more",
    ),
    "hardware-threads": Rule(
        _hardware_threads,
        why="With SMT off, a core waits for memory instead of running the other thread meanwhile.",
        reads=f"/{_SMT}",
        better="on, unless it is off because threads of strangers share cores (see mitigations of "
        "L1TF and MDS)",
        source="Awan 2016; kernel: admin-guide/hw-vuln",
        worth=published(
            "a second thread made two cores 39.5 % faster, and less beyond four cores (Awan 2016)",
            39.5,
        ),
        touches="safety between programs that do not trust each other",
    ),
    "isolated-cpus": Rule(
        _isolated_cpus,
        why="The kernel's load balancer leaves isolated CPUs alone: all threads of a JVM stay on "
        "the first.",
        reads=f"/{_CPUS}/isolated",
        better="none; leave CPUs to other programs by cpusets, which keep load balancing",
        source="kernel: admin-guide/kernel-parameters, isolcpus",
        touches="the programs that the CPUs were isolated for",
        how="remove isolcpus= from the boot options",
        reboot=True,
    ),
    "offline-cpus": Rule(
        _offline_cpus,
        why="CPUs that are there and switched off run no tasks.",
        reads=f"/{_CPUS}/online",
        better="all online, unless one is faulty",
        source="kernel: core-api/cpu_hotplug",
        touches="power; a CPU that was switched off because it is faulty",
    ),
    "cpu-quota": Rule(
        _cpu_quota,
        why="A quota stops all threads of the group for the rest of a period, a collection's "
        "included.",
        reads="/sys/fs/cgroup",
        better="a cpuset of as many whole CPUs",
        source="kernel: scheduler/sched-bwc",
        touches="what else runs on the CPUs of that cpuset",
        how="a cpuset of as many CPUs instead: docker run --cpuset-cpus, AllowedCPUs= of systemd",
    ),
    "hidden-topology": Rule(
        _hidden_topology,
        why="A large virtual machine that shows one node spreads over nodes of its host without "
        "knowing.",
        reads="/proc/cpuinfo, /sys/devices/system/node",
        better="the nodes of the host, with virtual CPUs and memory bound to them",
        source="Awan 2016 for what remote memory costs; the limit of 64 CPUs is hearth's",
        touches="the virtual machine has to be started again",
        how="give the virtual machine its host's nodes (libvirt: <numa>, numatune; clouds: a "
        "larger or metal type)",
        reboot=True,
    ),
    "stolen-time": Rule(
        _stolen_time,
        why="Time in which a virtual CPU wanted to run and its host ran something else.",
        reads=f"/{_STAT}",
        better="none: as many virtual CPUs as the host has to give",
        source="kernel: filesystems/proc, stat; the limit of 5 % is hearth's",
        touches="other virtual machines of that host",
        how="move the virtual machine, or give it CPUs of its own",
    ),
    "clock-source": Rule(
        _clock_source,
        why="Spark and the JVM ask for the time in every task; some clocks need a system call or "
        "a device.",
        reads=f"/{_CLOCK}",
        better="tsc, or the hypervisor's clock that is read without a system call",
        source="kernel: timers/timekeeping, man 7 vdso; Redpanda: tuner clocksource",
        touches="the kernel may have left tsc because it was unstable: look at dmesg first",
    ),
    "core-kinds": Rule(
        _core_kinds,
        why="A stage ends with its last task: one on a slow core is the straggler of every stage.",
        reads=f"/{_CPUS}/cpu*/cpufreq/cpuinfo_max_freq",
        better="tasks on cores of one kind, or smaller tasks, which even out",
        source="kernel: admin-guide/pm/intel_pstate (hybrid processors); Spark: tuning guide, "
        "level of parallelism",
        touches="the other cores are left to other programs",
        how="taskset with the CPUs of one kind before hearth submit; measure both with hearth "
        "compare",
    ),
}
