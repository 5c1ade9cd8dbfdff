"""Estimate what binding is worth in time, from published speedups and the spread of memory.

An executor that is bound to nothing has its memory on all N nodes alike, so that 1 - 1/N of what it
reads is another node's; bound to a node, nothing is. The published speedups are of four nodes; on
another number the logarithm of the gain is taken in proportion to that share, which is an
assumption. No study measured executors bound to packages: they keep between the part of the gain
that accesses to another package are of all remote ones, and all of it.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hearth.base.errors import UserError
from hearth.base.ids import parse_ids
from hearth.machine.topology import Topology

Binding = Literal["none", "node", "package"]
BINDINGS: tuple[Binding, ...] = ("none", "node", "package")
#: Speedups of executors bound to nodes over unbound ones, on the four nodes of a POWER8. Chiba 2015
#: bound the same executors (K-Means; TPC-H, mean of 3 to 4 %). Baig 2018 (SVM, SQL, PageRank)
#: compares the best bound with the best unbound configuration, which understates what binding alone
#: does: with the same configuration the published tables imply 1.18 (SVM) and 1.32 (PageRank).
PUBLISHED = {"SVM": 1.15, "SQL": 1.07, "PageRank": 1.25, "K-Means": 1.13, "TPC-H": 1.035}
_PUBLISHED_NODES = 4
#: One side of the 90 % interval: of a normal value.
_SIDE, NORMAL_90 = 0.95, 1.645


@dataclass(frozen=True)
class BindingGain:
    """Logarithm of the speedup of bound over unbound runs: mean, and deviation for a new one."""

    mean: float
    deviation: float

    @staticmethod
    def of(speedups: Sequence[float]) -> "BindingGain":
        """Return the prediction interval for one more speedup.

        It is Student's t of two measured ones or more, as an equivalent normal deviation.
        """
        from scipy.stats import t

        logs = [math.log(one) for one in speedups]
        spread = statistics.stdev(logs) * math.sqrt(1 + 1 / len(logs))
        return BindingGain(
            statistics.fmean(logs), spread * float(t.ppf(_SIDE, len(logs) - 1)) / NORMAL_90
        )


@dataclass(frozen=True)
class Nodes:
    """The NUMA nodes with CPUs that may be used, by package: how many, and hardware threads."""

    packages: tuple[int, ...]
    threads_of_node: int
    threads_of_package: int

    @property
    def number(self) -> int:
        return sum(self.packages)

    @staticmethod
    def of(topology: Topology, allowed: bool) -> "Nodes":
        """Return the nodes of a machine; allowed: only those that this process may use."""
        cpus = set(parse_ids(topology.allowed.cpus if allowed else topology.cpus))
        nodes = [usable for node in topology.nodes if (usable := cpus & set(parse_ids(node.cpus)))]
        packages = [cpus & set(parse_ids(package.cpus)) for package in topology.packages]
        counts = tuple(n for of in packages if (n := sum(bool(node & of) for node in nodes)))
        if not nodes or not counts:
            return Nodes((1,), len(cpus), len(cpus))
        return Nodes(counts, max(map(len, nodes)), max(map(len, packages)))

    def within(self, number: int) -> tuple[int, ...]:
        """Return how many of so many nodes each package has, filling the first packages first."""
        left, counts = number, []
        for has in self.packages:
            if left > 0:
                counts.append(min(has, left))
                left -= has
        return tuple(counts)


@dataclass(frozen=True)
class Cost:
    """The cost of remote memory, as a part of the published gain's logarithm, and its deviation."""

    part: float = 0.0
    unsure: float = 0.0


def cost(binding: Binding, nodes: Sequence[int]) -> Cost:
    """Return the cost relative to executors with all memory on their node.

    nodes: how many each package has, such as 2 and 2.
    """
    number = sum(nodes)
    if binding == "node" or number == 1:
        return Cost()
    remote = 1 - 1 / number
    whole = remote / (1 - 1 / _PUBLISHED_NODES)
    if binding == "none":
        return Cost(whole)
    # Of a package's own nodes' memory an executor reads as much remotely as nodes share it.
    most = (1 - len(nodes) / number) / remote
    return Cost(whole * most / 2, whole * most / math.sqrt(12))


def change(before: Cost, after: Cost, worth: BindingGain) -> tuple[float, float]:
    """Return the change of the logarithm of the time, and its deviation."""
    part = after.part - before.part
    unsure = math.hypot(before.unsure, after.unsure) if before != after else 0.0
    return part * worth.mean, math.hypot(part * worth.deviation, unsure * worth.mean)


def most_cores(binding: Binding, nodes: Nodes) -> int:
    """Return hardware threads of what an executor is bound to: it has no more task slots."""
    whole = nodes.threads_of_package * len(nodes.packages)
    return {"none": whole, "node": nodes.threads_of_node, "package": nodes.threads_of_package}[
        binding
    ]


def check_fits(cores: int, binding: Binding, nodes: Nodes) -> None:
    """Raise UserError for an executor that is wider than what it is to be bound to."""
    most = most_cores(binding, nodes)
    if cores > most and binding != "none":
        raise UserError(
            f"--cores: {cores} task slots are more than the {most} hardware threads of a "
            f"{binding}: give fewer, or another --bind"
        )
