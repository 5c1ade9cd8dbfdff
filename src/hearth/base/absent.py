"""A measurement: a value, or the reason why there is none."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Absent:
    """Something that was not measured, and why; in JSON `{"absent": reason}`."""

    reason: str


#: `isinstance(value, Absent)` tells the two apart.
Measured: TypeAlias = T | Absent


def known(values: Iterable[Measured[T] | None]) -> list[T]:
    """Return those that were measured."""
    return [value for value in values if value is not None and not isinstance(value, Absent)]
