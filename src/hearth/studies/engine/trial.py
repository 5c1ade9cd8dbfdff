"""A run that ended, of any experiment: the one type in which runs are kept, read and judged."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hearth.studies.engine.schema import Absent, CaseResult
from hearth.workloads.shapes import Streaming

#: What may explain a difference, of one run: a number, or why there is none.
Measures = Mapping[str, float | Absent]


@dataclass(frozen=True)
class Turn:
    """A run to be made: what is run, in which way, for which time. Below zero: a warm-up."""

    subject: str
    arm: str
    repetition: int

    @property
    def counts(self) -> bool:
        return self.repetition >= 0

    @property
    def shown(self) -> str:
        """`bound, run 2`, `bound, warm-up`."""
        return f"{self.arm}, {f'run {self.repetition + 1}' if self.counts else 'warm-up'}"


@dataclass(frozen=True)
class Outcome:
    """A run that ended: its seconds, or why it failed.

    record: the id of its record. plan: the executors that ran, in a few words. answer: what the
    check of a workload's answer says. result: the whole document of a workload. stopped: it was
    ended on purpose, which `failure` says.
    """

    turn: Turn
    seconds: float | None = None
    failure: str | None = None
    record: str | None = None
    measures: Measures | None = None
    plan: str | None = None
    answer: str | None = None
    streaming: Streaming | None = None
    result: CaseResult | None = None
    stopped: bool = False

    @property
    def arm(self) -> str:
        return self.turn.arm

    @property
    def repetition(self) -> int:
        return self.turn.repetition

    @property
    def shown(self) -> str:
        """In a few words, as progress."""
        if self.stopped:
            return f"{self.turn.shown}: {self.failure}"
        if self.seconds is None:
            return f"{self.turn.shown}: failed: {self.failure}"
        answer = self.result["verdict"]["status"] if self.result else self.answer
        checked = "" if answer is None else f", answer {answer}"
        return f"{self.turn.shown}: {self.seconds:.2f} s{checked}"

    @property
    def counted_s(self) -> float | None:
        """The seconds of a run that counts: neither a warm-up nor a failure."""
        return self.seconds if self.turn.counts and self.failure is None else None


_FIELDS = ("record", "seconds", "failure", "measures", "plan", "answer", "streaming")


def outcome_line(outcome: Outcome) -> dict[str, Any]:
    """Return the line of a comparison's `runs.jsonl`."""
    values = {name: getattr(outcome, name) for name in _FIELDS}
    known = {name: value for name, value in values.items() if value is not None}
    place = {"arm": outcome.arm, "repetition": outcome.repetition, "record": outcome.record}
    return {**place, **known}


def read_outcome(line: Mapping[str, Any], subject: str) -> Outcome:
    """Return the outcome of a line, which is of the shape `ComparisonRun`."""
    turn = Turn(subject, line["arm"], line["repetition"])
    return Outcome(turn, **{name: line[name] for name in _FIELDS if name in line})
