"""A run that ended, of any study: the one type in which runs are kept, read and judged."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hearth.base.absent import Measured
from hearth.base.codec import LEFT_OUT
from hearth.base.durations import show_seconds
from hearth.studies.models.space import Role
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
class Choice:
    """Why a tune made a trial. configuration: its index.

    expected: low, middle and high of the forecast before it, in seconds. gain: the share of the
    best's time that it was expected to save.
    """

    configuration: int
    role: Role
    expected: list[float] | None = field(default=None, metadata=LEFT_OUT)
    gain: float | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class Trial:
    """A run that ended, and a line of a study's journal: its seconds, or why it failed.

    record: the id of its record. wall_s: from the start to the end of its application. stopped_s:
    after how long it was ended on purpose. plan: the executors that ran, in a few words. answer:
    what the check of a workload's answer says. result: the whole document of a workload.
    ramp_up_end_ms: of a stream, since 1970. choice: of a tune. runs: of applications that ran
    beside each other, each one's; split: their parts of the machine, and machine: what the kernel
    counted of all of it, see `machine_counts`.
    """

    turn: Turn
    seconds: Seconds | None = field(default=None, metadata=LEFT_OUT)
    failure: str | None = field(default=None, metadata=LEFT_OUT)
    record: str | None = field(default=None, metadata=LEFT_OUT)
    measures: dict[str, Measured[float]] | None = field(default=None, metadata=LEFT_OUT)
    plan: str | None = field(default=None, metadata=LEFT_OUT)
    answer: str | None = field(default=None, metadata=LEFT_OUT)
    streaming: Streaming | None = field(default=None, metadata=LEFT_OUT)
    result: CaseResult | None = field(default=None, metadata=LEFT_OUT)
    wall_s: float | None = field(default=None, metadata=LEFT_OUT)
    stopped_s: float | None = field(default=None, metadata=LEFT_OUT)
    ramp_up_end_ms: int | None = field(default=None, metadata=LEFT_OUT)
    choice: Choice | None = field(default=None, metadata=LEFT_OUT)
    runs: list["ConcurrentRun"] | None = field(default=None, metadata=LEFT_OUT)
    split: str | None = field(default=None, metadata=LEFT_OUT)
    machine: dict[str, Measured[float]] | None = field(default=None, metadata=LEFT_OUT)

    @property
    def arm(self) -> str:
        return self.turn.arm

    @property
    def repetition(self) -> int:
        return self.turn.repetition

    @property
    def shown(self) -> str:
        """The trial in a few words, for progress."""
        if self.stopped_s is not None:
            after = self.wall_s or self.stopped_s
            return f"{self.turn.shown}: stopped after {after:.1f} s: it cannot be the best any more"
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
class ConcurrentRun:
    """A run beside others: of which application, and when it began and ended, from the start."""

    member: int
    start_s: float
    end_s: float
    trial: Trial
