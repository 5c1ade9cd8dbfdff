"""Ways to choose the next configuration: hearth's, and those that it is held against.

Each is asked for an untried configuration (an index) and told the seconds that it took.
"""

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from hearth.tuning.space import Cell
from hearth.tuning.surrogate import Belief


class Method(Protocol):
    """Asked and told in turn; never asked more often than there are configurations."""

    def ask(self) -> int:
        """The index of the configuration to run next."""

    def tell(self, index: int, seconds: float) -> None:
        """What it took."""

    def recommended(self) -> int:
        """The best of those that were tried, as far as it can tell."""


class Told:
    """What was tried, and the rule that the fastest is recommended."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.cells = cells
        self.tried: list[int] = []
        self.seconds: list[float] = []

    def tell(self, index: int, seconds: float) -> None:
        self.tried.append(index)
        self.seconds.append(seconds)

    def recommended(self) -> int:
        return self.tried[int(np.argmin(self.seconds))]

    def left(self) -> list[int]:
        """Those that were not tried."""
        return [index for index in range(len(self.cells)) if index not in self.tried]


class Tuner(Told):
    """hearth's own: the untried configuration whose forecast is the shortest (greedy).

    Lower confidence bounds and expected improvement needed more runs on tables and on imagined
    applications: the prior's covariance spreads the first choices by itself.
    """

    def __init__(self, cells: Sequence[Cell], belief: Belief) -> None:
        super().__init__(cells)
        self._belief = belief
        self.forecast = belief.after([], [])

    def ask(self) -> int:
        mean = self.forecast.mean.copy()
        mean[self.tried] = np.inf
        return int(np.argmin(mean))

    def tell(self, index: int, seconds: float) -> None:
        super().tell(index, seconds)
        logarithms = [math.log(value) for value in self.seconds]
        self.forecast = self._belief.after(self.tried, logarithms)

    def recommended(self) -> int:
        """By forecast, not by the one measurement: a lucky run is not chosen for its luck."""
        return min(self.tried, key=lambda index: float(self.forecast.mean[index]))


class RandomSearch(Told):
    """Any untried configuration."""

    def __init__(self, cells: Sequence[Cell], seed: int) -> None:
        super().__init__(cells)
        self._draw = np.random.default_rng(seed)

    def ask(self) -> int:
        return int(self._draw.choice(self.left()))


class HillClimbing(RandomSearch):
    """A neighbour of the fastest in executors or cores; any other where none is left."""

    def __init__(self, cells: Sequence[Cell], seed: int, start: int | None = None) -> None:
        super().__init__(cells, seed)
        self._start = start
        workers = sorted({cell.workers for cell in cells})
        cores = sorted({cell.cores_per_worker for cell in cells})
        self._place = np.array(
            [(workers.index(one.workers), cores.index(one.cores_per_worker)) for one in cells]
        )

    def ask(self) -> int:
        if not self.tried:
            return super().ask() if self._start is None else self._start
        apart = np.abs(self._place - self._place[self.recommended()]).max(axis=1)
        near = [index for index in self.left() if apart[index] == 1]
        return int(self._draw.choice(near)) if near else super().ask()


class OptunaSampler(Told):
    """A sampler of Optuna over the logarithms of executors and cores, at the nearest untried."""

    def __init__(self, cells: Sequence[Cell], name: str, seed: int) -> None:
        import optuna

        super().__init__(cells)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        samplers = {"tpe": optuna.samplers.TPESampler, "gp": optuna.samplers.GPSampler}
        self._study = optuna.create_study(sampler=samplers[name](seed=seed))
        self._place = np.log2([(one.workers, one.cores_per_worker) for one in cells])
        self._space: dict[str, Any] = {
            axis: optuna.distributions.FloatDistribution(low, max(high, low + 1e-6))
            for axis, low, high in zip(
                ("workers", "cores"), self._place.min(0), self._place.max(0), strict=True
            )
        }
        self._optuna = optuna

    def ask(self) -> int:
        trial = self._study.ask(self._space)
        wanted = np.array([trial.params["workers"], trial.params["cores"]])
        # What is told is the configuration that ran, not the point that was asked for.
        self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        return min(self.left(), key=lambda at: float(((self._place[at] - wanted) ** 2).sum()))

    def tell(self, index: int, seconds: float) -> None:
        super().tell(index, seconds)
        params = dict(zip(("workers", "cores"), self._place[index].tolist(), strict=True))
        self._study.add_trial(
            self._optuna.trial.create_trial(
                params=params, distributions=self._space, value=math.log(seconds)
            )
        )


def absent_samplers() -> dict[str, str]:
    """Which of Optuna's samplers cannot be used here, and why."""
    try:
        import optuna  # noqa: F401
    except ImportError:
        why = "Optuna is not installed: pip install 'hearth[tune]'"
        return {"tpe": why, "gp": why}
    try:
        import torch  # noqa: F401
    except ImportError:
        return {"gp": "PyTorch is not installed, which Optuna's GP sampler needs"}
    return {}
