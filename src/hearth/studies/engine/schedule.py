"""The loop that makes the trials of every study, and the schedule of arms that are repeated.

What an arm is, the runner alone knows: a master, a set of settings, two applications at once. The
order is a pure function of the design, so that a study that was cut short goes on in it.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from hearth.studies.engine.progress import StudyProgress
from hearth.studies.engine.trial import Trial, Turn

#: Makes one run; what it raises ends the study.
Runner = Callable[[Turn], Trial]
#: Whether so many repetitions, with these trials, are enough.
StopRule = Callable[[int, Sequence[Trial]], bool]


@dataclass(frozen=True)
class StudyDesign:
    """The design of a study: what is run, how often and in which order.

    arms: the names of the arms of each subject. repeat: the most measured repetitions; warmup:
    those before them. budget_s: a repetition that would not fit into it is not begun.
    baseline: the arm beside which alone the others count; None where each counts by itself.
    failed_again: whether an arm that failed is run in the next repetition, and when resumed.
    """

    arms: Mapping[str, Sequence[str]]
    repeat: int
    warmup: int = 0
    seed: int = 1
    budget_s: float | None = None
    baseline: str | None = None
    failed_again: bool = False

    def rounds(self) -> Iterator[list[Turn]]:
        """Yield the turns of each repetition: subjects in random order, and the arms of each
        together; the second repetition mirrors the first.

        What drifts slowly so disturbs all arms of a subject alike. By chance alone three pairs are
        in one order once in four times, and a drift then looks like a sure difference
        (benchmarks/coverage.py). The order follows from the seed.
        """
        draw = random.Random(self.seed)
        turns: list[Turn] = []
        for repetition in range(-self.warmup, self.repeat):
            if repetition == 1:
                turns = [replace(turn, repetition=1) for turn in reversed(turns)]
            else:
                turns = [
                    Turn(subject, arm, repetition)
                    for subject in draw.sample(list(self.arms), len(self.arms))
                    for arm in draw.sample(list(self.arms[subject]), len(self.arms[subject]))
                ]
            yield turns

    def turns(self) -> list[Turn]:
        """Return all turns, in their order."""
        return [turn for turns in self.rounds() for turn in turns]

    def missing(self, turns: Sequence[Turn], trials: Sequence[Trial]) -> list[Turn]:
        """Return those of a repetition's turns that are still to be run, after these trials."""
        done = {trial.turn for trial in trials if trial.failure is None}
        left = [turn for turn in turns if turn not in done]
        if self.failed_again:
            return left
        failed = {(t.turn.subject, t.arm) for t in trials if t.failure is not None}
        return [
            turn
            for turn in left
            if (turn.subject, turn.arm) not in failed and not self._alone(turn.subject, failed)
        ]

    def _alone(self, subject: str, failed: set[tuple[str, str]]) -> bool:
        """Return whether nothing is left of a subject that could be compared with the baseline."""
        if self.baseline is None:
            return False
        running = [arm for arm in self.arms[subject] if (subject, arm) not in failed]
        return self.baseline not in running or len(running) < 2


def _never(repetition: int, trials: Sequence[Trial]) -> bool:
    return False


class TrialSchedule(Protocol):
    """Decides which trials come next from those so far."""

    def next_turns(self, trials: Sequence[Trial]) -> Sequence[Turn]:
        """Return those to make before it is asked again; none at the end."""

    def after(self, turn: Turn, trials: Sequence[Trial]) -> Sequence[Turn]:
        """Return those that are expected to follow one, for progress."""


class Repetitions:
    """The schedule of a design: its repetitions, until the budget or the stop rule ends it.

    enough: asked before each repetition but the first.
    """

    def __init__(
        self,
        design: StudyDesign,
        enough: StopRule = _never,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.design, self._enough, self._clock = design, enough, clock
        self._start, self._made = clock(), 0
        self._rounds, self._turns = design.rounds(), design.turns()

    def next_turns(self, trials: Sequence[Trial]) -> Sequence[Turn]:
        for turns in self._rounds:
            missing = self.design.missing(turns, trials)
            if missing:
                return [] if self._ends_before(missing[0].repetition, trials) else missing
        return []

    def _ends_before(self, repetition: int, trials: Sequence[Trial]) -> bool:
        spent, made = self._clock() - self._start, self._made
        self._made += 1
        over = _over(self.design.budget_s, spent, made)
        return repetition > 0 and (over or self._enough(repetition, trials))

    def after(self, turn: Turn, trials: Sequence[Trial]) -> Sequence[Turn]:
        later = self._turns[self._turns.index(turn) + 1 :]
        return self.design.missing(later, trials)


def conduct(
    schedule: TrialSchedule,
    run: Runner,
    keep: Callable[[Trial], None],
    *,
    earlier: Sequence[Trial] = (),
    progress: StudyProgress | None = None,
) -> None:
    """Make the trials of a schedule, and hand each to `keep` before the next begins.

    earlier: the trials that a study cut short has kept. progress: shows how far it is.
    """
    trials = list(earlier)
    if progress is not None:
        progress.ended(sum(trial.failure is None for trial in trials))
    while turns := schedule.next_turns(trials):
        for turn in turns:
            if progress is None:
                trial = run(turn)
            else:
                trial = progress.run(turn, schedule.after(turn, trials), run)
            trials.append(trial)
            keep(trial)


def _over(budget_s: float | None, spent_s: float, rounds: int) -> bool:
    """Return whether one more repetition of the usual length would exceed the budget."""
    return budget_s is not None and rounds > 0 and spent_s + spent_s / rounds > budget_s
