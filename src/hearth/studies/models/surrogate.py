"""Model a workload's completion times by a Gaussian process around the performance model.

Its prior mean and covariance are those of many imagined applications (`performance_model`), so that
seeing one configuration tells of those that are fast or slow for the same reasons. To that comes
what the mechanism does not explain: a smooth part, and a part of each configuration alone (how
executors happen to lie on cores).

Other workloads, on this machine or another, are other draws of the same process. Whether they say
anything of this one is not known, so several hypotheses are held: that none does, that one of them
does, that all do, each with several correlations. They are weighed by how well they predicted what
was measured (Rasmussen and Williams 2006, chapters 2 and 5). Another workload has to earn its use:
a hypothesis counts only while it predicts what was measured clearly better than "none does".
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from hearth.studies.models import performance_model
from hearth.studies.models.performance_model import Array, ModelEvidence
from hearth.studies.models.space import Cell, MachineSize

Indices = NDArray[np.intp]
#: The probability, before anything is measured, that no other workload says anything of this one.
_NONE = 0.5
#: Correlations with other workloads, where they do say something.
_ALIKE = (0.3, 0.6, 0.9)
#: A hypothesis counts only where it makes what was measured so many times as likely as it is
#: without any other workload.
_EARNED = math.e
#: Before so many configurations were measured nothing tells whether another workload is alike: the
#: first time says only how large the workload is.
_LEAST_TRIED = 2
#: How far the mechanism is off (of the logarithm): each is held.
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
class PriorRuns:
    """Configurations of one workload and machine, with the logarithm of seconds where measured.

    choices: of each configuration what the mechanism does not know, such as (G1GC, node); empty
    where there is none.
    """

    machine: MachineSize
    cells: tuple[Cell, ...]
    log_seconds: Array | None = None
    choices: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Forecast:
    """Logarithm of seconds of each configuration: mean and standard deviation.

    used: of each related workload, whether it counts.
    """

    mean: Array
    deviation: Array
    used: tuple[bool, ...] = ()


def forecast(
    target: PriorRuns,
    related: Sequence[PriorRuns] = (),
    tried: Sequence[int] = (),
    log_seconds: Sequence[float] = (),
    *,
    noise: float = 0.0,
    evidence: Mapping[Cell, ModelEvidence] | None = None,
) -> Forecast:
    """Return what is believed once the target's configurations `tried` took so long.

    tried: indices, repeats allowed. noise: standard deviation of the logarithm of a repeated
    measurement. evidence: what was measured of the target's configurations besides their time.
    """
    prior = _Prior([target, *related], tried, log_seconds, noise, evidence or {})
    related_count = len(set(tried)) >= _LEAST_TRIED
    held = list(_hypotheses(len(related) if related_count else 0))
    posteriors = [[prior.posterior(one, off) for off in _UNEXPLAINED] for one in held]
    likely = [_log_mean([of.evidence for of in each]) for each in posteriors]
    least = likely[0] + math.log(_EARNED)
    counting = [at for at in range(len(held)) if at == 0 or likely[at] >= least]
    each = [(of, held[at].probability) for at in counting for of in posteriors[at]]
    logs = np.array([of.evidence + math.log(probability) for of, probability in each])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    means, variances = (np.array([getattr(of, name) for of, _ in each])
                        for name in ("mean", "variance"))  # fmt: skip
    mean: Array = weights @ means
    deviation = np.sqrt(np.maximum(weights @ (variances + (means - mean) ** 2), 0.0))
    used = {table for at in counting for table in held[at].tables}
    return Forecast(mean, deviation, tuple(at in used for at in range(1, len(related) + 1)))


@dataclass(frozen=True)
class _Hypothesis:
    """Which tables (1 is the first related one) are correlated with the target, and how much."""

    tables: tuple[int, ...]
    alike: float
    probability: float


def _hypotheses(number: int) -> Iterator[_Hypothesis]:
    """Yield hypotheses: no related table is correlated with the target, all are, or one is."""
    tables = tuple(range(1, number + 1))
    yield _Hypothesis((), 0.0, _NONE if tables else 1.0)
    groups = dict.fromkeys([tables, *((one,) for one in tables)]) if tables else {}
    for group in groups:
        for alike in _ALIKE:
            yield _Hypothesis(group, alike, (1 - _NONE) / len(groups) / len(_ALIKE))


def _log_mean(logs: Sequence[float]) -> float:
    return float(np.logaddexp.reduce(logs)) - math.log(len(logs))


@dataclass(frozen=True)
class _Posterior:
    """The posterior of the target's configurations.

    Evidence: log likelihood of its measurements.
    """

    mean: Array
    variance: Array
    evidence: float


class _Prior:
    """The process over the configurations of all tables, and what was measured of each."""

    def __init__(
        self,
        tables: Sequence[PriorRuns],
        tried: Sequence[int],
        log_seconds: Sequence[float],
        noise: float,
        evidence: Mapping[Cell, ModelEvidence],
    ) -> None:
        sizes = [len(one.cells) for one in tables]
        starts = np.cumsum([0, *sizes])
        measured_ones = [one.log_seconds is not None for one in tables[1:]]
        self._number, self._noise = sizes[0], noise
        self._table = np.repeat(np.arange(len(tables)), sizes)
        measured = [
            np.arange(starts[at], starts[at + 1]) for at, yes in enumerate(measured_ones, 1) if yes
        ]
        self._at: Indices = np.concatenate([*measured, np.array(tried, dtype=np.intp)])
        self._of = self._table[self._at]
        known = [one.log_seconds for one in tables[1:] if one.log_seconds is not None]
        drawn = performance_model.draw(performance_model.DRAWS, 1)
        imagined = np.hstack([_centred(one.machine, one.cells) for one in tables])
        weights = performance_model.agreeing(drawn, tables[0].machine, evidence)
        mean: Array = weights @ imagined
        self._mean = mean[: self._number]
        self._off = np.concatenate([*known, np.array(log_seconds, float)]) - mean[self._at]
        self._pieces(tables, imagined - mean, weights)

    def _pieces(self, tables: Sequence[PriorRuns], away: Array, weights: Array) -> None:
        """Set covariances of what was measured with everything, and variances of the target."""
        at, table = self._at, self._table
        unbiased = 1 / (1 - weights @ weights)
        near, equal = _likeness(tables, at)
        same, differ = _choices_alike(tables, at)
        self._equal_choices = _OF_CHOICE**2 * same + _OF_CONFIGURATION**2 * equal * (differ == 0)
        self._near = near * _STILL_ALIKE**differ
        self._mechanism = (away[:, at].T * weights * unbiased) @ away
        self._same_table = (self._of[:, None] == table).astype(float)
        self._same = (at[:, None] == np.arange(len(table))).astype(float)
        target = away[:, : self._number]
        choices = len(tables[0].choices[0]) if tables[0].choices else 0
        self._variance = unbiased * (weights @ target**2) + _OF_CHOICE**2 * choices
        self._variance = self._variance + _OF_CONFIGURATION**2 + _SIZE**2 + _OF_CELL**2

    def posterior(self, hypothesis: _Hypothesis, unexplained: float) -> _Posterior:
        """Return the posterior given these tables and this deviation from the performance model."""
        rows = np.flatnonzero(np.isin(self._of, (0, *hypothesis.tables)))
        shared = self._mechanism[rows] + unexplained**2 * self._near[rows]
        shared = shared + self._equal_choices[rows]
        same = self._same_table[rows]
        between = np.where(same, 1.0, hypothesis.alike)
        whole = between * shared + _SIZE**2 * same + _OF_CELL**2 * self._same[rows]
        variance = self._variance + unexplained**2
        if not len(rows):
            return _Posterior(self._mean, variance, 0.0)
        among = whole[:, self._at[rows]] + (self._noise**2 + 1e-8) * np.eye(len(rows))
        root = np.linalg.cholesky(among)
        right = np.column_stack([whole[:, : self._number], self._off[rows]])
        solved = linalg.solve_triangular(root, right, lower=True, check_finite=False)
        gain, surprise = solved[:, :-1], solved[:, -1]
        # The target's own rows are the last: their part is its likelihood given the others.
        of_target = self._of[rows] == 0
        evidence = (
            -0.5 * surprise[of_target] @ surprise[of_target]
            - np.log(np.diag(root)[of_target]).sum()
        )
        return _Posterior(
            self._mean + gain.T @ surprise, variance - (gain**2).sum(axis=0), float(evidence)
        )


@lru_cache(maxsize=64)
def _centred(machine: MachineSize, cells: tuple[Cell, ...]) -> Array:
    log_times = performance_model.log_times(
        performance_model.draw(performance_model.DRAWS, 1), machine, cells
    )
    centred: Array = log_times - log_times.mean(axis=1, keepdims=True)
    centred.flags.writeable = False
    return centred


def _likeness(tables: Sequence[PriorRuns], at: Indices) -> tuple[Array, Array]:
    """Return how near (0 to 1) these configurations are to each of all, and which are equal."""
    rows = [
        (
            np.log2(cell.workers / one.machine.cores),
            np.log2(cell.cores_per_worker),
            np.log2(cell.workers * cell.memory_per_worker_gb / one.machine.memory_gb) / 2,
        )
        for one in tables
        for cell in one.cells
    ]
    points = np.array(rows)
    apart = ((points[at][:, None] - points) ** 2).sum(axis=-1)
    cores = np.repeat([one.machine.cores for one in tables], [len(one.cells) for one in tables])
    equal = (cores[at][:, None] == cores) & (apart < 1e-9)
    return np.exp(-apart / (2 * _LENGTH**2)), equal.astype(float)


def _choices_alike(tables: Sequence[PriorRuns], at: Indices) -> tuple[Array, Array]:
    """Count the choices that these configurations share with each of all, and do not share."""
    rows = [row for one in tables for row in one.choices or [()] * len(one.cells)]
    most = max(map(len, rows), default=0)
    numbers: dict[str, int] = {"": 0}
    places = np.zeros((len(rows), most), dtype=np.intp)
    for number, row in enumerate(rows):
        places[number, : len(row)] = [numbers.setdefault(one, len(numbers)) for one in row]
    mine = places[at][:, None]
    same = ((mine == places) & (mine != 0)).sum(axis=-1)
    return same.astype(float), (mine != places).sum(axis=-1).astype(float)
