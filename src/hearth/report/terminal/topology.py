"""A machine as a readable tree."""

from collections import Counter
from collections.abc import Sequence
from typing import Generic, TypeVar

from hearth.base.ids import brief_ids, parse_ids, show_ids
from hearth.base.sizes import counted, show_bytes
from hearth.machine.topology import Cache, Core, CpuQuota, Device, NumaNode, Package, Topology
from hearth.report.terminal.screen import Branch, Screen, table, tree

_MATRIX_LIMIT = 16
_Part = TypeVar("_Part", NumaNode, Core, Cache)


def show_topology(machine: Topology, screen: Screen) -> list[str]:
    """Return the lines: a summary, the tree, distances, devices, what is allowed, warnings."""
    parts = [
        tree(_machine_tree(machine, screen)),
        _distances(machine.nodes, screen),
        _devices(machine.devices, screen),
        _allowed(machine, screen),
        _warnings(machine.warnings, screen),
    ]
    lines: list[str] = []
    for part in filter(None, parts):
        lines += [*part, ""]
    return lines[:-1]


def name_of(machine: Topology) -> str:
    """Return the machine's name: this one, a capture's path, or its description."""
    return "this machine" if machine.source == "live" else str(machine.source)


def summary(machine: Topology) -> str:
    """Return one line: `2 packages, 4 nodes, 24 cores, 192 CPUs, 1 TB`."""
    cores = machine.cores
    cpus = len(parse_ids(machine.cpus))
    memory = sum(node.memory_bytes for node in machine.nodes)
    counts = [
        counted(len(machine.packages), "package"),
        counted(len(machine.nodes), "NUMA node"),
        counted(len(cores), "core"),
        counted(cpus, "CPU"),
        show_bytes(memory),
    ]
    return ", ".join(counts)


def _machine_tree(machine: Topology, screen: Screen) -> Branch:
    architecture = f" ({machine.architecture})" if machine.architecture else ""
    root = Branch(screen.title(f"{name_of(machine)}{architecture}: {summary(machine)}"))
    if machine.processor:
        root.add(f"processor  {machine.processor}")
    nodes, cores, caches = _ByCpu(machine.nodes), _ByCpu(machine.cores), _ByCpu(machine.caches)
    placed: set[int] = set()
    for package in machine.packages:
        inside = set(parse_ids(package.cpus))
        branch = root.add(_package_text(package, cores.within(inside), screen))
        for node in nodes.within(inside):
            cpus = inside & set(parse_ids(node.cpus))
            what = f"{_cores_text(cores.within(cpus))}  CPUs {brief_ids(show_ids(cpus))}"
            _add_cpus(branch.add(f"{_node_text(node, screen)}  {what}"), caches, cpus)
            placed.add(node.id)
        if not nodes.within(inside):
            _add_cpus(branch, caches, inside)
    for node in machine.nodes:
        if node.id not in placed:
            kind = "GPU memory, no CPU" if node.gpu_memory else "no CPU"
            if node.tier in ("faster", "slower"):
                kind = f"no CPU, {node.tier} memory"
            root.add(f"{_node_text(node, screen)}  {screen.paint(kind, 'yellow')}")
    return root


