"""What to do about findings, so that no two of one run's say the opposite.

A step names the settings that it turns, and which way. The findings are asked in the order in which
they are read: the first to turn a setting decides its way, and no later one is given a step that
turns it the other way.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from hearth.analysis.document import Finding
from hearth.base.limits import Amount

#: What several findings have something to say about.
Turned = Literal["partitions", "cores", "executors", "memory"]
Way = Literal["more", "less"]
#: Each setting that a step turns, and which way.
Turns = tuple[tuple[Turned, Way], ...]


@dataclass(frozen=True)
class Step:
    """One way to act on a finding. turns: what of several findings' concern it changes."""

    words: str
    turns: Turns = ()


def turning(words: str, what: Turned, way: Way) -> Step:
    """Return a step that turns one setting."""
    return Step(words, ((what, way),))


def plainly(words: str) -> tuple[Step, ...]:
    """Return one step that no other finding speaks against."""
    return (Step(words),)


MORE_PARTITIONS = turning("use more partitions", "partitions", "more")
FEWER_PARTITIONS = turning("use fewer, larger partitions", "partitions", "less")
MORE_MEMORY = turning("give executors more memory", "memory", "more")
FEWER_CORES = turning("use fewer cores per executor", "cores", "less")
FEWER_EXECUTORS = turning("use fewer executors", "executors", "less")
SMALLER_EXECUTORS = Step(
    "use more and smaller executors", (("executors", "more"), ("cores", "less"))
)


@dataclass(frozen=True)
class Found:
    """A finding as a rule makes it: its next step is one of several."""

    id: str
    severity: Literal["error", "warning", "note"]
    sentence: str
    evidence: list[str]
    steps: tuple[Step, ...]
    seconds: Amount | None = None


def in_words(steps: Sequence[Step]) -> str:
    """Return steps as one instruction."""
    return ", or ".join(step.words for step in steps)


def agreed(ranked: Iterable[Found]) -> list[Finding]:
    """Return the findings, which are in the order to read them, each with the steps left to it."""
    decided: dict[Turned, tuple[Way, Found]] = {}
    findings = []
    for found in ranked:
        left = tuple(
            step
            for step in found.steps
            if all(decided.get(what, (way,))[0] == way for what, way in step.turns)
        )
        for step in left:
            for what, way in step.turns:
                decided.setdefault(what, (way, found))
        first = [decided[what][1].id for step in found.steps for what, _ in step.turns]
        words = in_words(left) or f"see to {first[0]} first: what helps here works against that"
        findings.append(_finding(found, words))
    return findings


def _finding(found: Found, next_step: str) -> Finding:
    return Finding(
        found.id, found.severity, found.sentence, found.evidence, next_step, found.seconds
    )
