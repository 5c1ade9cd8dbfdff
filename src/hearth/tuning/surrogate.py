"""What is believed of a workload's completion times: a Gaussian process around the mechanism.

Its prior mean and covariance are those of many imagined applications (`mechanism`), so that seeing
one configuration tells of those that are fast or slow for the same reasons. To that comes what the
mechanism does not explain: a smooth part, and a part of each configuration alone (how executors
happen to lie on cores). Other workloads, on this machine or another, are other draws of the same
process, related by a correlation that is not known: several are held, and weighed by how well they
foretold what was measured (Rasmussen and Williams 2006, chapters 2 and 5).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from hearth.tuning import mechanism
from hearth.tuning.mechanism import Array, Evidence
from hearth.tuning.space import Cell, Machine

#: How alike workloads are, and how far the mechanism is off (of the logarithm): all are held.
_ALIKE = (0.0, 0.3, 0.6, 0.9)
_UNEXPLAINED = (0.06, 0.12, 0.24)
#: Doublings of executors or cores over which the unexplained is alike.
_LENGTH = 1.0
#: What neighbouring cells differ by for no reason: of the configuration, and of the workload in it.
_OF_CONFIGURATION = 0.05
_OF_CELL = 0.03
#: Of the logarithm of a workload's size: nothing is known of it.
_SIZE = 3.0
#: What a choice that the mechanism does not know (collector, binding) is worth, on all
#: configurations alike, and how much of the unexplained stays alike where one choice differs.
_OF_CHOICE = 0.06
_STILL_ALIKE = 0.6


@dataclass(frozen=True)
class Known:
    """Configurations of one workload and machine, with the logarithm of seconds where measured.

    choices: of each configuration what the mechanism does not know, such as (G1GC, node); empty
    where there is none.
    """

    machine: Machine
    cells: tuple[Cell, ...]
    log_seconds: Array | None = None
    choices: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Forecast:
    """Logarithm of seconds of each configuration: mean and standard deviation."""

    mean: Array
    deviation: Array


class Belief:
    """What is believed of one workload before and after its configurations are measured."""

    def __init__(
        self,
        target: Known,
        related: Sequence[Known] = (),
        *,
        noise: float = 0.0,
        ranges: dict[str, tuple[float, float]] = mechanism.RANGES,
        evidence: Mapping[Cell, Evidence] | None = None,
    ) -> None:
        """noise: standard deviation of the logarithm of a repeated measurement.

        evidence: what was measured of configurations of the target besides their time: it weighs
        the imagined applications.
        """
        self._noise = noise
        all_known = [target, *related]
        drawn = mechanism.draw(mechanism.DRAWS, 1, ranges)
        imagined = np.hstack([_centred(drawn, one) for one in all_known])
        task = np.repeat(np.arange(len(all_known)), [len(one.cells) for one in all_known])
        same = task[:, None] == task
        weights = mechanism.agreeing(drawn, target.machine, evidence or {})
        mean: Array = weights @ imagined
        by_mechanism: Array = np.cov(imagined.T, aweights=weights)
        near, equal = _likeness(all_known)
        same_choices, share = _choices_alike(all_known)
        near, equal = near * _STILL_ALIKE**share, equal * (share == 0)
        seen = [one.log_seconds for one in related if one.log_seconds is not None]
        values = np.concatenate(seen) if seen else np.zeros(0)
        number = len(target.cells)
        self._models: list[tuple[Array, Array]] = []
        for alike in _ALIKE if related else _ALIKE[:1]:
            between = np.where(same, 1.0, alike)
            for unexplained in _UNEXPLAINED:
                shared = by_mechanism + unexplained**2 * near + _OF_CONFIGURATION**2 * equal
                shared = shared + _OF_CHOICE**2 * same_choices
                whole = between * shared + _SIZE**2 * same + _OF_CELL**2 * np.eye(len(task))
                at = np.arange(number, len(task))
                before, after, _ = _conditioned(mean, whole, at, values, self._noise)
                self._models.append((before[:number], after[:number, :number]))

    def after(self, tried: Sequence[int], log_seconds: Sequence[float]) -> Forecast:
        """The forecast once the configurations `tried` (indices, repeats allowed) took so long."""
        at, values = np.array(tried, dtype=np.intp), np.array(log_seconds, float)
        found = [_conditioned(*model, at, values, self._noise) for model in self._models]
        evidence = np.array([one[2] for one in found])
        weights = np.exp(evidence - evidence.max())
        weights /= weights.sum()
        means = np.array([one[0] for one in found])
        mean: Array = weights @ means
        within = np.array([np.diag(one[1]) for one in found])
        deviation = np.sqrt(np.maximum(weights @ (within + (means - mean) ** 2), 0.0))
        return Forecast(mean, deviation)


def _centred(drawn: Array, known: Known) -> Array:
    found = mechanism.log_times(drawn, known.machine, known.cells)
    centred: Array = found - found.mean(axis=1, keepdims=True)
    return centred


def _likeness(all_known: Sequence[Known]) -> tuple[Array, Array]:
    """How near each two configurations are (0 to 1), and whether they are the same."""
    rows = [
        (
            np.log2(cell.workers / one.machine.cores),
            np.log2(cell.cores_per_worker),
            np.log2(cell.workers * cell.memory_per_worker_gb / one.machine.memory_gb) / 2,
        )
        for one in all_known
        for cell in one.cells
    ]
    place = np.array(rows)
    apart = ((place[:, None] - place) ** 2).sum(axis=-1)
    cores = np.repeat([one.machine.cores for one in all_known], [len(k.cells) for k in all_known])
    machine = cores[:, None] == cores
    equal: NDArray[np.bool_] = machine & (apart[:, :] < 1e-9)
    return np.exp(-apart / (2 * _LENGTH**2)), equal.astype(float)


def _choices_alike(all_known: Sequence[Known]) -> tuple[Array, Array]:
    """Of each two configurations: how many choices are the same, and how many differ."""
    rows = [row for one in all_known for row in one.choices or [()] * len(one.cells)]
    most = max(map(len, rows), default=0)
    places = np.array([[*row, *[""] * (most - len(row))] for row in rows], dtype=str)
    places = places.reshape(len(rows), most)
    same = (places[:, None] == places) & (places[:, None] != "")
    differ = (places[:, None] != places).sum(axis=-1)
    return same.sum(axis=-1).astype(float), differ.astype(float)


def _conditioned(
    mean: Array, covariance: Array, at: NDArray[np.intp], values: Array, noise: float
) -> tuple[Array, Array, float]:
    """Mean and covariance given the values at some places, and the logarithm of their evidence."""
    if not len(at):
        return mean, covariance, 0.0
    seen = covariance[np.ix_(at, at)] + (noise**2 + 1e-8) * np.eye(len(at))
    root = np.linalg.cholesky(seen)
    gain = linalg.solve_triangular(root, covariance[at], lower=True)
    surprise = linalg.solve_triangular(root, values - mean[at], lower=True)
    evidence = -0.5 * surprise @ surprise - np.log(np.diag(root)).sum()
    return mean + gain.T @ surprise, covariance - gain.T @ gain, float(evidence)
