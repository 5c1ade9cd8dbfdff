"""A comparison in the terminal: each arm's times and ratio, the verdict and why."""

from typing import Any

from hearth.experiments.statistics import uses_ranks
from hearth.report.terminal import Screen, table

Document = dict[str, Any]
_HEAD = ["arm", "runs", "median s", "min-max", "ratio", "interval", "GC share", "remote", ""]


def show_comparison(comparison: Document, screen: Screen) -> list[str]:
    """The table, then the verdict in one sentence, then why."""
    arms = comparison["arms"]
    lines = table(screen, _HEAD, [_row(arm) for arm in arms], "runs ratio")
    lines += warned(comparison, screen, "  ")
    verdict = comparison["verdict"]
    lines += ["", screen.paragraph(screen.title(verdict["sentence"]), "  ")]
    lines += [screen.paragraph(f"- {why}", "  ", "    ") for why in verdict["why"]]
    absent = _absent(arms)
    lines += [screen.paragraph(f"not measured: {text}", "  ", "    ") for text in absent]
    settings = comparison["settings"]
    warm = f"{settings['warmup']} warm-up of each dropped" if settings["warmup"] else "no warm-up"
    cache = "dropped" if settings["cold"] else "warm"
    note = (
        f"{explained(comparison)} Arms in random order (seed {settings['seed']}), {warm}, page "
        f"cache {cache}."
    )
    return [*lines, "", screen.paragraph(screen.paint(note, "dim"), "  ")]


def warned(comparison: Document, screen: Screen, indent: str) -> list[str]:
    """Reasons to doubt the times, if any."""
    texts = [f"warning: {warning['sentence']}." for warning in comparison["warnings"]]
    shown = [screen.paragraph(text, indent, indent + "  ") for text in texts]
    return ["", *shown] if shown else []


def explained(comparison: Document) -> str:
    """What the ratios and intervals of a comparison are."""
    shown = [arm["ratio"] for arm in comparison["arms"] if "ratio" in arm]
    text = f"Ratio: centre of the paired ratios to {comparison['baseline']}; below 1 is faster"
    if not any("low" in ratio for ratio in shown):
        return f"{text}."
    kinds = {uses_ranks(ratio["pairs"], comparison["confidence_each"]): ratio for ratio in shown}
    names = {False: "Student's t", True: "signed ranks"}
    by = " and ".join(names[kind] for kind in sorted(kinds))
    text += f"; {comparison['confidence']:.0%} interval over paired repetitions ({by})"
    if len(shown) > 1:
        text += f", for all {len(shown)} together"
    looks = comparison["settings"].get("looks")
    if looks:
        text += f", for checks after {', '.join(map(str, looks))}"
    return f"{text}."


def _row(arm: Document) -> list[str]:
    if not arm["seconds"]:
        why = f"skipped: {arm['skipped']}" if arm.get("skipped") else "failed: see below"
        return [arm["name"], "0", "-", "-", "-", "-", "-", "-", why]
    ratio = arm.get("ratio", {})
    interval = f"[{ratio['low']:.2f}, {ratio['high']:.2f}]" if "low" in ratio else "-"
    measures = arm["measures"]
    return [
        arm["name"],
        str(len(arm["seconds"])),
        f"{arm['median_s']:.2f}",
        f"{arm['min_s']:.2f}-{arm['max_s']:.2f}",
        f"{ratio['value']:.2f}" if ratio else "1",
        interval,
        _share(measures["gc_share"]),
        _share(measures["remote_share"]),
        f"{len(arm['failures'])} failed" if arm.get("failures") else "",
    ]


def _share(value: Any) -> str:
    return f"{value:.1%}" if isinstance(value, int | float) else "-"


def _absent(arms: list[Document]) -> list[str]:
    reasons: dict[str, str] = {}
    for arm in arms:
        for key, value in arm.get("measures", {}).items():
            if isinstance(value, dict):
                reasons.setdefault(f"{key.replace('_', ' ')} of {arm['name']}", value["absent"])
    grouped: dict[str, list[str]] = {}
    for what, why in reasons.items():
        grouped.setdefault(why, []).append(what)
    return [f"{', '.join(what)}: {why}" for why, what in grouped.items()]
