"""Decide which trial to make next, when to stop, and what to recommend.

A pure function of the trials so far, so that a search that was cut short goes on in it.

The order: the plan's proposal, the user's own configuration, then the untried configuration that
is most likely to save `_WORTHWHILE` or more (Kushner 1964), or the one of the most expected
improvement where the likeliest is not worth a trial. The last trial of the budget repeats the best,
and the user's own is repeated where no other is worth a trial: without repeats neither the scatter
of the times nor the gain is known.

A trial is worth its time when its expected improvement, over the runs that the application will
have with the result, is more than the trial takes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hearth.studies.models.performance_model import UNSEEN, Array, ModelEvidence
from hearth.studies.models.space import Configuration, MachineSize, Role
from hearth.studies.models.surrogate import Forecast, PriorRuns, forecast

#: Where the user does not say: most trials, and how often the result will be used.
BUDGET, FOR_RUNS = 8, 100
#: A trial that has run this many times as long as the best is stopped: it cannot be the best.
EARLY_STOP_FACTOR = 1.5
#: What a trial is hoped to save, as the logarithm of the time.
_WORTHWHILE = 0.03
#: Scatter of repeated runs (standard deviation of the logarithm) that is assumed, and how many
#: pairs of runs the assumption is worth; from the scatter `TOO_LARGE` on, tuning is a lottery.
_SCATTER, _WORTH_PAIRS = 0.05, 2
TOO_LARGE = 0.2
#: Of the intervals (one side is half of the rest); Student's t with the pairs behind the scatter.
CONFIDENCE = 0.9
#: From this budget on the best is repeated at the end.
_REPEATS_FROM = 5


@dataclass(frozen=True)
class SearchTrial:
    """A trial that ended. seconds: what it took; None: it failed.

    stopped: it ran longer than was worth it, for so many seconds. evidence: what was measured
    besides the time. idle: settings that it shows to have nothing to act on.
    """

    index: int
    seconds: float | None
    stopped: bool = False
    out_of_memory: bool = False
    evidence: ModelEvidence = UNSEEN
    idle: frozenset[str] = frozenset()

    @property
    def ended(self) -> bool:
        return self.seconds is not None and not self.stopped


@dataclass(frozen=True)
class Task:
    """A search: the configurations, the first two to try, and knowledge of other workloads.

    runs: how often the application will be run with the result.
    """

    machine: MachineSize
    configurations: tuple[Configuration, ...]
    proposal: int
    current: int
    budget: int
    runs: int
    related: tuple[PriorRuns, ...] = field(default=())


@dataclass(frozen=True)
class SearchStep:
    """The next trial, and what was believed before it; neither belief nor gain before one ended.

    gain: the share of the best's time that it is expected to save.
    """

    index: int
    role: Role
    gain: float | None = None
    before: "Outlook | None" = None


@dataclass(frozen=True)
class Stop:
    """The reason to make no further trial."""

    reason: str


@dataclass(frozen=True)
class Outlook:
    """Forecasts: the logarithm of each configuration's seconds, and the scatter of runs.

    best: the recommended one of those that ended. pairs: the degrees of freedom of the scatter.
    """

    forecast: Forecast
    best: int
    scatter: float
    pairs: int

    def interval(self, index: int) -> tuple[float, float, float]:
        """Return low, expected, high seconds of a configuration."""
        middle = float(self.forecast.mean[index])
        reach = self._factor * float(self.forecast.deviation[index])
        return math.exp(middle - reach), math.exp(middle), math.exp(middle + reach)

    def saving(self, index: int, over: int) -> tuple[float, float, float]:
        """Return low, expected, high share that a configuration saves of another's time.

        Their forecasts are taken to be independent, which makes the interval wide rather than
        narrow where they are alike.
        """
        mean, deviation = self.forecast.mean, self.forecast.deviation
        middle = float(mean[index] - mean[over])
        reach = self._factor * math.hypot(float(deviation[index]), float(deviation[over]))
        return 1 - math.exp(middle + reach), 1 - math.exp(middle), 1 - math.exp(middle - reach)

    @property
    def _factor(self) -> float:
        from scipy.stats import t

        return float(t.ppf((1 + CONFIDENCE) / 2, self.pairs + _WORTH_PAIRS))


def outlook(task: Task, trials: Sequence[SearchTrial]) -> Outlook | None:
    """Return the forecasts after these trials; None if none has ended."""
    ended = [trial for trial in trials if trial.ended]
    if not ended:
        return None
    scatter, pairs = _scatter(ended)
    cells = tuple(one.cell for one in task.configurations)
    choices = tuple(one.choices for one in task.configurations)
    target = PriorRuns(task.machine, cells, choices=choices)
    evidence = {task.configurations[trial.index].cell: trial.evidence for trial in ended}
    measured = [(trial.index, trial.seconds) for trial in trials if trial.seconds is not None]
    at, logs = [index for index, _ in measured], [math.log(seconds) for _, seconds in measured]
    expected = forecast(target, task.related, at, logs, noise=scatter, evidence=evidence)
    best = min({trial.index for trial in ended}, key=lambda at: float(expected.mean[at]))
    return Outlook(expected, best, scatter, pairs)


def _scatter(ended: Sequence[SearchTrial]) -> tuple[float, int]:
    """Return the standard deviation of repeated runs' logs, with what is assumed, and its pairs."""
    squares, pairs = 0.0, 0
    for index in {trial.index for trial in ended}:
        logs = [math.log(trial.seconds or 1.0) for trial in ended if trial.index == index]
        squares += float(np.var(logs)) * len(logs)
        pairs += len(logs) - 1
    return math.sqrt((squares + _WORTH_PAIRS * _SCATTER**2) / (pairs + _WORTH_PAIRS)), pairs


