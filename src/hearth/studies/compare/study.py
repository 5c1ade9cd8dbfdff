"""Run a comparison: arms interleaved in random order, each run recorded and kept as it ends.

The verdict is derived from what is kept, and not stored.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hearth.base.errors import UserError
from hearth.record.store import slug
from hearth.spark.saved_configs import machine_key
from hearth.studies.compare.result import ComparisonHead, ComparisonSettings, ListedArm
from hearth.studies.compare.verdict import certain
from hearth.studies.engine.arms import Arm, setting_words
from hearth.studies.engine.progress import StudyProgress
from hearth.studies.engine.runner import run_arm
from hearth.studies.engine.schedule import Repetitions, StudyDesign, conduct
from hearth.studies.engine.store import COMPARE, NEW, Listed, Opening, Study, started_now
from hearth.studies.engine.target import Target
from hearth.studies.engine.trial import Trial, Turn


def head_of(
    number: str, application: str, arms: Sequence[Arm], settings: ComparisonSettings
) -> ComparisonHead:
    """Return what a comparison of these arms is; the first is the baseline."""
    return ComparisonHead(
        id=number,
        application=application,
        started=started_now(),
        baseline=arms[0].name,
        arms=[ListedArm(arm.name, arm.skipped, setting_words(arm)) for arm in arms],
        settings=settings,
        machine=machine_key() if any(arm.fix for arm in arms) else None,
    )


class Comparison(Study[ComparisonHead, Trial]):
    """One comparison on disk, and the trials in it, in the order of time."""

    kind, head_type, line_type = COMPARE, ComparisonHead, Trial

    @staticmethod
    def begin(
        home: Path,
        application: str,
        arms: Sequence[Arm],
        settings: ComparisonSettings,
        opening: Opening = NEW,
    ) -> "Comparison":
        """Return a new, empty one below `home`, or the one to go on with."""
        return Comparison.open(
            home, application, lambda number: head_of(number, application, arms, settings), opening
        )

    @staticmethod
    def identity(head: ComparisonHead) -> dict[str, object]:
        names = [arm.name for arm in head.arms]
        return {"application": head.application, "arms": names, **vars(head.settings)}

    @staticmethod
    def listed(head: ComparisonHead) -> Listed:
        return Listed(head.started, head.application, [arm.name for arm in head.arms])


def run(
    comparison: Comparison,
    arms: Sequence[Arm],
    target: Target,
    progress: StudyProgress | None = None,
    *,
    budget_s: float | None = None,
) -> None:
    """Make the runs that are not in the comparison yet; progress: show how far it is."""
    head = comparison.head
    compare(comparison, head, head.application, arms, target, progress, budget_s=budget_s)


def compare(
    study: Study[Any, Trial],
    head: ComparisonHead,
    subject: str,
    arms: Sequence[Arm],
    target: Target,
    progress: StudyProgress | None = None,
    *,
    budget_s: float | None = None,
    independent: bool = False,
) -> None:
    """Make the runs of a comparison that are not among the study's trials of this subject yet.

    independent: whether each arm counts by itself: a verdict needs the runs of the baseline, and an
    error of the user's ends it; the answer to a question goes on without an arm that has one.
    """
    settings, ways = head.settings, {arm.name: arm for arm in arms if arm.skipped is None}
    design = StudyDesign(
        arms={subject: list(ways)},
        repeat=settings.most,
        warmup=settings.warmup,
        seed=settings.seed,
        budget_s=budget_s,
        baseline=None if independent else head.baseline,
    )

    def make(turn: Turn) -> Trial:
        name = turn.arm if subject == head.application else f"{subject} {turn.arm}"
        log = f"{slug(name)}-{turn.repetition}"
        try:
            return run_arm(
                study, target, ways[turn.arm], turn, log, cold=settings.cold, others=arms
            )
        except UserError as error:
            if independent:
                return Trial(turn, failure=str(error))
            raise

    def enough(repetitions: int, trials: Sequence[Trial]) -> bool:
        """Stop when it is certain, at the looks that its settings name, and at no others.

        Each look is one more chance to be wrong, and the intervals are made for so many.
        """
        return repetitions in (settings.looks or ()) and certain(head, trials)

    earlier = [trial for trial in study.trials if trial.turn.subject == subject]
    conduct(Repetitions(design, enough), make, study.keep, earlier=earlier, progress=progress)
