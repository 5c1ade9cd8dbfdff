"""A characterisation in the terminal: each question, its answer and the reason; unanswered ones
with the reason."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from hearth.experiments.questions import Question
from hearth.report.compare import warned
from hearth.report.terminal import Screen, table

Document = dict[str, Any]


def show_characterisation(document: Document, screen: Screen) -> list[str]:
    """All questions, below their subjects; those without an answer last."""
    lines: list[str] = []
    for subject, asked in groupby(document["questions"], key=lambda q: q["subject"]):
        questions = list(asked)
        answered = [q for q in questions if "reason" not in q]
        lines.append(screen.title(subject))
        for question in answered:
            lines += _answered(question, screen)
        lines += _unanswered([q for q in questions if "reason" in q], screen)
    return [*lines, "", *_note(document, screen)]


def _answered(question: Document, screen: Screen) -> list[str]:
    head = f"{question['title']} ({question['source']})"
    lines = ["", "  " + screen.title(head), screen.paragraph(question["sentence"], "    ")]
    lines += [screen.paragraph(f"- {why}", "    ", "      ") for why in question["why"]]
    if question.get("cells"):
        rows = [
            [f"{c['executors']}x{c['cores']}", f"{c['seconds']:.2f}", c["class"]]
            for c in sorted(question["cells"], key=lambda cell: cell["seconds"])
        ]
        lines += table(screen, ["executors x cores", "median s", "class"], rows, "median s")
    elif question.get("streams"):
        lines += _streams(question["streams"], screen)
    elif "sides" not in question:
        arms = [arm for arm in question["comparison"]["arms"] if arm["seconds"]]
        rows = [_arm(arm) for arm in arms]
        lines += table(screen, ["way", "runs", "median s", "min-max", "ratio"], rows, "runs ratio")
    lines += warned(question["comparison"], screen, "    ")
    return lines + [screen.paragraph(screen.paint(n, "dim"), "    ") for n in question["notes"]]


def _arm(arm: Document) -> list[str]:
    ratio = arm.get("ratio", {"value": 1.0})
    interval = f" [{ratio['low']:.2f}, {ratio['high']:.2f}]" if "low" in ratio else ""
    spread = f"{arm['min_s']:.2f}-{arm['max_s']:.2f}"
    shown = f"{ratio['value']:.2f}{interval}"
    return [arm["name"], str(len(arm["seconds"])), f"{arm['median_s']:.2f}", spread, shown]


def _streams(streams: list[Document], screen: Screen) -> list[str]:
    head = ["events/s", "processing ms", "most delay ms", "not sent", "kept up"]
    rows = [
        [f"{s['rate']:,}", f"{s['processing_ms']:.0f}",
         "-" if s["delay_ms"] is None else f"{s['delay_ms']:.0f}", f"{s['unsent']:,}",
         "yes" if s["kept_up"] else "no"]
        for s in streams
    ]  # fmt: skip
    return table(screen, head, rows)


def _unanswered(questions: Sequence[Document], screen: Screen) -> list[str]:
    if not questions:
        return []
    lines = ["", "  " + screen.title("Not answered here")]
    return lines + [
        screen.paragraph(f"- {q['title']} {q['reason']}", "    ", "      ") for q in questions
    ]


def _note(document: Document, screen: Screen) -> list[str]:
    settings = document["settings"]
    note = (
        f"Medians of {settings['repeat']} runs of each way, in random order (seed "
        f"{settings['seed']}), after {settings['warmup']} warm-up; ratios to the first way, "
        "with 95 % intervals over paired repetitions, for all ways of a question together. Every "
        "run is recorded."
    )
    return [screen.paragraph(screen.paint(note, "dim"), "  ")]


def show_questions(questions: Sequence[Question], screen: Screen) -> list[str]:
    """What would run for each question, or why it cannot be answered here."""
    rows = [
        [q.key, q.title, f"not here: {q.unanswerable}" if q.unanswerable else
         ", ".join(arm.name for arm in q.arms)]
        for q in questions
    ]  # fmt: skip
    return table(screen, ["question", "", "ways"], rows)
