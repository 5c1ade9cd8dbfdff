"""A comparison: the verdict and why, each arm's times and ratio, what was counted beside them."""

from collections.abc import Sequence

from hearth.base.absent import Absent, Measured
from hearth.report.blocks import Block, Cell, Figure, Heading, Table, Texts
from hearth.report.figures import Interval, intervals, seconds_strip
from hearth.studies.compare.result import Compared, ComparedArm, PairedRatio
from hearth.studies.compare.verdict import COUNTS
from hearth.studies.engine.statistics import EQUAL_WITHIN, uses_ranks

_HEAD = ["arm", "runs", "median s", "min-max", "ratio", "interval", "median GC share",
         "median remote", ""]  # fmt: skip
_CPU_HEAD = ["CPU seconds", "median", "user", "system", "ratio", "interval"]
_COUNT_HEAD = ["counted", "arm", "median", "ratio", "interval"]


def comparison_blocks(comparison: Compared) -> list[Block]:
    """Return the arms, then why the verdict is what it is, and last the verdict in one sentence."""
    settings, verdict = comparison.settings, comparison.verdict
    absent = _absent(comparison.arms)
    warm = f"{settings.warmup} warm-up of each dropped" if settings.warmup else "no warm-up"
    cache = "dropped" if settings.cold else "warm"
    note = (
        f"{_explained(comparison)} Arms in random order (seed {settings.seed}), {warm}, page "
        f"cache {cache}."
    )
    return [
        Heading("Comparison", section="comparison", link="Comparison", only="page"),
        *arm_blocks(comparison),
        *warning_blocks(comparison),
        Texts([f"not measured: {absent}"] if absent else [], only="explained"),
        Texts([note], "note", only="explained"),
        Texts(verdict.why, "reason"),
        Texts([verdict.sentence], "verdict"),
    ]


def arm_blocks(comparison: Compared) -> list[Block]:
    """Return the arms' ratios and times as figures, and what each took and used as tables."""
    arms = comparison.arms
    return [
        *_figures(comparison),
        Table(_HEAD, [_row(arm) for arm in arms], "Arms", "runs ratio"),
        Texts([f"{arm.name}: {arm.setting}" for arm in arms if arm.setting], close=True),
        Table(_CPU_HEAD, _cpu_rows(arms), "CPU seconds of the whole application",
              "median user system ratio", only="explained"),
        Table(_COUNT_HEAD, _count_rows(arms),
              "Page faults, TLB misses and loads from other nodes", "median ratio",
              only="explained"),
    ]  # fmt: skip


def short_table(comparison: Compared) -> Table:
    """Return the times of the arms that have finished, and their ratios, for the terminal."""
    rows: list[list[Cell]] = [
        [arm.name, len(arm.seconds), f"{arm.median:.2f}", spread(arm),
         f"{_value(arm.ratio)} {ends(arm.ratio)}".rstrip()]
        for arm in comparison.finished
    ]  # fmt: skip
    head = ["arm", "runs", "median s", "min-max", "ratio"]
    return Table(head, rows, "Arms", "runs ratio", only="terminal", close=True)


def warning_blocks(comparison: Compared) -> list[Block]:
    """Return reasons to doubt the times."""
    return [Texts([f"{warning.sentence}." for warning in comparison.warnings], "warning")]


def _figures(comparison: Compared) -> list[Block]:
    """Return ratios with the pairs behind them and the band of what counts as equal, and times."""
    base = next((a.seconds for a in comparison.arms if a.name == comparison.baseline), [])
    rows = [
        Interval(arm.name, _colour(interval), arm.ratio.value, interval,
                 f"{arm.name}: {_value(arm.ratio)} {ends(arm.ratio)}", _pairs(arm.seconds, base))
        for arm in comparison.arms
        if arm.ratio is not None and (interval := arm.ratio.interval) is not None
    ]  # fmt: skip
    figures: list[Block] = []
    if rows:
        ratios = intervals(rows, (1 - EQUAL_WITHIN, 1 + EQUAL_WITHIN))
        of = f"to {comparison.baseline}"
        figures.append(Figure(
            "intervals", ratios, f"Ratio of times {of}, with interval; below 1 is faster",
            f"Ratio of times {of}; left of 1 is faster. The bar is the interval, small dots are "
            "single pairs of runs, the grey band is what counts as equal.",
        ))  # fmt: skip
    seconds = seconds_strip([(arm.name, arm.seconds) for arm in comparison.finished])
    if seconds is not None:
        caption = "Seconds of each run, from zero; the larger mark is the median."
        figures.append(Figure("strip", seconds, "Seconds of each run", caption))
    return figures


