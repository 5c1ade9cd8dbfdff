"""A characterisation: the studies' questions for this machine, kept as they are answered.

A directory: `characterisation.json` holds the questions, `questions.jsonl` gets a line when a
question begins or cannot be answered. Each question's runs are a comparison of its own. What they
say is derived from both and stored in neither, so that after kill -9 all finished runs count.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from hearth.base.codec import read_typed, to_json
from hearth.base.errors import UserError
from hearth.base.redaction import Redaction
from hearth.studies.characterise.answers import answered
from hearth.studies.characterise.questions import Question
from hearth.studies.characterise.result import SCHEMA, AnsweredQuestion, Characterised
from hearth.studies.compare import result as compared
from hearth.studies.compare.study import Comparison, read_comparison, refuse_other_command
from hearth.studies.compare.study import run as run_comparison
from hearth.studies.compare.verdict import compared as what_it_says
from hearth.studies.engine.idle_wait import Quiet
from hearth.studies.engine.progress import Following
from hearth.studies.engine.schedule import Experiment
from hearth.studies.engine.schema import CharacterisationHead, CharacterisationSettings, Line
from hearth.studies.engine.store import REMEDY, Journal, begin_directory, fresh_directory
from hearth.studies.engine.target import Target
from hearth.studies.engine.trial import Turn

_HEAD, _LINES = "characterisation.json", "questions.jsonl"


@dataclass(frozen=True)
class Asked:
    """One subject with its questions."""

    subject: Target
    questions: Sequence[Question]


@dataclass(frozen=True)
class CharacterisationRuns:
    """repeat: runs of each arm that count. warmup: before them. budget_s: start nothing after."""

    repeat: int
    warmup: int
    seed: int
    budget_s: float | None = None
    sustained_gb_s: float | None = None

    def of(self, subject: Target) -> compared.ComparisonSettings:
        """How the comparison of one question runs its arms."""
        return compared.ComparisonSettings(
            warmup=self.warmup,
            seed=self.seed,
            command=[subject.name],
            repeat=self.repeat,
            timed=subject.timed,
            sustained_gb_s=self.sustained_gb_s,
        )

    def turns(self, subject: Target, question: Question) -> list[Turn]:
        """The runs that a question takes; none of one that this machine cannot answer."""
        arms = [arm.name for arm in question.arms if question.unanswerable is None]
        return Experiment({subject.name: arms}, self.repeat, self.warmup, self.seed).turns()

    def runs(self, asked: Sequence[Asked]) -> int:
        """How many runs all the questions take."""
        return sum(len(self.turns(a.subject, q)) for a in asked for q in a.questions)


class Characterisation:
    """One characterisation on disk."""

    def __init__(
        self,
        home: Path,
        directory: Path,
        head: CharacterisationHead,
        redaction: Redaction | None = None,
    ) -> None:
        self.home, self.directory, self.redaction = home, directory, redaction
        self._journal = Journal(directory / _LINES, redaction)
        self._head = head
        self._lines: list[Line] = []
        self._comparisons: dict[str, Comparison] = {}

    @staticmethod
    def begin(
        home: Path,
        name: str,
        asked: Sequence[Asked],
        settings: CharacterisationRuns,
        redaction: Redaction | None = None,
    ) -> "Characterisation":
        """A new one below `home`."""
        directory = fresh_directory(home / "characterisations", name)
        started = datetime.now(UTC).isoformat(timespec="seconds")
        head = CharacterisationHead(directory.name, started, _names(asked), _how_often(settings))
        begin_directory(directory, _HEAD, to_json(head))
        return Characterisation(home, directory, head, redaction)

    @staticmethod
    def resume(
        home: Path,
        number: str,
        asked: Sequence[Asked],
        settings: CharacterisationRuns,
        redaction: Redaction | None = None,
    ) -> "Characterisation":
        """The one of this id below `home`, to go on with.

        Raises UserError, naming what differs, for one of other subjects or settings.
        """
        directory = home / "characterisations" / number
        if Path(number).name != number or not directory.is_dir():
            raise UserError(
                f"--resume: no characterisation has the id '{number}': 'hearth runs' lists them"
            )
        head, lines = _read(directory)
        now = {"subjects": _names(asked), **vars(_how_often(settings))}
        refuse_other_command(number, {"subjects": head.subjects, **vars(head.settings)}, now)
        found = Characterisation(home, directory, head, redaction)
        found._lines = lines
        found._journal.cut_torn_line()
        return found

    def run(
        self, asked: Sequence[Asked], settings: CharacterisationRuns, quiet: Quiet | None = None
    ) -> bool:
        """Answers all that is not answered yet, one after the other; whether a run failed."""
        start = time.monotonic()
        all_asked = [(a.subject, q) for a in asked for q in a.questions]
        following = Following(settings.budget_s is not None, with_subject=True, quiet=quiet)
        with following.shown():
            for number, (subject, question) in enumerate(all_asked, start=1):
                left = None
                if settings.budget_s is not None:
                    left = settings.budget_s - (time.monotonic() - start)
                later = [settings.turns(*other) for other in all_asked[number:]]
                following.later = [turn for turns in later for turn in turns]
                following.question = question.key
                self._ask(subject, question, settings, left, following)
        return following.failed

    def _ask(
        self,
        subject: Target,
        question: Question,
        settings: CharacterisationRuns,
        left_s: float | None,
        following: Following,
    ) -> None:
        notes = list(question.notes)
        line = Line(subject.name, question.key, question.title, question.source, notes)
        reason = question.unanswerable
        if reason is None and left_s is not None and left_s <= 0:
            reason = "the budget ran out before it: give a longer --budget"
        if reason is not None:
            self._keep(replace(line, reason=reason))
            return
        runs = settings.of(subject)
        begun = self._comparison(line, subject, question, runs)
        following.ended(sum(outcome.failure is None for outcome in begun.outcomes))
        self._comparisons[begun.head.id] = begun
        line = replace(line, comparison=begun.head.id)
        self._keep(line)
        try:
            run_comparison(
                begun,
                question.arms,
                subject,
                following,
                budget_s=left_s,
                against_baseline=False,
            )
        except UserError as error:
            self._keep(replace(line, reason=str(error)))

    def _comparison(
        self, line: Line, subject: Target, question: Question, runs: compared.ComparisonSettings
    ) -> Comparison:
        """A new one, or that of the same question, where what was cut short goes on."""
        place = (subject.name, question.arms, runs, self.redaction)
        same = [o for o in self._lines if (o.subject, o.key) == (line.subject, line.key)]
        if same and same[-1].comparison is not None:
            return Comparison.resume(self.home, same[-1].comparison, *place)
        return Comparison.begin(self.home, *place)

    def _keep(self, line: Line) -> None:
        self._lines.append(line)
        self._journal.keep(to_json(line))

    def characterised(self) -> Characterised:
        """What it says so far; raises UserError as `read_characterisation` does not."""
        return _composed(self._head, self._lines, self._comparisons.__getitem__)


def read_characterisation(home: Path, directory: Path) -> Characterised:
    """What it says; raises UserError where there is none.

    Of a question that has two lines the later one counts; a line cut short does not.
    """
    head, lines = _read(directory)
    return _composed(head, lines, lambda name: read_comparison(home / "comparisons" / name))


def _names(asked: Sequence[Asked]) -> list[str]:
    return [a.subject.name for a in asked]


def _how_often(settings: CharacterisationRuns) -> CharacterisationSettings:
    return CharacterisationSettings(settings.repeat, settings.warmup, settings.seed)


def _read(directory: Path) -> tuple[CharacterisationHead, list[Line]]:
    head = read_typed(directory / _HEAD, CharacterisationHead, REMEDY)
    return head, Journal(directory / _LINES).read_typed(Line)


def _composed(
    head: CharacterisationHead, lines: Sequence[Line], comparison: Callable[[str], Comparison]
) -> Characterised:
    last = {(line.subject, line.key): line for line in lines}
    questions = [_question(line, comparison) for line in last.values()]
    return Characterised(SCHEMA, head.id, head.started, head.subjects, head.settings, questions)


def _question(line: Line, comparison: Callable[[str], Comparison]) -> AnsweredQuestion:
    """The line with its answer, or with the reason why there is none."""
    asked = AnsweredQuestion(line.subject, line.key, line.title, line.source, line.notes)
    if line.comparison is None:
        why = line.reason or "its line is damaged: it has neither runs nor a reason"
        return replace(asked, reason=why)
    try:
        found = comparison(line.comparison)
        said = what_it_says(found.head, found.outcomes)
        if line.reason is not None:
            return replace(asked, reason=line.reason, comparison=said)
        answer = answered(line.key, said, found.outcomes)
        return replace(asked, comparison=said, **vars(answer))
    except UserError as problem:
        why = str(problem)
    except (ValueError, LookupError, TypeError) as problem:  # runs of another question
        why = f"the runs of comparison {line.comparison} do not answer it: {problem!r}"
    return replace(asked, reason=why)
