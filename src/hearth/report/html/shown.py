"""Numbers as a reader of the page sees them, the same everywhere."""

from collections.abc import Callable
from typing import TypeVar

from hearth.base.absent import Absent, Measured
from hearth.report.blocks import Cell

Group = TypeVar("Group")
Value = TypeVar("Value")


def seconds(value: float) -> str:
    """Return a time: `0.25 s`, `15.2 s`, `2:05`, `2:46:40`."""
    if value < 100:
        return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def number(value: float) -> str:
    """Return a number of a table."""
    return f"{value:,.3g}" if isinstance(value, float) else f"{value:,}"


def share(value: Measured[float] | None) -> str:
    """Return a share as a percentage."""
    return "-" if value is None or isinstance(value, Absent) else f"{value:.1%}"


def plain(value: Cell | None) -> Cell:
    """Return the value, or a dash."""
    return "-" if value is None else value


def part(group: Measured[Group], of: Callable[[Group], Value]) -> Value | None:
    """Return a part of a group that may itself be absent."""
    return None if isinstance(group, Absent) else of(group)


def percent(fraction: float) -> str:
    """Return a place or width on the page, for CSS."""
    return f"{100 * fraction:.3f}%"


def executor_name(name: str) -> str:
    """Return an executor by its number; the driver has a name."""
    return f"executor {name}" if name.isdigit() else name
