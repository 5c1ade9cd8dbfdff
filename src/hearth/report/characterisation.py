"""A characterisation: each question with its answer and why; unanswered ones with the reason."""

from collections.abc import Sequence
from itertools import groupby

from hearth.base.sizes import counted
from hearth.report.blocks import Block, Figure, Heading, Table, Texts, on_page
from hearth.report.comparison import arm_blocks, short_table, warning_blocks
from hearth.report.figures import heat
from hearth.report.terminal.screen import Screen, table
from hearth.studies.characterise.answers import CountedMeasure, StreamedRate, SweptCell
from hearth.studies.characterise.questions import Question
from hearth.studies.characterise.result import AnsweredQuestion, Characterised
from hearth.studies.compare.result import Compared


def characterisation_blocks(document: Characterised) -> list[Block]:
    """Return all questions, below their subjects; those without an answer last."""
    several = len(document.subjects) > 1
    numbered = list(enumerate(document.questions))
    blocks: list[Block] = []
    for subject, group in groupby(numbered, key=lambda pair: pair[1].subject):
        blocks.append(Heading(subject))
        for number, question in sorted(group, key=lambda pair: pair[1].reason is not None):
            title = f"{question.title} ({question.source})"
            link = f"{subject}: {question.key}" if several else question.key.capitalize()
            blocks.append(Heading(title, 3, section=f"question{number}", link=link))
            blocks += _question(question)
    settings = document.settings
    note = (
        f"Medians of {counted(settings.repeat, 'measured run')} of each arm, in random order (seed "
        f"{settings.seed}), after {settings.warmup} warm-up; ratios to the first arm, with 95 % "
        "intervals over paired repetitions, for all arms of a question together. Every run is "
        "recorded."
    )
    return [*blocks, Texts([note], "note")]


def _question(question: AnsweredQuestion) -> list[Block]:
    if question.reason is not None:
        reason = f"Not answered here: {question.reason}."
        return [Texts([reason], "absent", close=True), Texts(question.notes, "note", close=True)]
    comparison = None if question.sides is not None else question.comparison
    short = comparison is not None and not question.cells and not question.streams
    return [
        Texts([question.sentence or ""], "verdict", close=True),
        Texts(question.why or [], "reason", close=True),
        *(_sweep(question.cells) if question.cells else []),
        _streams(question.streams or []),
        _counted(question.counted or []),
        Table(["", "batch", "streaming"],
              [[side.measure, side.batch, side.streaming] for side in question.sides or []],
              "Side by side"),
        *([] if comparison is None else _arms(comparison, short=short)),
        Texts(question.notes, "note", close=True),
    ]  # fmt: skip


def _arms(comparison: Compared, *, short: bool) -> list[Block]:
    """Return the arms: in the terminal their times alone, and none where another table has them."""
    timed = comparison.settings.timed
    return [
        *([short_table(comparison)] if short else []),
        *on_page(arm_blocks(comparison)),
        *warning_blocks(comparison),
        Texts([f"Timed: {timed}."] if timed else [], "note", only="page"),
    ]


def _sweep(cells: Sequence[SweptCell]) -> list[Block]:
    """Return a sweep as a table, and as a heat map of executors and their cores."""
    rows = [
        [f"{c['executors']}x{c['cores']}", f"{c['seconds']:.2f}", c["class"]]
        for c in sorted(cells, key=lambda cell: cell["seconds"])
    ]
    words = {
        (cell["executors"], cell["cores"]): (
            cell["seconds"], f"{cell['seconds']:.4g} s, {cell['class']}",
        )
        for cell in cells
    }  # fmt: skip
    map_ = heat(words, min(words, key=lambda at: words[at][0]))
    fastest, slowest = (f"{end(c['seconds'] for c in cells):.4g} s" for end in (min, max))
    return [
        Table(["executors x cores", "median s", "class"], rows, "Sweep", only="terminal",
              close=True),
        Figure("heat", map_, "sweep heat map",
               f"{fastest} to {slowest}; framed: the best; hatched: not tested."),
    ]  # fmt: skip


def _streams(streams: Sequence[StreamedRate]) -> Table:
    head = ["events/s", "processing ms", "most delay ms", "not sent", "kept up"]
    rows = [
        [f"{s.rate:,}", f"{s.processing_ms:.0f}",
         "-" if s.delay_ms is None else f"{s.delay_ms:.0f}", f"{s.unsent:,}",
         "yes" if s.kept_up else "no"]
        for s in streams
    ]  # fmt: skip
    return Table(head, rows, "Streams by rate of events", close=True)


def _counted(rows: Sequence[CountedMeasure]) -> Table:
    ways = list(dict.fromkeys(way for row in rows for way in row.ways))
    cells = [[row.measure, *(row.ways.get(way, "-") for way in ways)] for row in rows]
    return Table(["counted", *ways], cells, "What was counted of each arm", close=True)


def show_questions(questions: Sequence[Question], screen: Screen) -> list[str]:
    """Show what would run for each question, or why it cannot be answered here."""
    rows = [
        [q.key, q.title, f"not here: {q.unanswerable}" if q.unanswerable else
         ", ".join(arm.name for arm in q.arms)]
        for q in questions
    ]  # fmt: skip
    return table(screen, ["question", "", "arms"], rows)
