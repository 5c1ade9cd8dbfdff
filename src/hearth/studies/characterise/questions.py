"""The questions of the published studies, each as the arms in which one application is run here.

Pure: what this machine is and has comes in as `Surroundings`; what it cannot answer carries the
reason. Baig 2018: sweep, nodes. Awan 2016: kinds, rates, memory, smt, prefetchers, bandwidth,
slots, executors. Kyong 2017: cores.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hearth.base.errors import UserError
from hearth.base.ids import parse_ids, show_ids
from hearth.base.sizes import counted
from hearth.machine.plan import Plan
from hearth.machine.topology import NumaNode, Topology
from hearth.studies.engine.arms import UNBOUND, Arm
from hearth.workloads.catalogue import Job

#: Executors of the same total cores and memory (Awan 2016).
EXECUTORS = (1, 2, 4, 6)
#: Events a second (Awan 2016).
RATES = (10, 100, 1000, 10_000)
#: The prefetchers that are off, beside all on (Awan 2016, its seven configurations).
PREFETCHERS_OFF = {
    "l1-next-line": ("l1-next-line",),
    "l1-ip": ("l1-ip",),
    "both L1": ("l1-next-line", "l1-ip"),
    "l2-adjacent-line": ("l2-adjacent-line",),
    "l2-hardware": ("l2-hardware",),
    "both L2": ("l2-adjacent-line", "l2-hardware"),
}
#: The streaming job that corresponds to a batch job.
COUNTERPARTS = {
    "word-count": "streaming-network-word-count",
    "grep": "streaming-network-grep",
    "k-means": "streaming-kmeans",
    "logistic-regression": "streaming-logistic-regression",
}
#: Cores of one node that are taken one after the other (Awan 2016, whose nodes have 12).
_LADDER = 12
#: Executors on a node, where several are tried: on nodes of 48 hardware threads Baig 2018 found 1
#: to 6 best, with 12 to 36 task slots in all.
_ON_A_NODE = (1, 2, 3, 4, 6)
#: A configuration that leaves more of the CPUs idle than this loses by its size alone.
_LEAST_SHARE_OF_CPUS = 4


@dataclass(frozen=True)
class Size:
    """A request for a plan: fixed executors, cores and heap, if any, and CPUs to leave alone."""

    executors: int | None = None
    cores: int | None = None
    occupied: str | None = None
    heap_mb: int | None = None


@dataclass(frozen=True)
class Surroundings:
    """The machine and settings that the questions depend on.

    topology: of this machine. plans: the plan for each of some sizes, or why none fits: asked once
    for all of a question. job: the workload; None for the user's own application. The reasons say
    why something is not possible here.
    """

    topology: Topology
    plans: Callable[[tuple[Size, ...]], Sequence[Plan | UserError]]
    job: Job | None = None
    no_numactl: str | None = None
    no_prefetchers: str | None = None
    no_bandwidth: str | None = None
    no_counters: str | None = None
    sweep: tuple[tuple[int, int], ...] = ()
    heap_fixed: bool = False
    search_nodes: bool = False
    smt_ladder: bool = False

    @property
    def cpus(self) -> list[int]:
        return sorted(self.topology.usable_cpus)

    @property
    def nodes(self) -> list[tuple[NumaNode, list[int]]]:
        """The nodes whose memory may be used, each with its usable CPUs."""
        cpus = self.topology.usable_cpus
        return [
            (node, sorted(cpus & set(parse_ids(node.cpus))))
            for node in self.topology.usable_nodes
            if node.memory_bytes
        ]

    @property
    def cores(self) -> list[list[int]]:
        """The usable hardware threads of each core that has one."""
        cpus = self.topology.usable_cpus
        threads = [sorted(cpus & set(parse_ids(core.cpus))) for core in self.topology.cores]
        return [core for core in threads if core]


@dataclass(frozen=True)
class Question:
    """One question: the arms whose runs answer it, or why it cannot be answered here.

    The first arm is the baseline. notes: arms that the study had and that cannot be run here.
    """

    key: str
    title: str
    source: str
    arms: tuple[Arm, ...] = ()
    unanswerable: str | None = None
    notes: tuple[str, ...] = ()


def questions(machine: Surroundings, keys: Sequence[str]) -> list[Question]:
    """Return those named, in the order of `KEYS`; raise UserError for one that is unknown."""
    for key in keys:
        if key not in KEYS:
            raise UserError(f"--questions: '{key}' is not a question: use {', '.join(KEYS)}")
    return [_ASKED[key](machine) for key in KEYS if key in keys]


def _kinds(machine: Surroundings) -> Question:
    question = Question("kinds", "Does streaming use the machine like batch?", "Awan 2016")
    if machine.job is None:
        return _not(
            question, "it needs one of hearth's workloads: hearth lab characterise word-count"
        )
    batch = {stream: job for job, stream in COUNTERPARTS.items()} | {j: j for j in COUNTERPARTS}
    if machine.job.name not in batch:
        pairs = ", ".join(COUNTERPARTS)
        return _not(question, f"{machine.job.name} does not exist in both kinds; these do: {pairs}")
    job = batch[machine.job.name]
    sides = {"batch": job, "streaming": COUNTERPARTS[job]}
    # The user's parameters are of the job that was named.
    arms = (Arm(kind, job=None if one == machine.job.name else one) for kind, one in sides.items())
    return replace(question, arms=tuple(arms))


def _rates(machine: Surroundings) -> Question:
    question = Question("rates", "What does the event rate change?", "Awan 2016")
    if machine.job is None or machine.job.stream is None:
        job = "streaming-network-word-count"
        return _not(question, f"it needs a streaming workload: hearth lab characterise {job}")
    arms = tuple(Arm(f"{rate}/s", parameters=(("rate", str(rate)),)) for rate in RATES)
    return replace(question, arms=arms)


def _memory(machine: Surroundings) -> Question:
    question = Question("memory", "What does memory on another node cost?", "Awan 2016")
    nodes = [node for node, _ in machine.nodes]
    with_cpus = [(node, cpus) for node, cpus in machine.nodes if cpus]
    if len(nodes) < 2 or not with_cpus:
        return _not(question, "only one NUMA node may be used here: all memory is local")
    if machine.no_numactl is not None:
        return _not(question, machine.no_numactl)
    first, cpus = with_cpus[0]
    others = [node for node in nodes if node.id != first.id]
    by_distance = {first.distances.get(str(node.id), 0): node for node in reversed(others)}
    remote = [by_distance[distance] for distance in sorted(by_distance)]
    arms = [_on(cpus, first, "local")]
    arms += [_on(cpus, node, f"node {node.id}") for node in remote]
    note = f"all CPUs of node {first.id}; one other node at each distance"
    return replace(question, arms=tuple(arms), notes=(note,))


def _on(cpus: Sequence[int], memory_of: NumaNode, name: str) -> Arm:
    """Return a strict arm (--membind): a run whose memory does not fit there fails, and says so."""
    prefix = ("numactl", f"--physcpubind={show_ids(cpus)}", f"--membind={memory_of.id}")
    return Arm(name, master="local[*]", prefix=prefix)


def _cores(machine: Surroundings) -> Question:
    """Ask it of the whole JVM: taskset limits its collector's threads too, local[n] only tasks."""
    question = Question("cores", "How far does one JVM scale?", "Kyong 2017")
    cores = machine.cores
    if len(cores) < 2:
        return _not(question, "only one core may be used here")
    numbers = sorted({*(1 << n for n in range(len(cores).bit_length())), len(cores)})
    return replace(
        question, arms=tuple(_restricted(counted(n, "core"), cores[:n]) for n in numbers)
    )