class _ByCpu(Generic[_Part]):
    """Parts of a machine by their CPUs: looking at each part for each other one takes minutes."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        self._parts: Sequence[_Part] = parts
        self._numbers: dict[int, list[int]] = {}
        for number, part in enumerate(parts):
            for cpu in parse_ids(part.cpus):
                self._numbers.setdefault(cpu, []).append(number)

    def within(self, cpus: set[int]) -> list[_Part]:
        """Return the parts that have one of these CPUs, in their order."""
        numbers = {number for cpu in cpus for number in self._numbers.get(cpu, ())}
        return [self._parts[number] for number in sorted(numbers)]


def _package_text(package: Package, cores: list[Core], screen: Screen) -> str:
    text = f"{screen.title('package ' + str(package.id))}  {_cores_text(cores)}"
    dies = len(package.dies)
    return f"{text}, {dies} dies" if dies > 1 else text


def _cores_text(cores: list[Core]) -> str:
    """Return `6 cores x 8 threads`; if cores differ, each kind: `8 cpu_core x 2 threads + ...`."""
    sorts = Counter((core.kind or "core", len(parse_ids(core.cpus))) for core in cores)
    texts = []
    for (kind, threads), number in sorts.items():
        name = kind + "s" if kind == "core" and number != 1 else kind
        texts.append(f"{number} {name} x {counted(threads, 'thread')}")
    return " + ".join(texts)


def _node_text(node: NumaNode, screen: Screen) -> str:
    memory = show_bytes(node.memory_bytes)
    free = node.free_bytes
    free_text = screen.paint(f" ({show_bytes(free)} free)", "dim") if free is not None else ""
    return f"{screen.title('node ' + str(node.id))}  {memory}{free_text}"


def _add_cpus(branch: Branch, caches: _ByCpu[Cache], cpus: set[int]) -> None:
    """Add last-level caches below a node, equal ones in one line; cores if there is no cache."""
    groups = [(cache, set(parse_ids(cache.cpus))) for cache in caches.within(cpus)]
    sorts: dict[tuple[int, int | None, int], list[str]] = {}
    for cache, members in groups:
        key = (cache.level, cache.size_bytes, len(members))
        sorts.setdefault(key, []).append(brief_ids(show_ids(members & cpus), 24))
    for (level, size, _), lists in sorts.items():
        size_text = f" {show_bytes(size)}" if size else ""
        shown = lists if len(lists) <= 4 else [*lists[:3], "...", lists[-1]]
        each = f"{len(lists)} x L{level}{size_text}" if len(lists) > 1 else f"L{level}{size_text}"
        branch.add(f"{each}  CPUs {'  '.join(shown)}")


def _distances(nodes: list[NumaNode], screen: Screen) -> list[str]:
    if len(nodes) < 2 or not any(node.distances for node in nodes):
        return []
    title = [screen.title("distances")]
    if len(nodes) <= _MATRIX_LIMIT and 5 * len(nodes) + 8 <= screen.width:
        head = ["node", *(str(node.id) for node in nodes)]
        return title + table(screen, head, [_row(n, nodes, screen) for n in nodes], " ".join(head))
    lines = []
    for kind, count in sorted(_distance_counts(nodes).items()):
        lines.append(f"  {kind:>3}  {counted(count, 'pair')} of nodes")
    return title + lines


def _row(node: NumaNode, nodes: list[NumaNode], screen: Screen) -> list[str]:
    cells = [str(node.distances.get(str(other.id), "-")) for other in nodes]
    return [
        str(node.id),
        *(screen.paint(cell, "dim") if cell == "10" else cell for cell in cells),
    ]


def _distance_counts(nodes: list[NumaNode]) -> Counter[int]:
    """Count unordered pairs of different nodes by distance (the larger of both directions)."""
    counts: Counter[int] = Counter()
    for index, node in enumerate(nodes):
        for other in nodes[index + 1 :]:
            there = node.distances.get(str(other.id), 0)
            back = other.distances.get(str(node.id), 0)
            counts[max(there, back)] += 1
    return counts


def _devices(devices: list[Device], screen: Screen) -> list[str]:
    if not devices:
        return []
    places: dict[tuple[str, str], list[str]] = {}
    for device in devices:
        node = device.node
        where = f"node {node}" if node is not None else "node unknown"
        places.setdefault((device.kind, where), []).append(device.name)
    rows = [(kind, where, _names(names)) for (kind, where), names in sorted(places.items())]
    return [screen.title("devices"), *table(screen, ["kind", "at", "names"], rows)]


def _names(names: list[str]) -> str:
    shown = sorted(names)
    return " ".join(shown) if len(shown) <= 8 else " ".join([*shown[:7], f"+{len(shown) - 7} more"])


def _allowed(machine: Topology, screen: Screen) -> list[str]:
    allowed = machine.allowed
    online = set(parse_ids(machine.cpus))
    usable = parse_ids(allowed.cpus)
    all_nodes = [node.id for node in machine.nodes if node.memory_bytes]
    nodes = parse_ids(allowed.nodes)
    whole = set(usable) == online
    cpus_text = f"{'all ' if whole else f'{len(usable)} of '}{counted(len(online), 'CPU')}"
    node_text = f"all {len(nodes)}" if set(nodes) >= set(all_nodes) else f"{allowed.nodes} only"
    limit = allowed.memory_limit_bytes
    limit_text = show_bytes(limit) if limit is not None else "none"
    return [
        screen.title("allowed to this process"),
        f"  CPUs          {cpus_text}: {brief_ids(allowed.cpus)}",
        f"  memory nodes  {node_text}",
        f"  memory limit  {limit_text}",
        *_limits(machine),
    ]


def _limits(machine: Topology) -> list[str]:
    """Return lines for what few machines have: a CPU quota, limits of threads, isolated CPUs."""
    allowed = machine.allowed
    rows = []
    for one in allowed.batch_limits:
        cpus = f"CPUs: {one.cpus:g}" if one.cpus else f"ignored: {one.ignored}"
        size = show_bytes(one.memory_bytes) if one.memory_bytes else cpus
        rows.append((one.system, f"{size} ({one.name})"))
    if allowed.cpu_quota:
        rows.append(("CPU quota", _quota_text(allowed.cpu_quota)))
    for limit in allowed.task_limits:
        there = f", {limit.current:,} exist" if limit.current is not None else ""
        rows.append(("threads", f"at most {limit.most:,} ({limit.name}){there}"))
    if machine.isolated:
        rows.append(
            ("isolated", f"CPUs {brief_ids(machine.isolated)}: no threads are spread over them")
        )
    if machine.nohz_full:
        rows.append(
            ("nohz_full", f"CPUs {brief_ids(machine.nohz_full)}: no timer where one thread runs")
        )
    return [f"  {name:<13} {text}" for name, text in rows]


def _quota_text(quota: CpuQuota) -> str:
    text = f"the time of {quota.cpus:g} CPU{'' if quota.cpus == 1 else 's'}"
    if quota.throttled_periods:
        took = quota.throttled_usec
        lasted = f", for {took / 1e6:.1f} s in all" if took is not None else ""
        text += f"; used up {counted(quota.throttled_periods, 'time')} so far{lasted}"
    return text


def _warnings(warnings: list[str], screen: Screen) -> list[str]:
    mark = screen.paint("warning:", "yellow")
    return [screen.paragraph(f"{mark} {text}", hanging="  ") for text in warnings]
