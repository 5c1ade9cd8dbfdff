"""A comparison in the terminal: each arm's times and ratio, the verdict and why."""

from collections.abc import Sequence

from hearth.base.absent import Absent, Measured
from hearth.report.terminal.screen import Screen, table
from hearth.studies.compare.result import Compared, ComparedArm, PairedRatio
from hearth.studies.compare.verdict import COUNTS
from hearth.studies.engine.statistics import uses_ranks

_HEAD = ["arm", "runs", "median s", "min-max", "ratio", "interval", "GC share", "remote", ""]


def show_comparison(comparison: Compared, screen: Screen) -> list[str]:
    """Return the table, then the verdict in one sentence, then why."""
    arms, settings, verdict = comparison.arms, comparison.settings, comparison.verdict
    lines = table(screen, _HEAD, [_row(arm) for arm in arms], "runs ratio")
    lines += [
        screen.paragraph(f"{arm.name}: {arm.setting}", "  ", "    ") for arm in arms if arm.setting
    ]
    lines += _cpu_table(arms, screen)
    counted = count_rows(arms)
    lines += ["", *table(screen, COUNT_HEAD, counted, "median ratio")] if counted else []
    lines += warned(comparison, screen, "  ")
    lines += ["", screen.paragraph(screen.title(verdict.sentence), "  ")]
    lines += [screen.paragraph(f"- {why}", "  ", "    ") for why in verdict.why]
    absent = _absent(arms)
    lines += [screen.paragraph(f"not measured: {absent}", "  ", "    ")] if absent else []
    warm = f"{settings.warmup} warm-up of each dropped" if settings.warmup else "no warm-up"
    cache = "dropped" if settings.cold else "warm"
    note = (
        f"{explained(comparison)} Arms in random order (seed {settings.seed}), {warm}, page "
        f"cache {cache}."
    )
    return [*lines, "", screen.paragraph(screen.paint(note, "dim"), "  ")]


def warned(comparison: Compared, screen: Screen, indent: str) -> list[str]:
    """Return reasons to doubt the times, if any."""
    texts = [f"warning: {warning.sentence}." for warning in comparison.warnings]
    shown = [screen.paragraph(text, indent, indent + "  ") for text in texts]
    return ["", *shown] if shown else []


def explained(comparison: Compared) -> str:
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
        return [arm.name, "0", "-", "-", "-", "-", "-", "-", without_times(arm)]
    measures = arm.measures or {}
    return [
        arm.name,
        str(len(arm.seconds)),
        f"{arm.median:.2f}",
        spread(arm),
        f"{arm.ratio.value:.2f}" if arm.ratio else "1",
        interval(arm) or "-",
        _share(measures.get("gc_share")),
        _share(measures.get("remote_share")),
        f"{len(arm.failures)} failed" if arm.failures else "",
    ]


def without_times(arm: ComparedArm) -> str:
    """Return why an arm has no times; what failed is told by the verdict."""
    if arm.skipped:
        return f"skipped: {arm.skipped}"
    return "failed: see below" if arm.failures else "no run has ended"


def spread(arm: ComparedArm) -> str:
    """Return the least and the most of its seconds."""
    return f"{min(arm.seconds):.2f}-{max(arm.seconds):.2f}"


def interval(arm: ComparedArm) -> str:
    """Return the interval of its ratio in brackets; empty without one."""
    return _ends(arm.ratio)


def _ends(ratio: PairedRatio | None) -> str:
    ends = ratio and ratio.interval
    return f"[{ends[0]:.2f}, {ends[1]:.2f}]" if ends else ""


def _share(value: Measured[float] | None) -> str:
    return f"{value:.1%}" if isinstance(value, int | float) else "-"


def _cpu_table(arms: Sequence[ComparedArm], screen: Screen) -> list[str]:
    """Return the CPU seconds of each arm, where they are on record."""
    rows = [
        [
            arm.name,
            f"{arm.cpu.median_s:.2f}",
            f"{arm.cpu.user_s:.2f}",
            f"{arm.cpu.system_s:.2f}",
            f"{arm.cpu.ratio.value:.2f}" if arm.cpu.ratio else "1",
            _ends(arm.cpu.ratio) or "-",
        ]
        for arm in arms
        if arm.cpu is not None
    ]
    head = ["CPU seconds", "median", "user", "system", "ratio", "interval"]
    return ["", *table(screen, head, rows, "median user system ratio")] if rows else []


COUNT_HEAD = ["counted", "arm", "median", "ratio", "interval"]


def count_rows(arms: Sequence[ComparedArm]) -> list[list[str]]:
    """Return a row for each count and arm that has it."""
    return [
        [
            one.words,
            arm.name,
            one.form.format(count.median),
            f"{count.ratio.value:.2f}" if count.ratio else "-",
            _ends(count.ratio) or "-",
        ]
        for one in COUNTS
        for arm in arms
        if (count := (arm.counts or {}).get(one.key)) is not None
    ]


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
