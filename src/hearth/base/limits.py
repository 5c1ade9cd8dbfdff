"""Limits that the writer of a document promises, for its JSON Schema; no reader checks them."""

from dataclasses import dataclass
from typing import Annotated, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Limits:
    """The keywords of JSON Schema beside a type; a field is absent where it is None."""

    minimum: float | None = None
    exclusive_minimum: float | None = None
    maximum: float | None = None
    exclusive_maximum: float | None = None
    min_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    pattern: str | None = None
    format: str | None = None
    enum: tuple[str, ...] | None = None


def OneOf(*texts: str) -> Limits:  # noqa: N802 - reads as a type
    """Return the limits of a text that is one of these."""
    return Limits(enum=texts)


Count = Annotated[int, Limits(minimum=0)]
Positive = Annotated[int, Limits(minimum=1)]
Amount = Annotated[float, Limits(minimum=0)]
AboveZero = Annotated[float, Limits(exclusive_minimum=0)]
#: Of a whole, from 0 to 1.
Share = Annotated[float, Limits(minimum=0, maximum=1)]
#: Of an interval or of several together, between 0 and 1.
Confidence = Annotated[float, Limits(exclusive_minimum=0, exclusive_maximum=1)]
Text = Annotated[str, Limits(min_length=1)]
#: ISO 8601.
Time = Annotated[str, Limits(format="date-time")]
#: CPUs or nodes in the kernel's list format, such as `0-3,8`; empty for none.
IdList = Annotated[str, Limits(pattern=r"^([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$")]
SomeIds = Annotated[str, Limits(pattern=r"^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$")]
NonEmpty = Annotated[list[T], Limits(min_items=1)]
#: The id of a CPU or a node, as a name in JSON.
Id = Annotated[str, Limits(pattern="^[0-9]+$")]
