"""A characterisation in the terminal: each question, its answer and the reason; unanswered ones
with the reason."""

from collections.abc import Sequence
from itertools import groupby

from hearth.base.sizes import counted
from hearth.report.terminal.compare import interval, spread, warned
from hearth.report.terminal.screen import Screen, table
from hearth.studies.characterise.answers import CountedMeasure, StreamedRate
from hearth.studies.characterise.questions import Question
from hearth.studies.characterise.result import AnsweredQuestion, Characterised
from hearth.studies.compare.result import ComparedArm


def show_characterisation(document: Characterised, screen: Screen) -> list[str]:
    """Return all questions, below their subjects; those without an answer last."""
    lines: list[str] = []
    for subject, asked in groupby(document.questions, key=lambda q: q.subject):
        questions = list(asked)
        lines.append(screen.title(subject))
        for question in questions:
            if question.reason is None:
                lines += _answered(question, screen)
        lines += _unanswered([q for q in questions if q.reason is not None], screen)
    return [*lines, "", *_note(document, screen)]


def _answered(question: AnsweredQuestion, screen: Screen) -> list[str]:
    head = f"{question.title} ({question.source})"
    lines = ["", "  " + screen.title(head), screen.paragraph(question.sentence or "", "    ")]
    lines += [screen.paragraph(f"- {why}", "    ", "      ") for why in question.why or ()]
    if question.cells:
        rows = [
            [f"{c['executors']}x{c['cores']}", f"{c['seconds']:.2f}", c["class"]]
            for c in sorted(question.cells, key=lambda cell: cell["seconds"])
        ]
        lines += table(screen, ["executors x cores", "median s", "class"], rows, "median s")
    elif question.streams:
        lines += _streams(question.streams, screen)
    elif question.sides is None and question.comparison is not None:
        rows = [_arm(arm) for arm in question.comparison.finished]
        lines += table(screen, ["arm", "runs", "median s", "min-max", "ratio"], rows, "runs ratio")
    if question.counted:
        lines += _counted(question.counted, screen)
    if question.comparison is not None:
        lines += warned(question.comparison, screen, "    ")
    return lines + [screen.paragraph(screen.paint(n, "dim"), "    ") for n in question.notes]


def _counted(counted: Sequence[CountedMeasure], screen: Screen) -> list[str]:
    ways = list(dict.fromkeys(way for row in counted for way in row.ways))
    rows = [[row.measure, *(row.ways.get(way, "-") for way in ways)] for row in counted]
    return table(screen, ["counted", *ways], rows)


def _arm(arm: ComparedArm) -> list[str]:
    ratio = f"{arm.ratio.value if arm.ratio else 1:.2f} {interval(arm)}".rstrip()
    return [arm.name, str(len(arm.seconds)), f"{arm.median:.2f}", spread(arm), ratio]


def _streams(streams: Sequence[StreamedRate], screen: Screen) -> list[str]:
    head = ["events/s", "processing ms", "most delay ms", "not sent", "kept up"]
    rows = [
        [f"{s.rate:,}", f"{s.processing_ms:.0f}",
         "-" if s.delay_ms is None else f"{s.delay_ms:.0f}", f"{s.unsent:,}",
         "yes" if s.kept_up else "no"]
        for s in streams
    ]  # fmt: skip
    return table(screen, head, rows)


def _unanswered(questions: Sequence[AnsweredQuestion], screen: Screen) -> list[str]:
    if not questions:
        return []
    lines = ["", "  " + screen.title("Not answered here")]
    return lines + [
        screen.paragraph(f"- {q.title} {q.reason}", "    ", "      ") for q in questions
    ]


def _note(document: Characterised, screen: Screen) -> list[str]:
    settings = document.settings
    note = (
        f"Medians of {counted(settings.repeat, 'measured run')} of each arm, in random order (seed "
        f"{settings.seed}), after {settings.warmup} warm-up; ratios to the first arm, with 95 % "
        "intervals over paired repetitions, for all arms of a question together. Every run is "
        "recorded."
    )
    return [screen.paragraph(screen.paint(note, "dim"), "  ")]


def show_questions(questions: Sequence[Question], screen: Screen) -> list[str]:
    """Show what would run for each question, or why it cannot be answered here."""
    rows = [
        [q.key, q.title, f"not here: {q.unanswerable}" if q.unanswerable else
         ", ".join(arm.name for arm in q.arms)]
        for q in questions
    ]  # fmt: skip
    return table(screen, ["question", "", "arms"], rows)
