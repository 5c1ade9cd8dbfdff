"""The processor on the page: top-down bars, and Awan's shares with how far to trust them."""

from hearth.analysis.document import Metric, Metrics
from hearth.analysis.metrics import DEEPER
from hearth.base.absent import Absent, Measured
from hearth.report.blocks import View
from hearth.report.html.shown import executor_name
from hearth.report.terminal.profile import BACK_END, TOP_DOWN

OfMetrics = dict[str, Measured[Metric]]
#: Level 1 in the order of the bars; the last one exists only on AMD.
LEVEL_ONE = (*TOP_DOWN.items(), ("smt_contention", "the core's other thread"))
#: Level 2 of the back end, drawn below it.
LEVEL_TWO = tuple(BACK_END.items())
_WORDS = {
    **dict(LEVEL_ONE),
    **dict(LEVEL_TWO),
    "local_dram_bound": "bound by local DRAM",
    "remote_dram_bound": "bound by remote DRAM",
    "l1_miss_impact": "impact of L1 misses",
    "l2_hit_impact": "impact of L2 hits",
    "instructions_per_cycle": "instructions per cycle",
    "remote_loads": "loads from remote memory",
}
#: Counted in the runs of a study alone: absent ones are no news.
_STUDIES_ONLY = ("remote_loads", *DEEPER)


def processor_view(metrics: Measured[Metrics]) -> View:
    """Return the bars, the tables, and what is absent with its reason."""
    names = [words for _, words in (*LEVEL_ONE, *LEVEL_TWO)]
    if isinstance(metrics, Absent):
        lacking = [("top-down and the study's formulas", metrics.reason)]
        return {"names": names, "bars": [], "absent": lacking, "values": [], "origins": []}
    named = metrics.by_executor.items()
    rows = [("all executors", metrics.total), *((executor_name(n), m) for n, m in named)]
    shown = [(name, of) for name, of in rows if any(_value(of, key) for key, _ in LEVEL_ONE)]
    return {
        "names": names,
        "bars": [{"name": name, "parts": _parts(name, of)} for name, of in shown],
        "absent": _absent(rows[0][1], shown),
        **_tables(rows),
    }


def _absent(total: OfMetrics, shown: list[tuple[str, OfMetrics]]) -> list[tuple[str, str]]:
    if not shown:
        retiring = total["retiring"]
        return [("top-down", retiring.reason if isinstance(retiring, Absent) else "not derived")]
    return [
        (f"{name}: {_WORDS[key]}", absent.reason)
        for name, of in shown
        for key, _ in (*LEVEL_ONE[:4], *LEVEL_TWO)
        if isinstance(absent := of[key], Absent)
    ]


def _parts(name: str, of: OfMetrics) -> list[View]:
    parts: list[View] = []
    start = back_end = 0.0
    for number, (key, words) in enumerate(LEVEL_ONE):
        if key == "back_end_bound":
            back_end = start
        start = _part(parts, (name, words), of, key, start, number)
    for number, (key, words) in enumerate(LEVEL_TWO, start=len(LEVEL_ONE)):
        back_end = _part(parts, (name, words), of, key, back_end, number)
    return parts


def _part(
    parts: list[View], words: tuple[str, str], of: OfMetrics, key: str, start: float, colour: int
) -> float:
    """Add a part where there is one; return where the next one starts."""
    share = _value(of, key) or 0.0
    if share > 0:
        parts.append(
            {
                "start": start,
                "width": share,
                "colour": colour,
                "thin": colour >= len(LEVEL_ONE),
                "words": f"{words[0]}, {words[1]}: {share:.1%}",
            }
        )
    return start + share


def _tables(rows: list[tuple[str, OfMetrics]]) -> View:
    """Return the numbers, then what each metric was derived from, once for all executors."""
    values = [
        [name, _WORDS.get(key, key.replace("_", " ")), *_cells(key, metric)]
        for name, of in rows
        for key, metric in of.items()
        if key not in _STUDIES_ONLY or not isinstance(metric, Absent)
    ]
    known: dict[str, Metric] = {}
    for _, of in rows:
        known |= {key: metric for key, metric in of.items() if not isinstance(metric, Absent)}
    origins = [
        [
            _WORDS.get(key, key.replace("_", " ")),
            f"{metric.formula} ({metric.source})",
            ", ".join(metric.events),
        ]
        for key, metric in known.items()
    ]
    return {"values": values, "origins": origins}


def _cells(key: str, metric: Measured[Metric]) -> list[str]:
    if isinstance(metric, Absent):
        return [f"not available: {metric.reason}", "-", "-"]
    share, value = metric.least_running_share, metric.value
    return [
        f"{value:.2f}" if key == "instructions_per_cycle" else f"{value:.1%}",
        metric.confidence,
        "unknown" if share is None else f"{share:.0%} of the time",
    ]


def _value(of: OfMetrics, key: str) -> float | None:
    metric = of[key]
    return None if isinstance(metric, Absent) else metric.value
