"""A run that ended, of any study: the one type in which runs are kept, read and judged."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hearth.base.absent import Measured
from hearth.base.codec import LEFT_OUT
from hearth.base.durations import show_seconds
from hearth.workloads.shapes import CaseResult, Seconds, Streaming

#: By name what may explain a difference, of one run.
Measures = Mapping[str, Measured[float]]


@dataclass(frozen=True)
class Turn:
    """A run to be made: what is run, in which arm, for which time. Below zero: a warm-up."""

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
class Trial:
    """A run that ended: its seconds, or why it failed.

    record: the id of its record. plan: the executors that ran, in a few words. answer: what the
    check of a workload's answer says. result: the whole document of a workload. stopped: it was
    ended on purpose, which `failure` says. ramp_up_end_ms: of a stream, since 1970; not kept.
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
    ramp_up_end_ms: int | None = None

    @property
    def arm(self) -> str:
        return self.turn.arm

    @property
    def repetition(self) -> int:
        return self.turn.repetition

    @property
    def shown(self) -> str:
        """The trial in a few words, for progress."""
        if self.stopped:
            return f"{self.turn.shown}: {self.failure}"
        if self.seconds is None:
            return f"{self.turn.shown}: failed: {self.failure}"
        answer = self.result["verdict"]["status"] if self.result else self.answer
        checked = "" if answer is None else f", answer {answer}"
        return f"{self.turn.shown}: {show_seconds(self.seconds, 2)}{checked}"

    @property
    def counted_s(self) -> float | None:
        """The seconds of a measured run: neither a warm-up nor a failure."""
        return self.seconds if self.turn.counts and self.failure is None else None


@dataclass(frozen=True)
class TrialLine:
    """A run that ended, as a journal keeps it: its seconds, or why it failed."""

    arm: str
    repetition: int
    record: str | None = None
    seconds: Seconds | None = field(default=None, metadata=LEFT_OUT)
    failure: str | None = field(default=None, metadata=LEFT_OUT)
    measures: dict[str, Measured[float]] | None = field(default=None, metadata=LEFT_OUT)
    plan: str | None = field(default=None, metadata=LEFT_OUT)
    answer: str | None = field(default=None, metadata=LEFT_OUT)
    streaming: Streaming | None = field(default=None, metadata=LEFT_OUT)

    @staticmethod
    def of(trial: Trial) -> "TrialLine":
        kept = {name: getattr(trial, name) for name in _KEPT}
        return TrialLine(trial.arm, trial.repetition, **kept)

    def trial(self, subject: str) -> Trial:
        turn = Turn(subject, self.arm, self.repetition)
        return Trial(turn, **{name: getattr(self, name) for name in _KEPT})


_KEPT = ("record", "seconds", "failure", "measures", "plan", "answer", "streaming")
