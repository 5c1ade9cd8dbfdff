"""A characterisation: the questions of the studies, asked of this machine and kept as it goes.

A directory: `characterisation.json` says what was asked, `questions.jsonl` gets a line when a
question begins or cannot be answered. Each question's runs are a comparison of its own. What they
say is derived from both and stored in neither, so that after kill -9 all finished runs count.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hearth.experiments.answers import answered
from hearth.experiments.comparison import Comparison, read_comparison, stop_rule
from hearth.experiments.comparison import run as run_comparison
from hearth.experiments.journal import REMEDY, begin_directory, keep_line, read_journal
from hearth.experiments.questions import Question
from hearth.experiments.shapes import CharacterisationHead, QuestionLine
from hearth.experiments.subjects import Subject
from hearth.experiments.verdict import compared
from hearth.measure.record import new_name
from hearth.model.documents import read_document
from hearth.model.errors import UserError

Document = dict[str, Any]
SCHEMA = "hearth/characterisation/1"
_HEAD, _LINES = "characterisation.json", "questions.jsonl"


@dataclass(frozen=True)
class Asked:
    """One subject with its questions."""

    subject: Subject
    questions: Sequence[Question]


@dataclass(frozen=True)
class Settings:
    """repeat: runs of each arm that count. warmup: before them. budget_s: begin nothing after."""

    repeat: int
    warmup: int
    seed: int
    budget_s: float | None = None
    sustained_gb_s: float | None = None

    def runs(self, asked: Sequence[Asked]) -> int:
        """How many runs all the questions take."""
        arms = sum(len(q.arms) for a in asked for q in a.questions if q.unanswerable is None)
        return arms * (self.repeat + self.warmup)


class Characterisation:
    """One characterisation on disk."""

    def __init__(self, home: Path, directory: Path, head: Document) -> None:
        self.home, self.directory = home, directory
        self._head = head
        self._lines: list[Document] = []
        self._comparisons: dict[str, Comparison] = {}

    @staticmethod
    def begin(
        home: Path, name: str, asked: Sequence[Asked], settings: Settings
    ) -> "Characterisation":
        """A new one below `home`."""
        now = datetime.now(UTC)
        number = new_name(name)
        directory = home / "characterisations" / number
        head = {
            "id": number,
            "started": now.isoformat(timespec="seconds"),
            "subjects": [a.subject.name for a in asked],
            "settings": {k: getattr(settings, k) for k in ("repeat", "warmup", "seed")},
        }
        begin_directory(directory, _HEAD, head)
        return Characterisation(home, directory, head)

    def run(
        self, asked: Sequence[Asked], settings: Settings, tell: Callable[[Document], None]
    ) -> None:
        """Asks all, one after the other; tell: called with each run that is over."""
        start = time.monotonic()
        for subject, question in ((a.subject, q) for a in asked for q in a.questions):
            left = None
            if settings.budget_s is not None:
                left = settings.budget_s - (time.monotonic() - start)
            self._ask(subject, question, settings, left, tell)

    def _ask(
        self,
        subject: Subject,
        question: Question,
        settings: Settings,
        left_s: float | None,
        tell: Callable[[Document], None],
    ) -> None:
        line = {
            "subject": subject.name,
            "key": question.key,
            "title": question.title,
            "source": question.source,
            "notes": list(question.notes),
        }
        reason = question.unanswerable
        if reason is None and left_s is not None and left_s <= 0:
            reason = "the budget was spent before it: give a longer --budget"
        if reason is not None:
            self._keep({**line, "reason": reason})
            return
        comparison = Comparison.begin(self.home, subject.name, question.arms, {
            "repeat": settings.repeat, "warmup": settings.warmup, "seed": settings.seed,
            "cold": False, "command": [subject.name], "timed": subject.timed,
            "sustained_gb_s": settings.sustained_gb_s,
        })  # fmt: skip
        self._comparisons[comparison.head["id"]] = comparison
        self._keep({**line, "comparison": comparison.head["id"]})
        enough = stop_rule(comparison, left_s)
        try:
            run_comparison(
                comparison,
                question.arms,
                subject,
                lambda run: tell({**line, **run}),
                enough,
                against_baseline=False,
            )
        except UserError as error:
            self._keep({**line, "comparison": comparison.head["id"], "reason": str(error)})

    def _keep(self, line: Document) -> None:
        self._lines.append(line)
        keep_line(self.directory / _LINES, line)

    def document(self) -> Document:
        """The document so far; raises UserError as `read_characterisation` does not."""
        return _composed(self._head, self._lines, self._comparisons.__getitem__)


def read_characterisation(home: Path, directory: Path) -> Document:
    """The document (contract/characterisation.schema.json); raises UserError where there is none.

    Of a question told of twice the later line counts; a line cut short does not.
    """
    head = read_document(directory / _HEAD, CharacterisationHead, REMEDY)
    lines = read_journal(directory / _LINES, QuestionLine)
    return _composed(head, lines, lambda name: read_comparison(home / "comparisons" / name))


def _composed(
    head: Document, lines: Sequence[Document], comparison: Callable[[str], Comparison]
) -> Document:
    last = {(line["subject"], line["key"]): line for line in lines}
    questions = [_question(line, comparison) for line in last.values()]
    return {"schema": SCHEMA, **head, "questions": questions}


def _question(line: Document, comparison: Callable[[str], Comparison]) -> Document:
    """The line with its answer, or with the reason why there is none."""
    if "comparison" not in line:
        return {"reason": "its line is damaged: neither runs nor a reason are told", **line}
    try:
        found = comparison(line["comparison"])
        document = compared(found.head, found.runs)
        if "reason" in line:
            return {**line, "comparison": document}
        return {**line, "comparison": document, **answered(line["key"], document, found.runs)}
    except UserError as problem:
        why = str(problem)
    except (ValueError, LookupError, TypeError) as problem:  # runs of another question
        why = f"the runs of comparison {line['comparison']} do not answer it: {problem!r}"
    return {**{key: line[key] for key in line if key != "comparison"}, "reason": why}
