"""The documents of a comparison: what was asked (`comparison.json`) and what it says.

Each is a dataclass; its JSON, in and out, is made here and nowhere else. What a comparison says is
contract/comparison.schema.json.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hearth.experiments.doubts import Doubt
from hearth.experiments.outcome import Measures

Document = dict[str, Any]
SCHEMA = "hearth/comparison/2"


@dataclass(frozen=True)
class Settings:
    """How a comparison runs its arms.

    repeat: runs of each arm that count; else `looks`, the numbers of them after which it looks
    whether it is certain. cold: the page cache is dropped before each run. command: what is run.
    timed: what the seconds are of; None for the application from start to end.
    """

    warmup: int
    seed: int
    cold: bool = False
    command: tuple[str, ...] = ()
    repeat: int | None = None
    looks: tuple[int, ...] = ()
    timed: str | None = None
    sustained_gb_s: float | None = None

    @property
    def most(self) -> int:
        """Runs of each arm that count, at most."""
        return self.looks[-1] if self.looks else self.repeat or 0

    @staticmethod
    def read(document: Mapping[str, Any]) -> "Settings":
        return Settings(
            warmup=document["warmup"],
            seed=document["seed"],
            cold=document["cold"],
            command=tuple(document.get("command", ())),
            repeat=document.get("repeat"),
            looks=tuple(document.get("looks", ())),
            timed=document.get("timed"),
            sustained_gb_s=document.get("sustained_gb_s"),
        )

    def document(self) -> Document:
        number: Document = {"looks": list(self.looks)} if self.looks else {"repeat": self.repeat}
        further = {"timed": self.timed, "sustained_gb_s": self.sustained_gb_s}
        return {
            **_known(number),
            "warmup": self.warmup,
            "seed": self.seed,
            "cold": self.cold,
            "command": list(self.command),
            **_known(further),
        }


@dataclass(frozen=True)
class Head:
    """What is compared. arms: each with the reason why it cannot be run here, or None."""

    id: str
    application: str
    started: str
    baseline: str
    arms: Mapping[str, str | None]
    settings: Settings

    @property
    def running(self) -> list[str]:
        """The arms that can be run here."""
        return [name for name, skipped in self.arms.items() if not skipped]

    @staticmethod
    def read(document: Mapping[str, Any]) -> "Head":
        """Of a document of the shape `ComparisonHead`."""
        texts = {key: document[key] for key in ("id", "application", "started", "baseline")}
        arms = {arm["name"]: arm.get("skipped") for arm in document["arms"]}
        return Head(**texts, arms=arms, settings=Settings.read(document["settings"]))

    def document(self) -> Document:
        arms = [_known({"name": name, "skipped": why}) for name, why in self.arms.items()]
        return {**self._said(), "arms": arms, "settings": self.settings.document()}

    def _said(self) -> Document:
        return {key: getattr(self, key) for key in ("id", "application", "started", "baseline")}


@dataclass(frozen=True)
class AgainstBaseline:
    """How the time of an arm stands to the baseline's, over pairs of runs."""

    value: float
    pairs: int
    interval: tuple[float, float] | None
    kind: str

    def document(self) -> Document:
        shown: Document = {"value": self.value, "pairs": self.pairs}
        if self.interval is not None:
            shown |= {"low": self.interval[0], "high": self.interval[1]}
        return shown


@dataclass(frozen=True)
class ComparedArm:
    """One arm: the seconds of its runs that count, why others failed, what was measured."""

    name: str
    seconds: Sequence[float] = ()
    skipped: str | None = None
    failures: Sequence[str] = ()
    median_s: float = 0.0
    measures: Measures | None = None
    against: AgainstBaseline | None = None

    def document(self) -> Document:
        found: Document = {"name": self.name, "seconds": list(self.seconds)}
        if self.skipped:
            return {**found, "skipped": self.skipped}
        if self.failures:
            found["failures"] = list(self.failures)
        if not self.seconds:
            return found
        found |= {"median_s": self.median_s, "min_s": min(self.seconds), "max_s": max(self.seconds)}
        found["measures"] = dict(self.measures or {})
        if self.against is not None:
            found |= {"ratio": self.against.document(), "against": self.against.kind}
        return found


@dataclass(frozen=True)
class Verdict:
    """The arm to use, or None; one sentence, and what speaks for it."""

    choice: str | None
    sentence: str
    why: Sequence[str]

    def document(self) -> Document:
        return {"choice": self.choice, "sentence": self.sentence, "why": list(self.why)}


@dataclass(frozen=True)
class Compared:
    """What a comparison says. confidence: of all claims together; each: of one claim alone."""

    head: Head
    confidence: float
    each: float
    arms: Sequence[ComparedArm]
    verdict: Verdict
    warnings: Sequence[Doubt]

    @property
    def finished(self) -> list[ComparedArm]:
        """The arms with a run that counts."""
        return [arm for arm in self.arms if arm.seconds]

    def document(self) -> Document:
        return {
            "schema": SCHEMA,
            **self.head.document(),
            "confidence": self.confidence,
            "confidence_each": self.each,
            "arms": [arm.document() for arm in self.arms],
            "verdict": self.verdict.document(),
            "warnings": [{"kind": d.kind, "sentence": d.sentence} for d in self.warnings],
        }


def _known(values: Mapping[str, Any]) -> Document:
    return {key: value for key, value in values.items() if value is not None}
