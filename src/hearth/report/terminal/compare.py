"""A comparison in the terminal: each arm's times and ratio, the verdict and why."""

from collections.abc import Sequence

from hearth.base.absent import Absent, Measured
from hearth.report.terminal.screen import Screen, table
from hearth.studies.compare.result import Compared, ComparedArm
from hearth.studies.engine.statistics import uses_ranks

_HEAD = ["arm", "runs", "median s", "min-max", "ratio", "interval", "GC share", "remote", ""]


def show_comparison(comparison: Compared, screen: Screen) -> list[str]:
    """Return the table, then the verdict in one sentence, then why."""
    arms, settings, verdict = comparison.arms, comparison.settings, comparison.verdict
    lines = table(screen, _HEAD, [_row(arm) for arm in arms], "runs ratio")
    lines += warned(comparison, screen, "  ")
    lines += ["", screen.paragraph(screen.title(verdict.sentence), "  ")]
    lines += [screen.paragraph(f"- {why}", "  ", "    ") for why in verdict.why]
    absent = _absent(arms)
    lines += [screen.paragraph(f"not measured: {text}", "  ", "    ") for text in absent]
    warm = f"{settings.warmup} warm-up of each dropped" if settings.warmup else "no warm-up"
    cache = "dropped" if settings.cold else "warm"
    note = (
        f"{explained(comparison)} Arms in random order (seed {settings.seed}), {warm}, page "
        f"cache {cache}."
    )
    return [*lines, "", screen.paragraph(screen.paint(note, "dim"), "  ")]


def warned(comparison: Compared, screen: Screen, indent: str) -> list[str]:
    """Reasons to doubt the times, if any."""
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
    ends = arm.ratio and arm.ratio.interval
    return f"[{ends[0]:.2f}, {ends[1]:.2f}]" if ends else ""


def _share(value: Measured[float] | None) -> str:
    return f"{value:.1%}" if isinstance(value, int | float) else "-"


def _absent(arms: Sequence[ComparedArm]) -> list[str]:
    reasons: dict[str, str] = {}
    for arm in arms:
        for key, value in (arm.measures or {}).items():
            if isinstance(value, Absent):
                reasons.setdefault(f"{key.replace('_', ' ')} of {arm.name}", value.reason)
    grouped: dict[str, list[str]] = {}
    for what, why in reasons.items():
        grouped.setdefault(why, []).append(what)
    return [f"{', '.join(what)}: {why}" for why, what in grouped.items()]
