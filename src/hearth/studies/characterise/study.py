"""A characterisation: the studies' questions for this machine, kept as they are answered.

Its journal gets a line when a question begins or cannot be answered. Each question's runs are a
comparison of its own, so that after kill -9 all finished runs count.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hearth.base.errors import UserError
from hearth.base.redaction import Redaction
from hearth.studies.characterise.answers import answered
from hearth.studies.characterise.questions import Question
from hearth.studies.characterise.result import (
    SCHEMA,
    AnsweredQuestion,
    CharacterisationHead,
    CharacterisationSettings,
    Characterised,
    QuestionLine,
)
from hearth.studies.compare.result import ComparisonSettings
from hearth.studies.compare.study import Comparison
from hearth.studies.compare.study import run as run_comparison
from hearth.studies.compare.verdict import compared as what_it_says
from hearth.studies.engine.progress import Quiet, StudyProgress
from hearth.studies.engine.schedule import StudyDesign
from hearth.studies.engine.store import (
    CHARACTERISE,
    COMPARE,
    NEW,
    Opening,
    StudyDirectory,
    started_now,
)
from hearth.studies.engine.target import Target
from hearth.studies.engine.trial import Turn


@dataclass(frozen=True)
class AskedTarget:
    """One target with its questions."""

    target: Target
    questions: Sequence[Question]


@dataclass(frozen=True)
class CharacterisationRuns:
    """repeat: measured runs of each arm. warmup: before them. budget_s: start nothing after."""

    repeat: int
    warmup: int
    seed: int
    budget_s: float | None = None
    sustained_gb_s: float | None = None
    cold: bool = False
    command: list[str] | None = None

    @property
    def kept(self) -> CharacterisationSettings:
        """The settings that are stored."""
        often = (self.repeat, self.warmup, self.seed)
        return CharacterisationSettings(*often, self.cold, self.command)

    def of(self, target: Target) -> ComparisonSettings:
        """Return how the comparison of one question runs its arms."""
        return ComparisonSettings(
            warmup=self.warmup,
            seed=self.seed,
            cold=self.cold,
            command=[target.name],
            repeat=self.repeat,
            timed=target.timed,
            sustained_gb_s=self.sustained_gb_s,
        )

    def turns(self, target: Target, question: Question) -> list[Turn]:
        """Return the runs that a question takes; none of one that this machine cannot answer."""
        arms = [arm.name for arm in question.arms if question.unanswerable is None]
        return StudyDesign({target.name: arms}, self.repeat, self.warmup, self.seed).turns()

    def runs(self, asked: Sequence[AskedTarget]) -> int:
        """Return how many runs all the questions take."""
        return sum(len(self.turns(a.target, q)) for a in asked for q in a.questions)


class Characterisation(StudyDirectory[CharacterisationHead, QuestionLine]):
    """One characterisation on disk. Of a question that has two lines the later one counts."""

    kind, head_type, line_type = CHARACTERISE, CharacterisationHead, QuestionLine

    def __init__(
        self, directory: Path, head: CharacterisationHead, redaction: Redaction | None = None
    ) -> None:
        super().__init__(directory, head, redaction)
        self._comparisons: dict[str, Comparison] = {}

    @staticmethod
    def begin(
        home: Path,
        name: str,
        asked: Sequence[AskedTarget],
        settings: CharacterisationRuns,
        opening: Opening = NEW,
    ) -> "Characterisation":
        """Return a new one below `home`, or the one to go on with."""
        what = (started_now(), [a.target.name for a in asked], settings.kept)
        return Characterisation.open(
            home, name, lambda number: CharacterisationHead(number, *what), opening
        )

    @staticmethod
    def asked(head: CharacterisationHead) -> dict[str, object]:
        return {"subjects": head.subjects, **vars(head.settings)}

    def run(
        self,
        asked: Sequence[AskedTarget],
        settings: CharacterisationRuns,
        quiet: Quiet | None = None,
    ) -> bool:
        """Answer all that is not answered yet, one after the other; return whether a run failed."""
        start = time.monotonic()
        all_asked = [(a.target, q) for a in asked for q in a.questions]
        progress = StudyProgress(settings.budget_s is not None, with_subject=True, quiet=quiet)
        with progress.shown():
            for number, (target, question) in enumerate(all_asked, start=1):
                left = None
                if settings.budget_s is not None:
                    left = settings.budget_s - (time.monotonic() - start)
                later = [settings.turns(*other) for other in all_asked[number:]]
                progress.later = [turn for turns in later for turn in turns]
                progress.question = question.key
                self._ask(target, question, settings, left, progress)
        return progress.failed

    def _ask(
        self,
        target: Target,
        question: Question,
        settings: CharacterisationRuns,
        left_s: float | None,
        progress: StudyProgress,
    ) -> None:
        notes = list(question.notes)
        line = QuestionLine(target.name, question.key, question.title, question.source, notes)
        reason = question.unanswerable
        if reason is None and left_s is not None and left_s <= 0:
            reason = "the budget ran out before it: give a longer --budget"
        if reason is not None:
            self.keep(replace(line, reason=reason))
            return
        runs = settings.of(target)
        begun = self._comparison(line, target, question, runs)
        self._comparisons[begun.head.id] = begun
        line = replace(line, comparison=begun.head.id)
        self.keep(line)
        try:
            run_comparison(
                begun,
                question.arms,
                target,
                progress,
                budget_s=left_s,
                against_baseline=False,
            )
        except UserError as error:
            self.keep(replace(line, reason=str(error)))

    def _comparison(
        self,
        line: QuestionLine,
        target: Target,
        question: Question,
        runs: ComparisonSettings,
    ) -> Comparison:
        """Return a new one, or that of the same question, where what was cut short goes on."""
        same = [o for o in self.lines if (o.subject, o.key) == (line.subject, line.key)]
        going_on = Opening(self.journal.redaction, same[-1].comparison if same else None)
        return Comparison.begin(self.state_home, target.name, question.arms, runs, going_on)

    def characterised(self) -> Characterised:
        """Return the result so far."""
        head, last = self.head, {(line.subject, line.key): line for line in self.lines}
        questions = [_question(line, self._read) for line in last.values()]
        return Characterised(SCHEMA, head.id, head.started, head.subjects, head.settings, questions)

    def _read(self, number: str) -> Comparison:
        """Return the comparison of this id, as it was made or from disk."""
        found = self._comparisons.get(number)
        return found or Comparison.read(COMPARE.directory(self.state_home, number))


def _question(line: QuestionLine, comparison: Callable[[str], Comparison]) -> AnsweredQuestion:
    """Return the line with its answer, or with the reason why there is none."""
    asked = AnsweredQuestion(line.subject, line.key, line.title, line.source, line.notes)
    if line.comparison is None:
        why = line.reason or "its line is damaged: it has neither runs nor a reason"
        return replace(asked, reason=why)
    try:
        found = comparison(line.comparison)
        result = what_it_says(found.head, found.trials)
        if line.reason is not None:
            return replace(asked, reason=line.reason, comparison=result)
        answer = answered(line.key, result, found.trials)
        return replace(asked, comparison=result, **vars(answer))
    except UserError as problem:
        why = str(problem)
    except (ValueError, LookupError, TypeError) as problem:  # runs of another question
        why = f"the runs of comparison {line.comparison} do not answer it: {problem!r}"
    return replace(asked, reason=why)
