"""The document of a characterisation: contract/characterisation.schema.json, as dataclasses."""

from dataclasses import dataclass, field

from hearth.base.codec import LEFT_OUT
from hearth.studies.characterise.answers import Scaling, Sides, StreamedRate, SweptCell
from hearth.studies.compare.result import Compared
from hearth.studies.engine.schema import CharacterisationSettings

SCHEMA = "hearth/characterisation/1"


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question with its answer (`answers.Answer`), or with the reason why there is none."""

    subject: str
    key: str
    title: str
    source: str
    notes: list[str]
    reason: str | None = field(default=None, metadata=LEFT_OUT)
    comparison: Compared | None = field(default=None, metadata=LEFT_OUT)
    sentence: str | None = field(default=None, metadata=LEFT_OUT)
    why: list[str] | None = field(default=None, metadata=LEFT_OUT)
    cells: list[SweptCell] | None = field(default=None, metadata=LEFT_OUT)
    scaling: Scaling | None = field(default=None, metadata=LEFT_OUT)
    sides: list[Sides] | None = field(default=None, metadata=LEFT_OUT)
    streams: list[StreamedRate] | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class Characterised:
    """What a characterisation says."""

    schema: str
    id: str
    started: str
    subjects: list[str]
    settings: CharacterisationSettings
    questions: list[AnsweredQuestion]
