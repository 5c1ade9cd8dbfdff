"""The document of a characterisation: `hearth schema characterisation`, as dataclasses."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from hearth.base.codec import LEFT_OUT
from hearth.base.limits import Count, OneOf, Positive, Time
from hearth.studies.characterise.answers import (
    CountedMeasure,
    Scaling,
    Sides,
    StreamedRate,
    SweptCell,
)
from hearth.studies.compare.result import Compared, ComparisonHead

SCHEMA: Literal["hearth/characterisation/1"] = "hearth/characterisation/1"

Key = Annotated[
    str,
    OneOf(
        *("executors", "sweep", "nodes", "memory", "cores", "smt"),
        *("prefetchers", "bandwidth", "slots", "kinds", "rates"),
    ),
]


@dataclass(frozen=True)
class CharacterisationSettings:
    """The settings of a characterisation: how often each arm is run."""

    repeat: Positive
    warmup: Count
    seed: int
    cold: bool = False  #: whether the page cache was dropped before each run
    #: what is run, with what is fixed of it
    command: list[str] | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class ListedQuestion:
    """A question in the head: the comparison that answers it, or why this machine cannot.

    subject: names its runs.
    """

    subject: str
    application: str
    key: str
    title: str
    source: str
    notes: list[str]
    unanswerable: str | None = field(default=None, metadata=LEFT_OUT)
    comparison: ComparisonHead | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class CharacterisationHead:
    """`characterisation.json`."""

    id: str
    started: str
    subjects: list[str]
    settings: CharacterisationSettings
    questions: list[ListedQuestion]


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question with its answer (`MeasuredAnswer`), or the reason why there is none."""

    subject: str  #: the application or workload
    key: Key
    title: str
    source: str  #: the study that asked it (docs/sources.md)
    #: arms of the published study that are not possible here, and what was held equal
    notes: list[str]
    reason: str | None = field(default=None, metadata=LEFT_OUT)  #: why there is no answer here
    #: its runs, as `hearth schema comparison`
    comparison: Compared | None = field(default=None, metadata=LEFT_OUT)
    sentence: str | None = field(default=None, metadata=LEFT_OUT)  #: the answer
    #: which measures changed, and what failed
    why: list[str] | None = field(default=None, metadata=LEFT_OUT)
    #: of a sweep: median seconds and class (Baig 2018) of each configuration
    cells: list[SweptCell] | None = field(default=None, metadata=LEFT_OUT)
    #: of hardware threads (Awan 2016, formula 3)
    scaling: Scaling | None = field(default=None, metadata=LEFT_OUT)
    #: batch and streaming compared
    sides: list[Sides] | None = field(default=None, metadata=LEFT_OUT)
    #: by events per second
    streams: list[StreamedRate] | None = field(default=None, metadata=LEFT_OUT)
    #: what was counted of each arm: top-down, the formulas of Awan 2016, remote accesses
    counted: list[CountedMeasure] | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class Characterised:
    """The result of a characterisation."""

    schema: Literal["hearth/characterisation/1"]
    id: str
    started: Time
    subjects: list[str]
    settings: CharacterisationSettings
    questions: list[AnsweredQuestion]
