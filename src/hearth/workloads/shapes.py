"""What readers count on in the documents of workloads: a job's result, a data set's manifest.

Each may hold more; contract/ describes them.
"""

from typing import Annotated, Any, Literal, NotRequired, TypedDict


def above_zero(number: float) -> None:
    """Raises ValueError for a time that no run takes."""
    if number <= 0:
        raise ValueError("give a number above zero")


Seconds = Annotated[float, above_zero]


class Median(TypedDict):
    """Of the times of batches; empty where none was measured."""

    median: NotRequired[float]
    p95: NotRequired[float]


class Most(TypedDict):
    """Of delays; empty where none was measured."""

    max: NotRequired[float]


class Streaming(TypedDict):
    """What a streaming job says of its batches."""

    processing_ms: Median
    scheduling_delay_ms: Most
    events_processed: int
    unsent: int
    kept_up: bool


class Spark(TypedDict):
    """The Spark that ran a job."""

    master: str


class AnswerVerdict(TypedDict):
    """What the check of an answer says."""

    status: Literal["checked", "unchecked", "wrong"]
    detail: str  #: what was compared, what differs, or why nothing was


class Timed(TypedDict):
    """What every table reads of a finished job."""

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


class Manifest(TypedDict):
    """What a data set says of itself."""

    generator: str
    version: int | str
    bytes: int
    seed: NotRequired[int]
    size_bytes: NotRequired[int]
    parameters: NotRequired[dict[str, Any]]


class Generating(TypedDict):
    """What a generator notes while it makes a data set."""

    parts: int
