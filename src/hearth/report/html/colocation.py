"""A colocation on the page: what its template shows."""

from collections.abc import Sequence

from hearth.report.html.figures import Interval, intervals
from hearth.report.html.shown import View
from hearth.report.terminal import colocate
from hearth.studies.colocate.result import Colocated, ShownRun
from hearth.studies.models.colocation import Estimate

#: A row of a figure: its name, its kind, the figure.
Row = tuple[str, str, Estimate]
_MOST_SPLITS = 12


def colocation_view(result: Colocated) -> View:
    """Return the answer, predicted and measured slowdowns on one scale, the splits, the tables."""
    ran = colocate.ran(result)
    tables = []
    if ran:
        tables += [(colocate.ARM_HEAD, colocate.arm_rows(result), "Arms")]
        tables += [(colocate.MEMBER_HEAD, colocate.member_rows(result), "Applications")]
        counts = colocate.machine_rows(result)
        tables += [(colocate.MACHINE_HEAD, counts, "The whole machine")] if counts else []
    if result.checks:
        tables += [(colocate.CHECK_HEAD, colocate.check_rows(result), "Predicted and measured")]
    found = result.prediction
    return {
        "sentence": result.sentence if ran else "",
        "warnings": [*colocate.failures(result), *(f"{text}." for text in result.warnings)],
        "map": _map(result),
        "lanes": _lanes(result),
        "names": [one.name for one in result.applications],
        "slowdowns": _figure(_slowdowns(result)),
        "splits": _figure(_splits(result)),
        "predicted": "" if found is None else colocate.predicted_from(result, found),
        "split_head": colocate.SPLIT_HEAD,
        "split_rows": [] if found is None else colocate.split_rows(result, found),
        "tables": tables,
        "notes": [
            *(f"{note}." for note in (found.notes if found is not None else [])),
            *(colocate.notes_of(result) if ran else []),
        ],
    }


def _map(result: Colocated) -> list[View]:
    """Return each part of the machine with whom the split gives it to."""
    if result.split is None:
        return []
    counts = (int(count) for count in result.split.split("-"))
    owners = [at for at, count in enumerate(counts) for _ in range(count)]
    return [
        {
            "name": f"{result.kind} {number}: CPU{'s' * (not cpus.isdigit())} {cpus}",
            "application": result.applications[owner].name,
            "colour": owner,
        }
        for number, (cpus, owner) in enumerate(zip(result.units, owners, strict=False))
    ]


def _lanes(result: Colocated) -> View | None:
    """Return when each application ran in the last repetition of each arm, on a common axis."""
    ends = [run.end_s for shown in result.rounds for run in shown.runs]
    if not ends or max(ends) <= 0:
        return None
    whole = max(ends)

    def part(arm: str, run: ShownRun) -> View:
        name = result.applications[run.application].name
        ended = "" if run.end == "itself" else f", {run.end}"
        words = f"{name}, {_way(result, arm)}: {run.start_s:.1f} to {run.end_s:.1f} s{ended}"
        return {"start": run.start_s / whole, "width": (run.end_s - run.start_s) / whole,
                "colour": run.application, "thin": False, "words": words}  # fmt: skip

    rows = [
        {
            "name": f"{_way(result, shown.arm)}: {one.name}",
            "parts": [part(shown.arm, run) for run in shown.runs if run.application == at],
        }
        for shown in result.rounds
        for at, one in enumerate(result.applications)
    ]
    return {"rows": rows, "seconds": f"{whole:.1f}"}


def _way(result: Colocated, arm: str) -> str:
    return f"split {result.split}" if arm == "split" else arm


def _slowdowns(result: Colocated) -> list[Row]:
    """Return each application's slowdown, predicted for its share and measured in each arm."""
    split = next((s for s in result.prediction.splits if s.shown == result.split), None) if (
        result.prediction
    ) else None  # fmt: skip
    rows: list[Row] = []
    for at, one in enumerate(result.applications):
        if split is not None:
            rows.append((f"{one.name}: predicted", "open", split.applications[at].slowdown))
        for arm in result.arms:
            slow = arm.members[at].slowdown
            if slow is not None and arm.name != "serial":
                rows.append((f"{one.name}: {_way(result, arm.name)}", "measured", slow))
    return rows


def _splits(result: Colocated) -> list[Row]:
    found = result.prediction.splits[:_MOST_SPLITS] if result.prediction else []
    return [(split.shown, "open", split.throughput) for split in found]


def _figure(rows: Sequence[Row]) -> View | None:
    """Return the rows on one scale; None for a row or none."""
    if len(rows) < 2:
        return None
    return intervals(
        [Interval(name, kind, one.value, one.ends, f"{name}: {colocate.shown(one)}")
         for name, kind, one in rows]
    )  # fmt: skip
