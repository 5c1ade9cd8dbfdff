"""What readers count on in the documents of comparisons, characterisations and series.

Each may hold more; contract/ describes them.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from hearth.base.codec import LEFT_OUT
from hearth.base.limits import Count, OneOf, Positive
from hearth.workloads.shapes import AnswerVerdict, Seconds, Streaming, Timed


def rising(numbers: list[int]) -> None:
    """Raises ValueError for numbers of pairs that do not increase."""
    if any(later <= earlier for earlier, later in zip([0, *numbers], numbers, strict=False)):
        raise ValueError("give increasing numbers of pairs")


Looks = Annotated[list[int], rising]


class Absent(TypedDict):
    """Why there is no figure."""

    absent: str


@dataclass(frozen=True)
class Doubt:
    """A reason to doubt times."""

    #: the last two are of the verdict
    kind: Annotated[
        str,
        OneOf(
            "outlier", "two-groups", "slow-first", "drift", "own-state", "other-load", "other-plan"
        ),
    ]
    sentence: str  #: what was found and what to do about it


class ComparisonRun(TypedDict):
    """A line of `runs.jsonl`: of a run that counts its seconds, else its failure."""

    arm: str
    repetition: int
    record: str | None
    seconds: NotRequired[Seconds]
    failure: NotRequired[str]
    answer: NotRequired[str]
    measures: NotRequired[dict[str, float | Absent]]
    streaming: NotRequired[Streaming]


@dataclass(frozen=True)
class CharacterisationSettings:
    """How often each way is run."""

    repeat: Positive
    warmup: Count
    seed: int


@dataclass(frozen=True)
class CharacterisationHead:
    """`characterisation.json`."""

    id: str
    started: str
    subjects: list[str]
    settings: CharacterisationSettings


@dataclass(frozen=True)
class Line:
    """A line of `questions.jsonl`: a question, with its comparison or why it could not be asked."""

    subject: str
    key: str
    title: str
    source: str
    notes: list[str]
    comparison: str | None = field(default=None, metadata=LEFT_OUT)
    reason: str | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class SeriesEntry:
    """A job of a series. set: its parameters."""

    label: str
    job: str
    set: dict[str, str]


@dataclass(frozen=True)
class SeriesSettings:
    """How a series runs its cases."""

    repeat: int
    warmup: int
    seed: int
    size_bytes: int | None
    conf: dict[str, str]


@dataclass(frozen=True)
class SeriesHead:
    """The first line of a series' results."""

    schema: Literal["hearth/bench-result/1"]
    record: Literal["series"]
    suite: str
    entries: list[SeriesEntry]
    masters: list[str]
    settings: SeriesSettings
    machine: dict[str, Any]
    versions: dict[str, Any]


class CaseResult(Timed):
    """The same, as it is kept: with the verdict on the answer."""

    verdict: AnswerVerdict


class SeriesCase(TypedDict):
    """A finished case of a series: its result, or the reason why it failed."""

    record: Literal["case"]
    label: str
    master: str
    repetition: int
    result: NotRequired[CaseResult]
    reason: NotRequired[str]
