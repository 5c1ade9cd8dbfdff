"""Report progress while a study runs, and wait for the machine to be idle.

Before a run: whether other programs keep the machine busy. Of each run: how it ended, as a line
that stays, `hearth: 3/30  bound, run 2: 12.34 s`; below it on a terminal what runs now, how long it
took so far, and how long all still takes if the runs to come take as long as those like them took.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hearth.analysis.findings import OTHER_LOAD_SHARE
from hearth.base.durations import show_seconds, span
from hearth.base.progress import Work, tick, working
from hearth.record.kernel import CPU_FIELDS, parse_cpus
from hearth.studies.engine.trial import Trial, Turn

_LOOK_S = 1.0
#: Not used by a program of this machine.
_UNUSED = tuple(CPU_FIELDS.index(name) for name in ("idle", "iowait", "steal"))


def busy_share(
    sleep: Callable[[float], None] = time.sleep, stat: Path = Path("/proc/stat")
) -> float | None:
    """Return the share of the CPUs allowed here that is in use, over a second; None if it is
    unknown.

    To be asked while nothing of one's own runs.
    """
    try:
        before = parse_cpus(stat.read_text())
        sleep(_LOOK_S)
        after = parse_cpus(stat.read_text())
    except (OSError, ValueError):
        return None
    unused = total = 0
    for cpu in map(str, os.sched_getaffinity(0)):
        if cpu in before and cpu in after:
            passed = [new - old for old, new in zip(before[cpu], after[cpu], strict=True)]
            unused += sum(passed[at] for at in _UNUSED)
            total += sum(passed)
    return 1 - unused / total if total > 0 else None


@dataclass
class Quiet:
    """Wait until the machine is idle before each run.

    wait_s: how long to wait for them at most, before each run; None: say it once, before the first.
    """

    wait_s: float | None = None
    look: Callable[[], float | None] = busy_share
    clock: Callable[[], float] = time.monotonic
    _asked: bool = False

    def before_run(self, work: Work | None) -> None:
        """Wait, or warn. work: show that it waits."""
        if self.wait_s is None and self._asked:
            return
        self._asked = True
        share, start = self.look(), self.clock()
        while self.wait_s and _busy(share) and self.clock() - start < self.wait_s:
            if work is not None:
                work.title = f"waiting for other programs, which use {share:.0%} of the CPUs"
                tick()
            share = self.look()
        if _busy(share):
            print(f"hearth: warning: {self._warning(share)}", file=sys.stderr, flush=True)

    def _warning(self, share: float | None) -> str:
        used = f"other programs use {share:.0%} of the CPUs"
        if self.wait_s is None:
            return f"{used}, so times will scatter: stop them, or wait with --wait-quiet 10m"
        return f"{used} after {show_seconds(self.wait_s, 0)} of waiting: the next run goes on"


def _busy(share: float | None) -> bool:
    return share is not None and share > OTHER_LOAD_SHARE


@dataclass
class Pace:
    """The durations of runs. `left_s` is unknown before one has ended."""

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
        return statistics.mean(next(durations for durations in alike if durations))


@contextmanager
def continued_with(words: str) -> Iterator[None]:
    """Say after Ctrl-C with which words behind `hearth` it goes on."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"hearth: 'hearth {words}' continues from here", file=sys.stderr)
        raise


class StudyProgress:
    """Follows the runs of one study, or of several one after the other.

    at_most: there may be fewer runs. with_subject: runs are named by subject and arm. quiet: looks
    for other programs before a run; None where nobody does. fewest: of all runs that there will be.
    """

    def __init__(
        self,
        at_most: bool = False,
        with_subject: bool = False,
        clock: Callable[[], float] = time.monotonic,
        quiet: Quiet | None = None,
        fewest: int | None = None,
    ) -> None:
        self.at_most, self.with_subject, self._quiet = at_most, with_subject, quiet
        self._fewest = fewest
        #: What the runs are for, where there are several studies.
        self.question = ""
        self.failed = False
        #: The runs of the studies that come after the one that runs.
        self.later: Sequence[Turn] = ()
        self._clock, self._pace, self._ended = clock, Pace(), 0
        self._work: Work | None = None

    def ended(self, earlier: int) -> None:
        """Count runs that ended earlier, in a study that was cut short."""
        self._ended += earlier

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show progress while the body runs."""
        with working("", left=lambda: None) as self._work:
            yield

    def run(self, turn: Turn, ahead: Sequence[Turn], run: Callable[[Turn], Trial]) -> Trial:
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
        trial = run(turn)
        self._pace.taken.append((turn, self._clock() - start))
        self.failed = self.failed or trial.failure is not None
        left = self._left(ahead) if len(self._pace.taken) == 1 else ""
        print(f"hearth: {number}  {name}{trial.shown}{left}", file=sys.stderr, flush=True)
        return trial

    def _left(self, ahead: Sequence[Turn]) -> str:
        """Return about how long the runs ahead take, where it was asked how many these are."""
        if self._fewest is None or not ahead:
            return ""
        least = max(self._fewest - self._ended, 1)
        times_s = [self._pace.left_s(ahead[0], 0.0, some[1:]) for some in (ahead[:least], ahead)]
        return f"; about {span(times_s[0] or 0.0, times_s[1] or 0.0)} left"

    def _before(self, turn: Turn) -> str:
        names = [turn.subject] if self.with_subject else []
        names += [self.question] if self.question else []
        return f"{', '.join(names)}: " if names else ""