def measured_scatter(trials: Sequence[SearchTrial]) -> float | None:
    """Return the scatter of the repeated runs alone; None where none was repeated."""
    ended = [trial for trial in trials if trial.ended]
    scatter, pairs = _scatter(ended)
    if not pairs:
        return None
    return math.sqrt(
        max(0.0, scatter**2 * (pairs + _WORTH_PAIRS) - _WORTH_PAIRS * _SCATTER**2) / pairs
    )


def next_step(task: Task, trials: Sequence[SearchTrial]) -> SearchStep | Stop:
    """Return the next trial, or why there is none.

    What to do where nothing ended is the caller's.
    """
    if len(trials) >= task.budget:
        return Stop(f"the budget of {task.budget} trials is spent")
    tried = {trial.index for trial in trials}
    if task.proposal not in tried:
        return SearchStep(task.proposal, "proposal")
    if task.current not in tried:
        return SearchStep(task.current, "current", before=outlook(task, trials))
    now = outlook(task, trials)
    if now is None:
        return Stop("no trial ended")
    left = [at for at in range(len(task.configurations)) if at not in tried]
    left = [at for at in left if not _ruled_out(task, trials, at)]
    repeats = _repeats(task, trials, now)
    is_last = task.budget - len(trials) == 1 and task.budget >= _REPEATS_FROM
    if is_last and now.best in repeats:
        return SearchStep(repeats[0], "repeat", before=now)
    worth = _worth(task, now, left)
    if worth is not None:
        return worth
    if repeats:
        return SearchStep(repeats[0], "repeat", before=now)
    return Stop(_why_enough(task, now, left))


def _worth(task: Task, now: Outlook, left: Sequence[int]) -> SearchStep | None:
    """Return the best of the untried configurations that is worth a trial."""
    if not left:
        return None
    gains = expected_gain(now, left)
    mean, deviation = now.forecast.mean[list(left)], now.forecast.deviation[list(left)]
    ahead = float(now.forecast.mean[now.best]) - mean
    likeliest = int(np.argmax((ahead - _WORTHWHILE) / np.maximum(deviation, 1e-9)))
    for at in (likeliest, int(np.argmax(gains))):
        takes = math.exp(float(now.forecast.mean[left[at]] - now.forecast.mean[now.best]))
        if gains[at] * task.runs > min(takes, EARLY_STOP_FACTOR):
            return SearchStep(left[at], "search", float(gains[at]), now)
    return None


def _repeats(task: Task, trials: Sequence[SearchTrial], now: Outlook) -> list[int]:
    """Return the configurations to repeat: the best, and the user's own, if measured only once."""
    ended = [trial.index for trial in trials if trial.ended]
    both = dict.fromkeys((now.best, task.current))
    return [index for index in both if ended.count(index) == 1]


def _ruled_out(task: Task, trials: Sequence[SearchTrial], index: int) -> bool:
    """Return whether earlier trials rule a configuration out.

    Its executors failed, executors with as much memory for each task slot ran out of it, or a
    setting that it varies was seen to have no effect.
    """
    one = task.configurations[index]
    for trial in trials:
        failed = task.configurations[trial.index]
        if trial.seconds is None and failed.cell == one.cell:
            return True
        if not trial.idle.isdisjoint(one.varied):
            return True
        if trial.out_of_memory and one.heap_mb / one.cores <= failed.heap_mb / failed.cores:
            return True
    return False


def expected_gain(now: Outlook, indices: Sequence[int]) -> Array:
    """Return the expected improvement of each configuration, as a share of the best's time.

    The usual expected improvement (Jones, Schonlau and Welch 1998) of a normal logarithm.
    """
    from scipy.stats import norm

    mean, deviation = now.forecast.mean[list(indices)], now.forecast.deviation[list(indices)]
    deviation = np.maximum(deviation, 1e-9)
    ahead = float(now.forecast.mean[now.best]) - mean
    score = ahead / deviation
    below = np.exp(-ahead + deviation**2 / 2) * norm.cdf(score - deviation)
    gain: Array = np.maximum(norm.cdf(score) - below, 0.0)
    return gain


def _why_enough(task: Task, now: Outlook, left: Sequence[int]) -> str:
    if not left:
        return "every configuration that fits was tried"
    gain = float(expected_gain(now, left).max())
    return (
        f"the next trial is expected to save {gain:.1%} of the time, which over {task.runs} runs "
        "is less than the trial takes"
    )
