"""The processor on the page: top-down bars, and Awan's shares with how far to trust them."""

from hearth.analysis.document import Metric, Metrics
from hearth.model.measured import Absent, Measured
from hearth.report.html import pictures
from hearth.report.html.absent import say_absent
from hearth.report.html.svg import LEFT, RIGHT, WIDTH, Scale, element, picture, table, text

OfMetrics = dict[str, Measured[Metric]]
#: Level 1 in the order of the bars; the last one exists only on AMD.
LEVEL_ONE = (
    ("retiring", "retiring"),
    ("bad_speculation", "bad speculation"),
    ("front_end_bound", "front end"),
    ("back_end_bound", "back end"),
    ("smt_contention", "the core's other thread"),
)
#: Level 2 of the back end, drawn below it.
LEVEL_TWO = (("memory_bound", "memory"), ("core_bound", "core"))
_WORDS = {
    **dict(LEVEL_ONE),
    **dict(LEVEL_TWO),
    "local_dram_bound": "bound by local DRAM",
    "remote_dram_bound": "bound by remote DRAM",
    "l1_miss_impact": "impact of L1 misses",
    "l2_hit_impact": "impact of L2 hits",
    "instructions_per_cycle": "instructions per cycle",
}
_ROW, _BAR, _THIN = 36, 18, 8


def draw_processor(metrics: Measured[Metrics]) -> str:
    """The bars and the table; what is absent, with the reason."""
    if isinstance(metrics, Absent):
        return say_absent("top-down and the study's formulas", metrics)
    named = metrics.by_executor.items()
    rows = [("all executors", metrics.total), *((_name(n), m) for n, m in named)]
    return _bars(rows) + _table(rows)


def _name(executor: str) -> str:
    return f"executor {executor}" if executor.isdigit() else executor


def _bars(rows: list[tuple[str, OfMetrics]]) -> str:
    shown = [(name, of) for name, of in rows if any(_value(of, key) for key, _ in LEVEL_ONE)]
    if not shown:
        retiring = rows[0][1]["retiring"]
        why = retiring if isinstance(retiring, Absent) else Absent("not derived")
        return say_absent("top-down", why)
    scale = Scale(0, 1, LEFT + 60, WIDTH - RIGHT)
    marks = [_bar(name, of, scale, row * _ROW + 4) for row, (name, of) in enumerate(shown)]
    words = "Top-down: where the pipeline's slots went, as shares, by executor"
    drawn = picture(words, len(shown) * _ROW + 6, *marks)
    box = element(
        "div", drawn, class_="scroll", tabindex=0, role="region", aria_label="top-down bars"
    )
    caption = (
        "Upper bar: level 1, which adds up to all slots if the processor reports each part. "
        "Lower bar: the back end, divided into waiting for memory and for the core."
    )
    key = pictures.legend([words for _, words in (*LEVEL_ONE, *LEVEL_TWO)])
    lacking = "".join(
        say_absent(f"{name}: {_WORDS[key]}", absent)
        for name, of in shown
        for key, _ in (*LEVEL_ONE[:4], *LEVEL_TWO)
        if isinstance(absent := of[key], Absent)
    )
    return element("figure", box, key, element("figcaption", caption)) + lacking


def _bar(name: str, of: OfMetrics, scale: Scale, y: float) -> str:
    marks = [element("text", text(name), x=LEFT + 54, y=y + 13, class_="tick", text_anchor="end")]
    start = back_end = 0.0
    for number, (key, words) in enumerate(LEVEL_ONE):
        if key == "back_end_bound":
            back_end = start
        share = _value(of, key) or 0.0
        marks.append(_part(name, words, scale, (start, share, y, _BAR), number))
        start += share
    for number, (key, words) in enumerate(LEVEL_TWO, start=len(LEVEL_ONE)):
        share = _value(of, key) or 0.0
        marks.append(_part(name, words, scale, (back_end, share, y + _BAR + 1, _THIN), number))
        back_end += share
    return "".join(marks)


def _part(
    name: str, words: str, scale: Scale, place: tuple[float, float, float, int], colour: int
) -> str:
    start, share, y, height = place
    if share <= 0:
        return ""
    return element(
        "rect",
        element("title", text(f"{name}, {words}: {share:.1%}")),
        x=scale(start),
        y=y,
        width=scale(start + share) - scale(start),
        height=height,
        fill=f"var(--c{colour})",
    )


def _table(rows: list[tuple[str, OfMetrics]]) -> str:
    """The numbers, then what each metric was derived from, once for all executors."""
    values = [
        [name, _WORDS.get(key, key), *_cells(key, metric)]
        for name, of in rows
        for key, metric in of.items()
    ]
    found: dict[str, Metric] = {}
    for _, of in rows:
        found |= {key: metric for key, metric in of.items() if not isinstance(metric, Absent)}
    origins = [
        [_WORDS.get(key, key), f"{metric.formula} ({metric.source})", ", ".join(metric.events)]
        for key, metric in found.items()
    ]
    return element(
        "details",
        element("summary", "Numbers: top-down and the study's formulas"),
        table(["executor", "metric", "value", "confidence", "counted for"], values, "Values"),
        table(["metric", "formula", "events"], origins, "Formulas and their events"),
    )


def _cells(key: str, metric: Measured[Metric]) -> list[str]:
    if isinstance(metric, Absent):
        return [f"not available: {metric.reason}", "-", "-"]
    share, value = metric.least_running_share, metric.value
    return [
        f"{value:.2f}" if key == "instructions_per_cycle" else f"{value:.1%}",
        metric.confidence,
        "not told" if share is None else f"{share:.0%} of the time",
    ]


def _value(of: OfMetrics, key: str) -> float | None:
    metric = of[key]
    return None if isinstance(metric, Absent) else metric.value
