"""Read a folder of captures, and sort its machines into classes of equal topology."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from hearth.base.codec import typed
from hearth.base.errors import UserError
from hearth.base.ids import parse_ids
from hearth.base.sizes import show_bytes
from hearth.base.terminal import one_line
from hearth.fleet.result import MachineClass, Unread
from hearth.machine import jvm
from hearth.machine.described import machine_source
from hearth.machine.plan import Plan, PlanRequest
from hearth.machine.topology import Topology
from hearth.spark.clusters.shape import Layout

#: Endings of captures (archives) and of descriptions (topologies; what lscpu and numactl print).
_ENDINGS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tbz", ".tar.xz", ".txz",
            ".json", ".txt")  # fmt: skip
#: Plans of one start of the JVM: what is in memory at a time.
_BATCH = 32
#: Firmware and kernel take some MB more or less of machines that are alike.
_SAME_MEMORY = 0.03


@dataclass(frozen=True)
class ReadCapture:
    """A machine whose capture was read."""

    capture: Path
    topology: Topology
    plan: Plan

    @property
    def name(self) -> str:
        name = one_line(self.capture.name)
        return next((name.removesuffix(end) for end in _ENDINGS if name.endswith(end)), name)


@dataclass
class Kind:
    """Machines that are alike; example: the one with the smallest plan."""

    example: ReadCapture
    names: list[str] = field(default_factory=list)

    def add(self, seen: ReadCapture) -> None:
        self.names.append(seen.name)
        if _heap_mb(seen.plan) < _heap_mb(self.example.plan):
            self.example = seen


@dataclass
class Sorted:
    """Kinds of machine, found one machine after the other."""

    _by_key: dict[int, list[Kind]] = field(default_factory=dict)

    def add(self, seen: ReadCapture) -> None:
        alike = self._by_key.setdefault(hash(_key(seen.topology)), [])
        for kind in alike:
            if _same_memory(kind.example.topology, seen.topology):
                kind.add(seen)
                return
        alike.append(Kind(seen, [seen.name]))

    def kinds(self) -> list[Kind]:
        """Return them, the largest first."""
        found = [kind for alike in self._by_key.values() for kind in alike]
        return sorted(found, key=lambda kind: (-len(kind.names), kind.names[0]))


def is_fleet(machine: str | None) -> bool:
    """Return whether `--machine` names a folder of captures, not one capture."""
    folder = Path(machine) if machine else None
    return folder is not None and folder.is_dir() and not _is_capture(folder) and any(_in(folder))


def captures_in(folder: Path) -> list[Path]:
    """Return the captures and descriptions in a folder; raise UserError where there are none."""
    if not folder.is_dir():
        raise UserError(f"DIR: '{folder}' is not a directory: give one that holds captures")
    try:
        found = sorted(_in(folder))
    except OSError as error:
        raise UserError(f"DIR: '{folder}' cannot be read: {error.strerror}") from error
    if not found:
        raise UserError(
            f"DIR: '{folder}' holds no capture: 'hearth topology --capture FILE' makes one"
        )
    return found


def _in(folder: Path) -> Iterator[Path]:
    for each in folder.iterdir():
        if not each.name.startswith(".") and (
            _is_capture(each) if each.is_dir() else each.name.endswith(_ENDINGS)
        ):
            yield each


def _is_capture(folder: Path) -> bool:
    """Return whether a directory is an unpacked capture, or holds nothing but one."""
    try:
        inner = list(folder.iterdir())
        roots = [folder, *(inner if len(inner) == 1 else [])]
        return any((root / name).is_dir() for root in roots for name in ("sys", "proc"))
    except PermissionError:
        return True  # what reads captures says that it may not


def read_all(
    captures: list[Path], request: PlanRequest, debug: bool
) -> Iterator[ReadCapture | Unread]:
    """Yield each machine with its plan; a batch at a time, so that memory stays bounded."""
    for start in range(0, len(captures), _BATCH):
        yield from _read(captures[start : start + _BATCH], request, debug)


def _read(
    captures: list[Path], request: PlanRequest, debug: bool
) -> Iterator[ReadCapture | Unread]:
    asked, refused = {}, {}
    for each in captures:
        try:
            if not each.is_dir() and not each.is_file():
                raise UserError(f"'{each.name}' is neither a file nor a directory")
            one = replace(request, machine=machine_source(str(each)))
            asked[each] = {**one.document(), "with_topology": True}
        except UserError as error:
            refused[each] = error
    made = dict(zip(asked, jvm.plans(list(asked.values()), debug), strict=True))
    for each in captures:
        plan = made.get(each) or refused[each]
        if isinstance(plan, UserError):
            yield Unread(one_line(each.name), one_line(str(plan)))
        else:
            yield ReadCapture(each, typed(plan.topology, Topology), replace(plan, topology=None))


def classes_of(kinds: list[Kind]) -> list[MachineClass]:
    """Return what is told of each kind."""
    return [_class(kind, kinds) for kind in kinds]


def _class(kind: Kind, kinds: list[Kind]) -> MachineClass:
    layout = layout_of(kind)
    return MachineClass(
        machines=kind.names,
        summary=summary(kind.example.topology),
        executors=len(layout.nodes),
        shape=layout.shape,
        plan=kind.example.plan,
        unlike=_unlike(kind, kinds),
    )


def layout_of(kind: Kind) -> Layout:
    """Return its plan as executors of one shape."""
    layout = Layout.of(kind.example.plan, kind.example.topology)
    assert layout is not None, "a plan has executors"
    return layout


def _heap_mb(plan: Plan) -> int:
    return sum(each.heap_mb + each.off_heap_mb for each in plan.executors)


def _key(machine: Topology) -> str:
    """Return all that must be equal within a class, except memory."""
    nodes = [(n.id, n.cpus, sorted(n.distances.items()), n.gpu_memory) for n in machine.nodes]
    limits = (machine.allowed.cpus, machine.allowed.nodes, machine.isolated)
    what = (
        machine.architecture,
        machine.processor,
        machine.packages,
        machine.cores,
        machine.caches,
    )
    return repr((nodes, limits, what))


def _same_memory(one: Topology, other: Topology) -> bool:
    pairs = zip(one.nodes, other.nodes, strict=True)
    return all(_close(a.memory_bytes, b.memory_bytes) for a, b in pairs)


def _close(one: int, other: int) -> bool:
    return abs(one - other) <= _SAME_MEMORY * max(one, other)


def summary(machine: Topology) -> str:
    """Return a machine in a line: `2 packages, 4 NUMA nodes of 128 GB, 24 cores, 192 CPUs`."""
    sizes: Counter[int] = Counter()
    for size in (node.memory_bytes for node in machine.nodes):
        sizes[next((known for known in sizes if _close(known, size)), size)] += 1
    nodes = " + ".join(
        f"{_many(many, 'NUMA node')} of {show_bytes(size)}" for size, many in sizes.items()
    )
    counts = [
        _many(len(machine.packages), "package"),
        nodes,
        _many(len(machine.cores), "core"),
        _many(len(parse_ids(machine.cpus)), "CPU"),
    ]
    return ", ".join([*counts, *filter(None, [machine.processor or machine.architecture])])


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _unlike(kind: Kind, kinds: list[Kind]) -> list[str]:
    """Return how a kind differs from the largest of the same processor, where that is larger."""
    own = kind.example.topology
    same = [k for k in kinds if k.example.topology.processor == own.processor]
    usual = next(k for k in same if k.example.topology.architecture == own.architecture)
    if len(usual.names) <= len(kind.names):
        return []
    return list(_differences(own, usual.example.topology))


def _differences(own: Topology, usual: Topology) -> Iterator[str]:
    counts: dict[str, Callable[[Topology], int]] = {
        "packages": lambda m: len(m.packages),
        "NUMA nodes": lambda m: len(m.nodes),
        "cores": lambda m: len(m.cores),
        "online CPUs": lambda m: len(parse_ids(m.cpus)),
        "last-level caches": lambda m: len(m.caches),
    }
    for what, count in counts.items():
        if count(own) != count(usual):
            yield f"{count(own)} {what}, not {count(usual)}"
    for name in ("allowed", "isolated"):
        mine, theirs = (_ids(machine, name) for machine in (own, usual))
        if mine != theirs and own.cpus == usual.cpus:
            yield f"{name} CPUs {mine or 'none'}, not {theirs or 'none'}"
    sizes = {node.id: node.memory_bytes for node in own.nodes}
    for node in usual.nodes:
        size = sizes.get(node.id)
        if size is not None and not _close(size, node.memory_bytes):
            yield f"node {node.id} has {show_bytes(size)}, not {show_bytes(node.memory_bytes)}"


def _ids(machine: Topology, name: str) -> str:
    return machine.allowed.cpus if name == "allowed" else machine.isolated
