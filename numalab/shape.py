"""A shape: one machine, described once; QEMU's flags and the expected topology follow from it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from numalab.idset import format_ids, parse_ids

SHAPES = Path(__file__).parent / "shapes"


@dataclass(frozen=True)
class Node:
    """One NUMA node; `cpus` is empty for a memory-only node, `distances` is its row of the SLIT."""

    id: int
    cpus: frozenset[int]
    memory_mb: int
    distances: tuple[int, ...]


@dataclass(frozen=True)
class SparkJob:
    """The `--master` to run in this shape and the number of executors that must come up."""

    master: str
    executors: int


@dataclass(frozen=True)
class Shape:
    """An emulated machine; `cpuset` is the part of its CPUs that the cases may use.

    `networks` holds the node of each network device, `eth0` first.
    """

    name: str
    about: str
    packages: int
    cores: int
    threads: int
    nodes: tuple[Node, ...]
    cpuset: frozenset[int]
    networks: tuple[int, ...]
    spark: SparkJob

    @property
    def cpus(self) -> frozenset[int]:
        """All CPUs; QEMU numbers them thread by thread, core by core, package by package."""
        return frozenset(range(self.packages * self.cores * self.threads))

    @property
    def memory_mb(self) -> int:
        """Memory of all nodes together, in MiB."""
        return sum(node.memory_mb for node in self.nodes)

    def usable(self, node: Node) -> frozenset[int]:
        """The node's CPUs that lie inside the cpuset."""
        return node.cpus & self.cpuset

    def near(self, node: Node) -> Node:
        """The nearest node with usable CPUs, itself first."""
        return min(
            (other for other in self.nodes if self.usable(other)),
            key=lambda other: node.distances[other.id],
        )

    def usable_socket(self, cpus: frozenset[int]) -> frozenset[int]:
        """All of the socket of these CPUs that lies inside the cpuset."""
        each = self.cores * self.threads
        sockets = {cpu // each for cpu in cpus}
        return frozenset(cpu for cpu in self.cpuset if cpu // each in sockets)

    def usable_cores(self) -> list[frozenset[int]]:
        """The hardware threads of each core that lie inside the cpuset."""
        firsts = range(0, len(self.cpus), self.threads)
        cores = (frozenset(range(f, f + self.threads)) & self.cpuset for f in firsts)
        return [core for core in cores if core]

    def node_of(self, cpu: int) -> int:
        """The id of the node that a CPU belongs to."""
        return next(node.id for node in self.nodes if cpu in node.cpus)

    def expected(self) -> dict[str, object]:
        """The topology that every reader must report in this shape.

        Memory is what the emulator is given: the kernel keeps a part of it for itself.
        """
        per_package = self.cores * self.threads
        return {
            "packages": {
                package: format_ids(range(package * per_package, (package + 1) * per_package))
                for package in range(self.packages)
            },
            "cores": sorted(
                format_ids(range(first, first + self.threads))
                for first in range(0, len(self.cpus), self.threads)
            ),
            "nodes": {node.id: format_ids(node.cpus) for node in self.nodes},
            "memory_mb": {node.id: node.memory_mb for node in self.nodes},
            "distances": {node.id: list(node.distances) for node in self.nodes},
            "allowed_cpus": format_ids(self.cpuset),
            "allowed_nodes": format_ids(node.id for node in self.nodes),
        }

    def qemu_flags(self) -> list[str]:
        """The flags that make QEMU emulate this machine: no disks, no kernel.

        A network device stands on a PCI expander bridge, which the firmware gives a node
        (QEMU, docs/pci_expander_bridge.txt).
        """
        smp = f"{len(self.cpus)},sockets={self.packages},cores={self.cores},threads={self.threads}"
        flags = ["-smp", smp, "-m", f"{self.memory_mb}M"]
        for node in self.nodes:
            flags += ["-object", f"memory-backend-ram,id=mem{node.id},size={node.memory_mb}M"]
            cpus = "".join(f",cpus={part}" for part in format_ids(node.cpus).split(",") if part)
            flags += ["-numa", f"node,nodeid={node.id},memdev=mem{node.id}{cpus}"]
        for node in self.nodes:
            for other, distance in enumerate(node.distances):
                if other != node.id:
                    flags += ["-numa", f"dist,src={node.id},dst={other},val={distance}"]
        for number, place in enumerate(self.networks):
            bridge = f"pxb,id=bridge{number},bus=pci.0,bus_nr={64 * (number + 1)}"
            flags += ["-device", f"{bridge},numa_node={place}"]
            flags += ["-device", f"virtio-net-pci,bus=bridge{number},addr=1"]
        return flags


def names() -> list[str]:
    """The names of all shapes, in alphabetical order."""
    return sorted(path.stem for path in SHAPES.glob("*.toml"))


def load(name: str) -> Shape:
    """The shape of this name.

    Raises ValueError where there is no such shape, or where the file contradicts itself.
    """
    path = SHAPES / f"{name}.toml"
    if not path.is_file():
        raise ValueError(f"no shape '{name}'; there are: {', '.join(names())}")
    text = tomllib.loads(path.read_text(encoding="utf-8"))
    nodes = tuple(
        Node(number, parse_ids(node["cpus"]), node["memory_mb"], tuple(node["distances"]))
        for number, node in enumerate(text["node"])
    )
    every_cpu = frozenset().union(*(node.cpus for node in nodes))
    shape = Shape(
        name=name,
        about=text["about"],
        packages=text["cpu"]["packages"],
        cores=text["cpu"]["cores"],
        threads=text["cpu"]["threads"],
        nodes=nodes,
        cpuset=parse_ids(text["cpuset"]["cpus"]) if "cpuset" in text else every_cpu,
        networks=tuple(network["node"] for network in text.get("network", [])),
        spark=SparkJob(**text["spark"]),
    )
    _check(shape, every_cpu)
    return shape


def _check(shape: Shape, cpus_of_nodes: frozenset[int]) -> None:
    problems = []
    if cpus_of_nodes != shape.cpus or sum(len(n.cpus) for n in shape.nodes) != len(shape.cpus):
        problems.append(f"the nodes must share out CPUs {format_ids(shape.cpus)}, each once")
    if not shape.cpuset or not shape.cpuset <= shape.cpus:
        problems.append(f"the cpuset must be a part of CPUs {format_ids(shape.cpus)}")
    for place in shape.networks:
        if not 0 <= place < len(shape.nodes):
            problems.append(f"a network device is on node {place}, which is none of its nodes")
    for node in shape.nodes:
        if len(node.distances) != len(shape.nodes) or node.distances[node.id] != 10:
            problems.append(f"node {node.id} needs {len(shape.nodes)} distances, its own being 10")
    if problems:
        raise ValueError(f"shape '{shape.name}': {'; '.join(problems)}")
