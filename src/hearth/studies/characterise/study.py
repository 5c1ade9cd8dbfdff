"""A characterisation: the studies' questions for this machine, each answered by a comparison.

The head says the questions; its journal has the runs of all, so that after kill -9 none is lost.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hearth.base.errors import UserError
from hearth.studies.characterise.answers import answered
from hearth.studies.characterise.questions import Question
from hearth.studies.characterise.result import (
    SCHEMA,
    AnsweredQuestion,
    CharacterisationHead,
    CharacterisationSettings,
    Characterised,
    ListedQuestion,
)
from hearth.studies.compare.result import ComparisonSettings
from hearth.studies.compare.study import compare, head_of
from hearth.studies.compare.verdict import compared
from hearth.studies.engine.progress import Quiet, StudyProgress
from hearth.studies.engine.schedule import StudyDesign
from hearth.studies.engine.store import CHARACTERISE, NEW, Listed, Opening, Study, started_now
from hearth.studies.engine.target import Target
from hearth.studies.engine.trial import Trial, Turn


@dataclass(frozen=True)
class TargetQuestion:
    """A question about a target."""

    target: Target
    question: Question

    @property
    def subject(self) -> str:
        """What its runs are named by."""
        return f"{self.target.name}, {self.question.key}"

    def listed(
        self, number: str, settings: CharacterisationSettings, sustained_gb_s: float | None
    ) -> ListedQuestion:
        """Return it as the head of the characterisation of this id has it."""
        target, question = self.target, self.question
        listed = ListedQuestion(
            self.subject, target.name, question.key, question.title, question.source,
            list(question.notes), question.unanswerable,
        )  # fmt: skip
        if question.unanswerable is not None:
            return listed
        runs = ComparisonSettings(
            warmup=settings.warmup,
            seed=settings.seed,
            cold=settings.cold,
            command=[target.name],
            repeat=settings.repeat,
            timed=target.timed,
            sustained_gb_s=sustained_gb_s,
        )
        return replace(listed, comparison=head_of(number, target.name, question.arms, runs))

    def turns(self, settings: CharacterisationSettings) -> list[Turn]:
        """Return its runs; none of one that this machine cannot answer."""
        arms = [arm.name for arm in self.question.arms if self.question.unanswerable is None]
        often = (settings.repeat, settings.warmup, settings.seed)
        return StudyDesign({self.subject: arms}, *often).turns()


class Characterisation(Study[CharacterisationHead, Trial]):
    """One characterisation on disk, and the runs of all its questions."""

    kind, head_type, line_type = CHARACTERISE, CharacterisationHead, Trial

    @staticmethod
    def begin(
        home: Path,
        name: str,
        questions: Sequence[TargetQuestion],
        settings: CharacterisationSettings,
        opening: Opening = NEW,
        sustained_gb_s: float | None = None,
    ) -> "Characterisation":
        """Return a new one below `home`, or the one to go on with."""

        def head(number: str) -> CharacterisationHead:
            subjects = list(dict.fromkeys(one.target.name for one in questions))
            listed = [one.listed(number, settings, sustained_gb_s) for one in questions]
            return CharacterisationHead(number, started_now(), subjects, settings, listed)

        return Characterisation.open(home, name, head, opening)

    @staticmethod
    def identity(head: CharacterisationHead) -> dict[str, object]:
        identity = {"subjects": head.subjects, "questions": [one.key for one in head.questions]}
        arms = {f"arms of {one.subject}": [arm.name for arm in one.comparison.arms]
                for one in head.questions if one.comparison is not None}  # fmt: skip
        return {**identity, **arms, **vars(head.settings)}

    @staticmethod
    def listed(head: CharacterisationHead) -> Listed:
        keys = dict.fromkeys(one.key for one in head.questions)
        return Listed(head.started, ", ".join(head.subjects), list(keys))

    def run(
        self,
        questions: Sequence[TargetQuestion],
        budget_s: float | None = None,
        quiet: Quiet | None = None,
    ) -> bool:
        """Make the runs that are missing, question after question; return whether one failed."""
        start = time.monotonic()
        progress = StudyProgress(budget_s is not None, with_subject=True, quiet=quiet)
        with progress.shown():
            for at, (one, listed) in enumerate(zip(questions, self.head.questions, strict=True)):
                left_s = None if budget_s is None else budget_s - (time.monotonic() - start)
                later = [other.turns(self.head.settings) for other in questions[at + 1 :]]
                progress.later = [turn for turns in later for turn in turns]
                if listed.comparison is not None and (left_s is None or left_s > 0):
                    compare(
                        self, listed.comparison, one.subject, one.question.arms, one.target,
                        progress, budget_s=left_s, independent=True,
                    )  # fmt: skip
        return progress.failed

    def characterised(self) -> Characterised:
        """Return the result so far."""
        head = self.head
        trials: dict[str, list[Trial]] = {}
        for trial in self.trials:
            trials.setdefault(trial.turn.subject, []).append(trial)
        questions = [_answered(one, trials, head.id) for one in head.questions]
        return Characterised(SCHEMA, head.id, head.started, head.subjects, head.settings, questions)


def _answered(
    one: ListedQuestion, trials: Mapping[str, Sequence[Trial]], number: str
) -> AnsweredQuestion:
    """Return a question with its answer, or with the reason why there is none."""
    question = AnsweredQuestion(one.application, one.key, one.title, one.source, one.notes)
    runs = trials.get(one.subject, ())
    if one.comparison is None or not runs:
        later = f"no run of it was made: give a longer --budget with --resume {number}"
        return replace(question, reason=one.unanswerable or later)
    try:
        result = compared(one.comparison, runs)
        answer = answered(one.key, result, runs)
        return replace(question, comparison=result, **vars(answer))
    except UserError as problem:
        why = str(problem)
    except (ValueError, LookupError, TypeError) as problem:  # runs of another question
        why = f"its runs do not answer it: {problem!r}"
    return replace(question, reason=why)