def _colour(ends: tuple[float, float]) -> str:
    return "good" if ends[1] < 1 else "bad" if ends[0] > 1 else "open"


def _pairs(seconds: list[float], base: list[float]) -> list[float]:
    """Return the ratio of each pair of runs, where each run has its partner."""
    if len(seconds) != len(base):
        return []
    return [one / other for one, other in zip(seconds, base, strict=True) if other]


def _explained(comparison: Compared) -> str:
    """Explain the ratios and intervals of a comparison."""
    shown = [arm.ratio for arm in comparison.arms if arm.ratio is not None]
    text = f"Ratio: centre of the paired ratios to {comparison.baseline}; below 1 is faster"
    if all(ratio.interval is None for ratio in shown):
        return f"{text}."
    kinds = {uses_ranks(ratio.pairs, comparison.confidence_each) for ratio in shown}
    names = {False: "Student's t", True: "signed ranks"}
    by = " and ".join(names[kind] for kind in sorted(kinds))
    text += f"; {comparison.confidence:.0%} interval over paired repetitions ({by})"
    if len(shown) > 1:
        text += f", for all {len(shown)} together"
    looks = comparison.settings.looks
    if looks:
        text += f", for checks after {', '.join(map(str, looks))}"
    return f"{text}."


def _row(arm: ComparedArm) -> list[str]:
    if not arm.seconds:
        return [arm.name, "0", "-", "-", "-", "-", "-", "-", _without_times(arm)]
    measures = arm.measures or {}
    return [
        arm.name,
        str(len(arm.seconds)),
        f"{arm.median:.2f}",
        spread(arm),
        _value(arm.ratio),
        ends(arm.ratio) or "-",
        _share(measures.get("gc_share")),
        _share(measures.get("remote_share")),
        f"{len(arm.failures)} failed" if arm.failures else "",
    ]


def _without_times(arm: ComparedArm) -> str:
    """Return why an arm has no times; what failed is told by the verdict."""
    if arm.skipped:
        return f"skipped: {arm.skipped}"
    return "failed: see the verdict" if arm.failures else "no run has ended"


def spread(arm: ComparedArm) -> str:
    """Return the shortest and the longest time."""
    return f"{min(arm.seconds):.2f}-{max(arm.seconds):.2f}"


def _value(ratio: PairedRatio | None) -> str:
    """Return a ratio; 1 of the baseline."""
    return f"{ratio.value:.2f}" if ratio else "1"


def ends(ratio: PairedRatio | None) -> str:
    """Return the interval in brackets; empty without one."""
    interval = ratio and ratio.interval
    return f"[{interval[0]:.2f}, {interval[1]:.2f}]" if interval else ""


def _share(value: Measured[float] | None) -> str:
    return f"{value:.1%}" if isinstance(value, int | float) else "-"


def _cpu_rows(arms: Sequence[ComparedArm]) -> list[list[str]]:
    """Return the CPU seconds of each arm, where they are on record."""
    return [
        [arm.name, f"{arm.cpu.median_s:.2f}", f"{arm.cpu.user_s:.2f}", f"{arm.cpu.system_s:.2f}",
         _value(arm.cpu.ratio), ends(arm.cpu.ratio) or "-"]
        for arm in arms
        if arm.cpu is not None
    ]  # fmt: skip


def _count_rows(arms: Sequence[ComparedArm]) -> list[list[str]]:
    """Return a row for each count and arm that has it."""
    return [
        [one.words, arm.name, one.form.format(count.median),
         f"{count.ratio.value:.2f}" if count.ratio else "-", ends(count.ratio) or "-"]
        for one in COUNTS
        for arm in arms
        if (count := (arm.counts or {}).get(one.key)) is not None
    ]  # fmt: skip


def _absent(arms: Sequence[ComparedArm]) -> str:
    """Return what no arm has a value of, by reason; empty where there is nothing."""
    ran = [arm.measures for arm in arms if arm.measures is not None]
    grouped: dict[str, list[str]] = {}
    for key in dict.fromkeys(key for measures in ran for key in measures):
        values = [measures.get(key) for measures in ran]
        if all(isinstance(value, Absent | None) for value in values):
            why = next(value.reason for value in values if isinstance(value, Absent))
            grouped.setdefault(why, []).append(key.removesuffix("_gb_s").replace("_", " "))
    return "; ".join(f"{', '.join(what)}: {why}" for why, what in grouped.items())
