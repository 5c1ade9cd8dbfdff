"""A comparison and a characterisation on the page: what their templates show."""

from itertools import groupby

from hearth.report.html.figures import Interval, heat, intervals, seconds_strip
from hearth.report.html.shown import Cell, View
from hearth.report.terminal.compare import COUNT_HEAD, count_rows, without_times
from hearth.studies.characterise.answers import CountedMeasure, StreamedRate, SweptCell
from hearth.studies.characterise.result import AnsweredQuestion, Characterised
from hearth.studies.compare.result import ArmCpu, Compared, ComparedArm, PairedRatio
from hearth.studies.engine.statistics import EQUAL_WITHIN


def comparison_view(comparison: Compared, section: str = "") -> View:
    """Return the verdict, intervals on one scale and the arms' times.

    Section: its id, if it has one.
    """
    return {
        "id": section,
        "name": "Comparison",
        "sentence": comparison.verdict.sentence,
        "why": comparison.verdict.why,
        "baseline": comparison.baseline,
        "warnings": [f"{warning.sentence}." for warning in comparison.warnings],
        "arms": [_row(arm) for arm in comparison.arms],
        "settings": [f"{arm.name}: {arm.setting}" for arm in comparison.arms if arm.setting],
        "cpu": [_cpu_row(arm.name, arm.cpu) for arm in comparison.arms if arm.cpu],
        "counted_head": COUNT_HEAD,
        "counted": count_rows(comparison.arms),
        "seconds": seconds_strip([(arm.name, arm.seconds) for arm in comparison.finished]),
        **_intervals(comparison),
    }


def _row(arm: ComparedArm) -> list[Cell]:
    if not arm.seconds:
        return [arm.name, 0, "-", "-", "-", "-", without_times(arm)]
    numbers = [arm.median, float(min(arm.seconds)), float(max(arm.seconds))]
    failed = "failed in some runs" if arm.failures else ""
    return [arm.name, len(arm.seconds), *numbers, _ratio(arm), failed]


def _cpu_row(name: str, cpu: ArmCpu) -> list[Cell]:
    return [name, cpu.median_s, cpu.user_s, cpu.system_s, _shown(cpu.ratio)]


def _ratio(arm: ComparedArm) -> str:
    return _shown(arm.ratio)


def _shown(ratio: PairedRatio | None) -> str:
    ends = ratio and ratio.interval
    shown = f"{ratio.value if ratio else 1:.3f}"
    return f"{shown} [{ends[0]:.3f}, {ends[1]:.3f}]" if ends else shown


def _intervals(comparison: Compared) -> View:
    """Return the intervals with the pairs behind them, and the band of what counts as equal."""
    base = next((a.seconds for a in comparison.arms if a.name == comparison.baseline), [])
    rows = [
        Interval(arm.name, _kind(ends), arm.ratio.value, ends, f"{arm.name}: {_ratio(arm)}",
                 _pairs(arm.seconds, base))
        for arm in comparison.arms
        if arm.ratio is not None and (ends := arm.ratio.interval) is not None
    ]  # fmt: skip
    band = (1 - EQUAL_WITHIN, 1 + EQUAL_WITHIN)
    return intervals(rows, band) if rows else {"intervals": []}


def _kind(ends: tuple[float, float]) -> str:
    return "good" if ends[1] < 1 else "bad" if ends[0] > 1 else "open"


def _pairs(seconds: list[float], base: list[float]) -> list[float]:
    """Return the ratio of each pair of runs, where each run has its partner."""
    if len(seconds) != len(base):
        return []
    return [own / other for own, other in zip(seconds, base, strict=True) if other]


def questions_view(document: Characterised) -> list[tuple[str, list[View]]]:
    """Return the questions of each subject, as the template shows them."""
    several = len(document.subjects) > 1
    views = [
        (q.subject, _question(q, number, several)) for number, q in enumerate(document.questions)
    ]
    return [
        (subject, [view for _, view in group])
        for subject, group in groupby(views, key=lambda pair: pair[0])
    ]


def question_links(document: Characterised) -> list[tuple[str, str]]:
    """Return the id of each question's section, and what names it."""
    return [
        (str(view["id"]), str(view["link"]))
        for _, group in questions_view(document)
        for view in group
    ]


def _question(question: AnsweredQuestion, number: int, several: bool) -> View:
    key = question.key
    view: View = {
        "id": f"question{number}",
        "link": f"{question.subject}: {key}" if several else key.capitalize(),
        "title": question.title,
        "source": question.source,
        "notes": question.notes,
        "reason": question.reason,
    }
    if question.reason is not None:
        return view
    comparison = question.comparison
    return {
        **view,
        "sentence": question.sentence,
        "why": question.why,
        "heat": _heat(question.cells) if question.cells else None,
        "streams": [_stream(stream) for stream in question.streams or []],
        "sides": [[s.measure, s.batch, s.streaming] for s in question.sides or []],
        **_counted(question.counted or []),
        "comparison": None if comparison is None else comparison_view(comparison),
        "timed": None if comparison is None else comparison.settings.timed,
    }


def _counted(rows: list[CountedMeasure]) -> View:
    ways = list(dict.fromkeys(way for row in rows for way in row.ways))
    cells = [[row.measure, *(row.ways.get(way, "-") for way in ways)] for row in rows]
    return {"counted": cells, "counted_ways": ["counted", *ways]}


def _stream(stream: StreamedRate) -> list[Cell]:
    delay = "-" if stream.delay_ms is None else stream.delay_ms
    return [
        stream.rate,
        stream.processing_ms,
        delay,
        stream.unsent,
        "yes" if stream.kept_up else "no",
    ]


def _heat(cells: list[SweptCell]) -> View:
    found = {
        (cell["executors"], cell["cores"]): (
            cell["seconds"],
            f"{cell['seconds']:.4g} s, {cell['class']}",
        )
        for cell in cells
    }
    best = min(found, key=lambda at: found[at][0])
    return heat(found, best, "{:.4g} s".format)
