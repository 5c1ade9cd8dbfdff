"""The list of recorded runs, comparisons and characterisations, as a table."""

from collections.abc import Sequence
from typing import Any

from hearth.base.durations import show_seconds
from hearth.base.sizes import show_bytes
from hearth.report.terminal.screen import Screen, shown_width, table
from hearth.studies.listing import ListedStudy

#: Columns that the master or the question keeps on any screen.
_LEAST = 12
_STYLES = {"running": "bold", "failed": "red", "killed": "red", "interrupted": "yellow"}
_STYLES |= {"starting": "bold", "gone": "red"}


def show_runs(
    rows: Sequence[dict[str, Any]],
    studies: Sequence[ListedStudy],
    screen: Screen,
    kind: str | None = None,
) -> list[str]:
    """Return a line for each, by the time of its start; a hint if there is none.

    kind: that was asked for alone.
    """
    if not rows and not studies:
        if kind not in (None, "run"):
            return [f"no {kind} is kept: 'hearth runs' lists what there is"]
        return ["no run is recorded: 'hearth submit' and 'hearth profile APPLICATION' make one"]
    first = ("id", "started (UTC)", "application", "master or question")
    head = (*first, "state", "kept", "wall", "size")
    cells = [_cells(row, screen) for row in rows]
    cells += [_study_cells(study) for study in studies]
    cells.sort(key=lambda row: row[1])
    whole = table(screen, head, cells, right="wall size")
    if max(map(shown_width, whole)) <= screen.width:
        return whole
    return _narrow(screen, head, cells)


def _narrow(screen: Screen, head: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    """Return a narrow table: without what the id says, and with the rest cut to fit.

    The beginning of an id stands for it, too.
    """
    short = [(row[0], row[3], row[4], row[6]) for row in cells]
    ids, states, walls = (max(shown_width(row[at]) for row in [*short, head]) for at in (0, 2, 3))
    left = screen.width - ids - states - walls - 8
    ids, left = ids - max(0, _LEAST - left), max(_LEAST, left)
    rows = [(_cut(row[0], ids), _cut(row[1], left), *row[2:]) for row in short]
    return table(screen, (head[0], _cut(head[3], left), head[4], head[6]), rows, right="wall")


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _study_cells(study: ListedStudy) -> tuple[str, ...]:
    started = study.started[:19].replace("T", " ")
    what = f"{study.kind}: {', '.join(study.asked)}"
    runs = "-" if study.runs is None else f"{study.runs} {'run' if study.runs == 1 else 'runs'}"
    return (study.id, started, study.application, what, runs, "-", "-", "-")


def _cells(row: dict[str, Any], screen: Screen) -> tuple[str, ...]:
    state = row["state"]
    shown = screen.paint(state, _STYLES[state]) if state in _STYLES else state
    application = f"{row['application']} ({row['arm']})" if row["arm"] else row["application"]
    started = row["started"][:19].replace("T", " ")
    master, size = row["master"] or "-", show_bytes(row["size_bytes"])
    kept, wall = "profile" if row["profiled"] else "light", show_seconds(row["wall_s"])
    return (row["id"], started, application, master, shown, kept, wall, size)
