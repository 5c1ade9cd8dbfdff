"""A colocation on the page: what its template shows."""

from collections.abc import Sequence
from typing import Any

from hearth.experiments.colocated import Colocated
from hearth.report import colocate
from hearth.report.html.comparison import ticks
from hearth.tuning.colocation import Estimate

View = dict[str, Any]
#: A row of a figure: its name, its kind, the figure.
Row = tuple[str, str, Estimate]
_MOST_SPLITS = 12


def colocation_view(said: Colocated) -> View:
    """The answer, predicted and measured slowdowns on one scale, the splits, the tables."""
    ran = any(arm.members and arm.members[0].runs for arm in said.arms)
    tables = []
    if ran:
        tables += [(colocate.ARM_HEAD, colocate.arm_rows(said), "Ways")]
        tables += [(colocate.MEMBER_HEAD, colocate.member_rows(said), "Applications")]
    if said.checks:
        tables += [(colocate.CHECK_HEAD, colocate.check_rows(said), "Predicted and measured")]
    found = said.prediction
    return {
        "sentence": said.sentence if ran else "",
        "warnings": [*colocate.failures(said), *(f"{text}." for text in said.warnings)],
        "slowdowns": _figure(_slowdowns(said)),
        "splits": _figure(_splits(said)),
        "predicted": "" if found is None else colocate.predicted_from(said, found),
        "split_head": colocate.SPLIT_HEAD,
        "split_rows": [] if found is None else colocate.split_rows(said, found),
        "tables": tables,
        "notes": [
            *(f"{note}." for note in (found.notes if found is not None else [])),
            *(colocate.notes_of(said) if ran else []),
        ],
    }


def _slowdowns(said: Colocated) -> list[Row]:
    """Of each application what was predicted for its share, and what was measured in each way."""
    split = next((s for s in said.prediction.splits if s.shown == said.split), None) if (
        said.prediction
    ) else None  # fmt: skip
    rows: list[Row] = []
    for at, one in enumerate(said.applications):
        if split is not None:
            rows.append((f"{one.name}: predicted", "open", split.applications[at].slowdown))
        for arm in said.arms:
            slow = arm.members[at].slowdown
            if slow is not None and arm.name != "serial":
                name = f"split {said.split}" if arm.name == "split" else arm.name
                rows.append((f"{one.name}: {name}", "measured", slow))
    return rows


def _splits(said: Colocated) -> list[Row]:
    found = said.prediction.splits[:_MOST_SPLITS] if said.prediction else []
    return [(split.shown, "open", split.throughput) for split in found]


def _figure(rows: Sequence[Row]) -> View | None:
    """Places from 0 to 1 on a scale that holds 1 and all intervals; None for a row or none."""
    if len(rows) < 2:
        return None
    ends = [1.0, *(end for _, _, one in rows for end in one.ends or (one.value,))]
    margin = 0.04 * ((max(ends) - min(ends)) or 1)
    low, high = min(ends) - margin, max(ends) + margin

    def place(value: float) -> float:
        return float((value - low) / (high - low))

    def row(name: str, kind: str, one: Estimate) -> View:
        start, end = one.ends or (one.value, one.value)
        return {"name": name, "kind": kind, "points": [], "words": f"{name}: {colocate.shown(one)}",
                "low": place(start), "high": place(end), "middle": place(one.value)}  # fmt: skip

    return {
        "intervals": [row(*one) for one in rows],
        "one": place(1.0),
        "band": None,
        "ticks": [(place(tick), f"{tick:.2f}") for tick in ticks(low, high)],
    }
