"""Values of events and samples, one by one: of the right type and plausible, or ValueError.

So an event whose values are damaged is counted as such before any of it is in a sum.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")

#: In the year 2248, in milliseconds since the epoch.
LATEST_MS = 1 << 43
_MOST = 1 << 62
_WHOLE = {int}
_NUMBERS = {int, float}


def wholes(values: Iterable[Any]) -> None:
    """Raise ValueError unless all are whole numbers that a sum can take."""
    every = tuple(values)
    if every and (set(map(type, every)) != _WHOLE or max(every) > _MOST or min(every) < -_MOST):
        raise ValueError("not a whole number")


def numbers(values: Iterable[Any]) -> None:
    """Raise ValueError unless all are numbers that a sum can take; None stands for none."""
    known = [value for value in values if value is not None]
    if set(map(type, known)) - _NUMBERS or (known and max(map(abs, known)) > _MOST):
        raise ValueError("no number")


def whole(holder: Mapping[str, Any], name: str) -> int:
    """Return a whole number."""
    value = holder[name]
    wholes((value,))
    return int(value)


def moment(holder: Mapping[str, Any], name: str) -> int:
    """Return a time of day in milliseconds since the epoch."""
    value = whole(holder, name)
    if not 0 <= value <= LATEST_MS:
        raise ValueError(f"{name} {value} is not a time")
    return value


def text(holder: Mapping[str, Any], name: str) -> str:
    """Return a text."""
    value = holder[name]
    if not isinstance(value, str):
        raise ValueError(f"{name} is not text")
    return value


def maybe(
    read: Callable[[Mapping[str, Any], str], T], holder: Mapping[str, Any], name: str
) -> T | None:
    """Return what `read` returns, or None if there is nothing to read."""
    return None if holder.get(name) is None else read(holder, name)