def _smt(machine: Surroundings) -> Question:
    question = Question("smt", "Does more than one thread per core pay?", "Awan 2016")
    cores = machine.cores
    if all(len(core) < 2 for core in cores):
        return _not(question, "no core has a second hardware thread that may be used here")
    if machine.smt_ladder:
        return _smt_ladder(machine, question)
    arms = [
        _restricted("one thread", [core[:1] for core in cores]),
        _restricted("all threads", cores),
    ]
    if len(cores) < 2:
        note = "only one core may be used: the effectiveness (Awan 2016, formula 3) needs two"
        return replace(question, arms=tuple(arms), notes=(note,))
    half = cores[: len(cores) // 2]
    arms += [
        _restricted("half the cores", [core[:1] for core in half]),
        _restricted("half the cores, all threads", half),
    ]
    return replace(question, arms=tuple(arms))


def _smt_ladder(machine: Surroundings, question: Question) -> Question:
    """Ask it of 1 to 12 cores of one node, with its memory: `2x1` is two cores, one thread each."""
    if machine.no_numactl is not None:
        return _not(question, machine.no_numactl)
    node, cpus = next((node, cpus) for node, cpus in machine.nodes if cpus)
    cores = [core for core in machine.cores if set(core) <= set(cpus)][:_LADDER]
    arms = []
    for number in range(1, len(cores) + 1):
        taken = cores[:number]
        threads = max(len(core) for core in taken)
        of_each = dict.fromkeys((1, threads))
        arms += [
            _on([cpu for core in taken for cpu in core[:n]], node, f"{number}x{n}") for n in of_each
        ]
    note = f"cores x threads of each, of node {node.id}, with its memory"
    return replace(question, arms=tuple(arms), notes=(note,))


def _restricted(name: str, cores: Iterable[Sequence[int]]) -> Arm:
    cpus = show_ids(cpu for core in cores for cpu in core)
    return Arm(name, master="local[*]", prefix=("taskset", "--cpu-list", cpus))


def _prefetchers(machine: Surroundings) -> Question:
    question = Question("prefetchers", "Do the data prefetchers help?", "Awan 2016")
    if machine.no_prefetchers is not None:
        return _not(question, machine.no_prefetchers)
    arms = [Arm("all on", prefetchers=())]
    arms += [Arm(f"{name} off", prefetchers=off) for name, off in PREFETCHERS_OFF.items()]
    return replace(question, arms=tuple(arms))


def _bandwidth(machine: Surroundings) -> Question:
    question = Question("bandwidth", "How much of the memory bandwidth is used?", "Awan 2016")
    if machine.no_bandwidth is not None:
        return _not(question, machine.no_bandwidth)
    return replace(question, arms=(Arm("planned"),))


def _slots(machine: Surroundings) -> Question:
    question = Question("slots", "What do the cores wait for?", "Awan 2016")
    if machine.no_counters is not None:
        return _not(question, machine.no_counters)
    return replace(question, arms=(Arm("planned"),))


def _executors(machine: Surroundings) -> Question:
    question = Question(
        "executors", "How many executors for the same cores and memory?", "Awan 2016"
    )
    cpus = len(machine.cpus)
    counts, notes = _even_counts(cpus)
    if len(counts) < 2:
        return _not(question, f"{cpus} CPU is allowed here: two executors need two")
    slots = math.lcm(*counts) * (cpus // math.lcm(*counts))
    plans = machine.plans(tuple(Size(n, slots // n) for n in counts))
    refused = [plan for plan in plans if isinstance(plan, UserError)]
    if refused:
        return _not(question, f"no plan: {refused[0]}")
    total_mb = min(n * plan.least_heap_mb for n, plan in zip(counts, plans, strict=True)
                   if not isinstance(plan, UserError))  # fmt: skip
    arms = [_sized(n, slots // n, total_mb // n) for n in counts]
    notes.append(f"{slots} task slots and {total_mb} MiB of heap in all")
    return replace(question, arms=tuple(arms), notes=tuple(notes))


def _even_counts(cpus: int) -> tuple[list[int], list[str]]:
    """Return those of EXECUTORS that can share the CPUs evenly, and why not the others."""
    counts = [n for n in EXECUTORS if n <= cpus]
    notes = [f"{n} executors need {n} CPUs: {cpus} are allowed" for n in EXECUTORS if n > cpus]
    while math.lcm(*counts) > cpus:
        last = counts.pop()
        shown = ", ".join(map(str, counts))
        notes.append(f"{last} executors cannot share {cpus} CPUs as evenly as {shown} can")
    return counts, notes


def _sized(executors: int, cores: int, heap_mb: int) -> Arm:
    words = ("--memory", f"{heap_mb}m")
    return Arm(f"{executors}x{cores}", words, master=f"local-numa[{executors}x{cores}]")


def _sweep(machine: Surroundings) -> Question:
    question = Question(
        "sweep", "Which executors x cores is fastest, and why are others slower?", "Baig 2018"
    )
    cpus = len(machine.cpus)
    cells = machine.sweep or tuple(
        (executors, cores)
        for executors in steps(cpus)
        for cores in steps(cpus)
        if cpus <= executors * cores * _LEAST_SHARE_OF_CPUS and executors * cores <= cpus
    )
    plans = machine.plans(tuple(Size(executors, cores) for executors, cores in cells))
    notes = [f"{_cell(cell)}: {plan}" for cell, plan in zip(cells, plans, strict=True)
             if isinstance(plan, UserError)]  # fmt: skip
    planned = {cell: plan.least_heap_mb for cell, plan in zip(cells, plans, strict=True)
               if not isinstance(plan, UserError)}  # fmt: skip
    if len(planned) < 2:
        return replace(_not(question, f"{cpus} CPUs leave no choice"), notes=tuple(notes))
    if machine.heap_fixed:
        arms = [Arm(_cell(cell), master=f"local-numa[{_cell(cell)}]") for cell in planned]
        notes.append("the heap of each executor is the one that you set")
    else:
        total_mb, refused = _equal_total(machine, planned)
        arms = [_sized(*cell, total_mb // cell[0]) for cell in planned if cell not in refused]
        notes += [f"{_cell(cell)}: {why}" for cell, why in refused.items()]
        notes.append(f"{total_mb} MiB of heap in all, divided by the number of executors")
    return replace(question, arms=tuple(arms), notes=tuple(notes))


def _cell(cell: tuple[int, int]) -> str:
    return f"{cell[0]}x{cell[1]}"


def _equal_total(
    machine: Surroundings, planned: Mapping[tuple[int, int], int]
) -> tuple[int, dict[tuple[int, int], UserError]]:
    """Return the largest heap in all, in MiB, that most cells can divide; why the others cannot.

    planned: the heap of an executor in each cell's own plan. No more is tried than the cell that
    has most in all, and less in tenths of that.
    """
    most = max(executors * heap_mb for (executors, _), heap_mb in planned.items())
    totals = [most * tenths // 10 for tenths in range(10, 0, -1)]
    sizes = [Size(*cell, heap_mb=total // cell[0]) for total in totals for cell in planned]
    answers = iter(machine.plans(tuple(sizes)))
    refused = {total: {cell: plan for cell, plan in zip(planned, answers, strict=False)
                       if isinstance(plan, UserError)} for total in totals}  # fmt: skip
    total = min(totals, key=lambda total: (len(refused[total]), -total))
    return total, refused[total]


def steps(most: int) -> list[int]:
    """Return 1, 2, 3, 4, 6, 8, 12, ...: powers of two and their halves more, up to a limit."""
    powers = [1 << n for n in range(most.bit_length())]
    return sorted(n for n in {*powers, *(3 * power for power in powers)} if n <= most)


def cells_of_a_node(cpus: int) -> list[tuple[int, int]]:
    """Return executors x cores on a node, at most one core for each CPU.

    Both are divisors of its CPUs: on nodes of 48 hardware threads, those of Baig's table II.
    """
    divisors = [n for n in range(1, cpus + 1) if cpus % n == 0]
    return [(each, cores) for each in divisors for cores in divisors if each * cores <= cpus]


def _nodes(machine: Surroundings) -> Question:
    question = Question("nodes", "What does binding to 1, 2, ... nodes gain?", "Baig 2018")
    nodes = [cpus for _, cpus in machine.nodes if cpus]
    if len(nodes) < 2:
        return _not(question, "only one NUMA node with CPUs may be used here: nothing to bind to")
    tried = _on_nodes(machine, nodes)
    used = [[cpu for cpus in nodes[:number] for cpu in cpus] for number, _ in tried]
    rest = [show_ids(set(machine.cpus) - set(cpus)) or None for cpus in used]
    plans = machine.plans(
        tuple(replace(size, occupied=cpus) for (_, size), cpus in zip(tried, rest, strict=True))
    )
    arms: list[Arm] = []
    notes = []
    for (number, size), cpus, plan in zip(tried, used, plans, strict=True):
        shape = "" if size == Size() else f", {size.executors}x{size.cores}"
        where = counted(number, "node") + shape
        if isinstance(plan, UserError):
            notes.append(f"{where}: {plan}")
        elif plan.is_native and size == Size():
            notes.append(f"{where}: the plan is native: nothing is bound")
        else:
            arms += _bound_and_not(plan, number, cpus)
    if not arms:
        return replace(_not(question, "no number of nodes has a plan"), notes=tuple(notes))
    return replace(question, arms=tuple(arms), notes=tuple(notes))


def _on_nodes(machine: Surroundings, nodes: Sequence[list[int]]) -> list[tuple[int, Size]]:
    """Return each number of nodes with the sizes that are tried on so many: the plan's own, or,
    searching, several.
    """
    tried = []
    for number in range(1, len(nodes) + 1):
        cpus = min(len(of_node) for of_node in nodes[:number])
        cells = [cell for cell in cells_of_a_node(cpus) if cell[0] in _ON_A_NODE
                 and cpus <= cell[0] * cell[1] * _LEAST_SHARE_OF_CPUS]  # fmt: skip
        sizes = [Size(each * number, cores) for each, cores in cells]
        tried += [(number, size) for size in (sizes if machine.search_nodes else [Size()])]
    return tried


def _bound_and_not(plan: Plan, number: int, cpus: list[int]) -> list[Arm]:
    """Return the same executors, left to the kernel on the whole machine (NB), and bound (1B)."""
    size = f"{len(plan.executors)}x{plan.executors[0].task_slots}"
    words = ("--memory", f"{plan.least_heap_mb}m")
    master = f"local-numa[{size}]"
    prefix = ("taskset", "--cpu-list", show_ids(cpus))
    return [
        Arm(f"{number}NB {size}", (*words, *UNBOUND), master=master),
        Arm(f"{number}B {size}", words, master=master, prefix=prefix),
    ]


def _not(question: Question, reason: str) -> Question:
    return replace(question, unanswerable=reason)


_ASKED: dict[str, Callable[[Surroundings], Question]] = {
    "executors": _executors,
    "sweep": _sweep,
    "nodes": _nodes,
    "memory": _memory,
    "cores": _cores,
    "smt": _smt,
    "prefetchers": _prefetchers,
    "bandwidth": _bandwidth,
    "slots": _slots,
    "kinds": _kinds,
    "rates": _rates,
}
KEYS = tuple(_ASKED)
