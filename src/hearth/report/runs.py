"""The list of recorded runs, as a table."""

from collections.abc import Sequence
from typing import Any

from hearth.model.durations import show_seconds
from hearth.model.sizes import show_bytes
from hearth.report.terminal import Screen, table

_STYLES = {"running": "bold", "failed": "red", "killed": "red", "interrupted": "yellow"}


def show_runs(rows: Sequence[dict[str, Any]], screen: Screen) -> list[str]:
    """A line for each run; a hint if there is none."""
    if not rows:
        return ["no run is recorded: 'hearth profile APPLICATION' makes one"]
    head = ("run", "started (UTC)", "application", "master", "state", "wall", "size")
    return table(screen, head, [_cells(row, screen) for row in rows], right="wall size")


def _cells(row: dict[str, Any], screen: Screen) -> tuple[str, ...]:
    state = row["state"]
    shown = screen.paint(state, _STYLES[state]) if state in _STYLES else state
    application = f"{row['application']} ({row['arm']})" if row["arm"] else row["application"]
    started = row["started"][:19].replace("T", " ")
    master, size = row["master"] or "-", show_bytes(row["size_bytes"])
    return (row["id"], started, application, master, shown, show_seconds(row["wall_s"]), size)
