"""Say of an experiment how far it is: of each run how it ended, and on a terminal what runs now.

A line for each run, `hearth: 3/30  bound, run 2: 12.34 s`, stays. Below stands how long it took so
far, and how long it still takes if the runs to come take as long as those like them took.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from hearth.base.progress import Work, working
from hearth.studies.engine.idle_wait import Quiet
from hearth.studies.engine.trial import Outcome, Turn


@dataclass
class Pace:
    """How long runs took, from start to end. `left_s` claims nothing before one has ended."""

    taken: list[tuple[Turn, float]] = field(default_factory=list)

    def left_s(self, running: Turn, for_s: float, ahead: Sequence[Turn]) -> float | None:
        """Return the rest of a run that goes on for so long, and the runs ahead of it."""
        if not self.taken:
            return None
        return max(0.0, self._expected(running) - for_s) + sum(map(self._expected, ahead))

    def _expected(self, turn: Turn) -> float:
        """Return the mean of the runs of this arm, else of this subject, else of all."""
        likes: tuple[Callable[[Turn], bool], ...] = (
            lambda other: (other.subject, other.arm) == (turn.subject, turn.arm),
            lambda other: other.subject == turn.subject,
            lambda other: True,
        )
        alike = ([seconds for other, seconds in self.taken if like(other)] for like in likes)
        return statistics.mean(next(found for found in alike if found))


@contextmanager
def continued_with(words: str) -> Iterator[None]:
    """After Ctrl-C, says which words make the same command go on."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"hearth: the same command with {words} continues from here", file=sys.stderr)
        raise


class Following:
    """Follows the runs of one experiment, or of several one after the other.

    at_most: there may be fewer runs. with_subject: runs are named by subject and arm. quiet: looks
    for other programs before a run; None where nobody does.
    """

    def __init__(
        self,
        at_most: bool = False,
        with_subject: bool = False,
        clock: Callable[[], float] = time.monotonic,
        quiet: Quiet | None = None,
    ) -> None:
        self.at_most, self.with_subject, self._quiet = at_most, with_subject, quiet
        #: What the runs are for, where there are several experiments.
        self.question = ""
        self.failed = False
        #: The runs of the experiments that come after the one that runs.
        self.later: Sequence[Turn] = ()
        self._clock, self._pace, self._ended = clock, Pace(), 0
        self._work: Work | None = None

    def ended(self, earlier: int) -> None:
        """So many of the runs ended before, in an experiment that was cut short."""
        self._ended += earlier

    @contextmanager
    def shown(self) -> Iterator[None]:
        """For as long as it goes on."""
        with working("", left=lambda: None) as self._work:
            yield

    def run(self, turn: Turn, ahead: Sequence[Turn], run: Callable[[Turn], Outcome]) -> Outcome:
        """Make a run, and show it meanwhile."""
        if self._quiet is not None:
            self._quiet.before_run(self._work)
        start, ahead = self._clock(), [*ahead, *self.later]
        self._ended += 1
        number, name = f"{self._ended}/{self._ended + len(ahead)}", self._before(turn)
        if self._work is not None:
            limit = " at most" if self.at_most else ""
            self._work.title = f"run {number}{limit}: {name}{turn.shown}"
            self._work.left = lambda: self._pace.left_s(turn, self._clock() - start, ahead)
            self._work.show(self._ended - 1, self._ended + len(ahead))
        outcome = run(turn)
        self._pace.taken.append((turn, self._clock() - start))
        self.failed = self.failed or outcome.failure is not None
        print(f"hearth: {number}  {name}{outcome.shown}", file=sys.stderr, flush=True)
        return outcome

    def _before(self, turn: Turn) -> str:
        names = [turn.subject] if self.with_subject else []
        names += [self.question] if self.question else []
        return f"{', '.join(names)}: " if names else ""
