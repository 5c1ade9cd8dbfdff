"""The documents of workloads that are read: a job's result, a data set's manifest.

Each may hold more: contract/examples has one of each.
"""

from typing import Annotated, Any, Literal, NotRequired, TypedDict


def above_zero(number: float) -> None:
    """Raise ValueError for a time that no run takes."""
    if number <= 0:
        raise ValueError("give a number above zero")


Seconds = Annotated[float, above_zero]


class Median(TypedDict):
    """The median time of batches; empty if none was measured."""

    median: NotRequired[float]
    p95: NotRequired[float]


class Most(TypedDict):
    """The longest delay; empty if none was measured."""

    max: NotRequired[float]


class Streaming(TypedDict):
    """A streaming job's report of its batches."""

    processing_ms: Median
    scheduling_delay_ms: Most
    events_processed: int
    unsent: int
    kept_up: bool


class Spark(TypedDict):
    """The Spark that ran a job."""

    master: str


class AnswerVerdict(TypedDict):
    """The result of checking an answer."""

    status: Literal["checked", "unchecked", "wrong"]
    detail: str  #: what was compared, what differs, or why nothing was


class Timed(TypedDict):
    """The part of a finished job that every table reads."""

    seconds: Seconds
    spark: Spark
    streaming: NotRequired[Streaming]


class CaseResult(Timed):
    """The same, as a series keeps it: with the verdict on the answer."""

    verdict: AnswerVerdict


class JobResult(Timed):
    """The document that a job leaves."""

    job: str
    parameters: dict[str, str]
    answer: dict[str, Any]


class File(TypedDict):
    """A file of a data set, by its path below the data set's directory."""

    path: str
    bytes: int


class Manifest(TypedDict):
    """A data set's description of itself."""

    generator: str
    version: int | str
    bytes: int
    seed: NotRequired[int]
    size_bytes: NotRequired[int]
    parameters: NotRequired[dict[str, Any]]
    files: NotRequired[list[File]]


class Generating(TypedDict):
    """A generator's notes while it makes a data set."""

    parts: int
