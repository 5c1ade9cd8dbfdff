"""Synthetic tables of completion times: three workloads on one machine, by laws that are known.

Real tables are few, and hearth's tuner was made with two of them at hand (SVM and PageRank). These
are drawn by seed from the tuner's own model with perturbed parameters. Seeds 0 to 19 and 1000 to
1011 were looked at while the tuner was made; those from 2000 on were not, and judge it. The
workloads of a set share what belongs to the machine (within 15 %) and differ in the rest. Real
tables are rough, for each cell was measured once: of rough ones, seeds 0 to 59 were looked at.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hearth.studies.models import performance_model
from hearth.studies.models.space import Cell, MachineSize

#: Parameters of the tuner's model that belong to the machine.
_OF_MACHINE = ("smt_exponent", "bandwidth_cores", "crowding", "executor_cost", "executor_exponent")
_STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192)
#: Deviation of the logarithm: of machine parameters between workloads, of what a law leaves
#: unexplained smoothly, and from cell to cell.
_APART, _SMOOTH, _CELL = 0.15, 0.08, 0.03


@dataclass(frozen=True)
class Table:
    """The completion time in seconds of one workload, by configuration; each measured once."""

    cells: tuple[Cell, ...]
    seconds: tuple[float, ...]


@dataclass(frozen=True)
class Site:
    """A machine, and the executors x cores that `hearth plan` proposes for it."""

    machine: MachineSize
    nodes: int
    proposal: tuple[int, int]

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Executors x cores: at least one executor for each node, at most one slot a thread."""
        threads, memory = self.machine.threads, self.machine.memory_gb
        return tuple(
            Cell(n, c, memory / n)
            for n in _STEPS if self.nodes <= n <= threads
            for c in _STEPS if n * c <= threads
        )  # fmt: skip


SITES = (
    Site(MachineSize(192, 24, 1024), 4, (12, 8)),
    Site(MachineSize(64, 32, 128), 4, (8, 8)),
    Site(MachineSize(96, 48, 256), 2, (12, 8)),
    Site(MachineSize(128, 64, 768), 8, (16, 8)),
)


def tables(seed: int) -> tuple[Site, list[Table]]:
    """Return a machine and its three workloads' tables."""
    site = SITES[seed % len(SITES)]
    draw = np.random.default_rng([0, seed])
    laws = _jittered(site, draw)
    return site, [_table(site, law, draw) for law in laws]


#: Kinds of rough tables: deviation of the logarithm from cell to cell; cells that are 20 % slower.
ROUGH = {"scattered": (0.10, 0.0), "spiked": (0.05, 0.15), "bent": (0.10, 0.1)}


def rough(kind: str, seed: int) -> tuple[Site, Table]:
    """Return a machine and a table of a workload, by the tuner's model or along a bent ridge."""
    site, (table, *_) = tables(seed)
    draw = np.random.default_rng([1, seed])
    logs = _bent(site, draw) if kind == "bent" else np.log(table.seconds)
    deviation, spikes = ROUGH[kind]
    logs = logs + deviation * draw.standard_normal(len(logs))
    logs += math.log(1.2) * (draw.random(len(logs)) < spikes)
    return site, Table(table.cells, tuple(np.exp(logs).tolist()))


def _bent(site: Site, draw: np.random.Generator) -> "np.ndarray":
    """Return logarithms of times whose best is within 1.5 doublings of the plan's proposal."""
    best = np.log2(site.proposal) + draw.uniform(-1.5, 1.5, 2)
    slope, bend = draw.uniform(0, 1.5), draw.uniform(-0.4, 0.4)
    across, along = draw.uniform(0.03, 0.15), draw.uniform(0.02, 0.08)
    x, y = np.log2([(one.workers, one.cores_per_worker) for one in site.cells]).T - best[:, None]
    logs: np.ndarray = across * (y + slope * x + bend * x**2) ** 2 + along * x**2
    return logs


#: Seconds of every cell, before what the law leaves unexplained.
Law = Callable[[tuple[Cell, ...]], "np.ndarray"]


def _table(site: Site, law: Law, draw: np.random.Generator) -> Table:
    cells = site.cells
    place = np.log2([(cell.workers, cell.cores_per_worker) for cell in cells])
    near = np.exp(-((place[:, None] - place) ** 2).sum(-1) / 2)
    unexplained = np.linalg.cholesky(_SMOOTH**2 * near + (_CELL**2 + 1e-9) * np.eye(len(cells)))
    logs = np.log(law(cells)) + unexplained @ draw.standard_normal(len(cells))
    return Table(cells, tuple(np.exp(logs + math.log(100) - logs.min()).tolist()))


def _jittered(site: Site, draw: np.random.Generator) -> list[Law]:
    ranges = performance_model.jittered(int(draw.integers(10_000, 1 << 30)))
    low, high = (np.log([span[end] for span in ranges.values()]) for end in (0, 1))
    shared = draw.uniform(low, high)
    of_machine = np.array([name in _OF_MACHINE for name in ranges])
    laws: list[Law] = []
    for _ in range(3):
        own = draw.uniform(low, high)
        near = shared + _APART * draw.standard_normal(len(shared))
        parameters = np.exp(np.where(of_machine, near, own))[None, :]
        laws.append(lambda cells, p=parameters: np.exp(  # type: ignore[misc]
            performance_model.log_times(p, site.machine, cells)[0]))  # fmt: skip
    return laws


def opposite(table: Table) -> Table:
    """Return a table that misleads: fast where this one is slow."""
    turned = [min(table.seconds) * max(table.seconds) / one for one in table.seconds]
    return Table(table.cells, tuple(turned))


def rotated(table: Table) -> Table:
    """Return a table that misleads: each time half of the table away from its configuration."""
    half = len(table.cells) // 2
    moved = (*table.seconds[half:], *table.seconds[:half])
    return Table(table.cells, moved)
