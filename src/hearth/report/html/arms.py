"""The arms of a comparison on the page: their intervals as a picture, their times as a table."""

from typing import Any

from hearth.report.html import pictures
from hearth.report.html.svg import element, table, text

Document = dict[str, Any]
_HEAD = ["arm", "runs", "median s", "min s", "max s", "ratio [interval]", "note"]


def draw_arms(comparison: Document) -> str:
    """The picture where there are intervals, then warnings and the table."""
    arms = comparison["arms"]
    rows = _warnings(comparison) + table(_HEAD, [_row(arm) for arm in arms], "Arms")
    if not any("low" in arm.get("ratio", {}) for arm in arms):
        return rows
    picture = element(
        "div",
        pictures.draw_intervals(arms, comparison["baseline"]),
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label="ratios with intervals",
    )
    caption = f"Ratio of times to {comparison['baseline']}; left is faster."
    return element("figure", picture, element("figcaption", text(caption))) + rows


def _warnings(comparison: Document) -> str:
    items = [element("li", text(f"{w['sentence']}.")) for w in comparison["warnings"]]
    return element("p", "Warnings:") + element("ul", *items) if items else ""


def _row(arm: Document) -> list[Any]:
    seconds = arm.get("seconds") or []
    if not seconds:
        return [arm["name"], 0, "-", "-", "-", "-", arm.get("skipped", "")]
    ratio = arm.get("ratio", {"value": 1.0})
    interval = f" [{ratio['low']:.3f}, {ratio['high']:.3f}]" if "low" in ratio else ""
    shown = f"{ratio['value']:.3f}{interval}"
    numbers = [float(arm["median_s"]), float(min(seconds)), float(max(seconds))]
    failed = "failed in some runs" if arm.get("failures") else ""
    return [arm["name"], len(seconds), *numbers, shown, failed]
