"""Sum perf's counts of each process over the run; samples are not cumulative.

A count that perf took by turns (multiplexing) is already scaled; `running_share` is the share of
the time for which it was actually counted. An event that the machine cannot count stays absent.
"""

from dataclasses import dataclass, field
from typing import Any

from hearth.analysis.document import Counted
from hearth.analysis.event_checks import maybe, numbers, text, whole
from hearth.analysis.samples import Key, SampleFile
from hearth.base.absent import Absent, Measured

NO_VALUE = "perf gave no value"


@dataclass
class Count:
    """One event of one process."""

    value: float = 0.0
    unit: str = ""
    intervals: int = 0
    least_running_share: float = 1.0
    absent: str | None = None

    def measured(self) -> Measured[Counted]:
        """Return absent where no interval gave a value."""
        if self.intervals == 0:
            return Absent(self.absent or NO_VALUE)
        return Counted(self.value, self.unit, self.intervals, self.least_running_share)


@dataclass
class Mean:
    """One of perf's own metrics of one process: its mean, each interval weighed with its cycles."""

    weighted: float = 0.0
    cycles: float = 0.0
    intervals: int = 0
    least_running_share: float | None = 1.0

    def add(self, value: float, cycles: float, running_share: float | None) -> None:
        """Take in one interval; a share that perf does not report stays unknown."""
        self.join(Mean(value * cycles, cycles, 1, running_share))

    def join(self, other: "Mean") -> None:
        """Take in what another process, or interval, gave."""
        self.weighted += other.weighted
        self.cycles += other.cycles
        self.intervals += other.intervals
        shares = (self.least_running_share, other.least_running_share)
        known = [share for share in shares if share is not None]
        self.least_running_share = min(known) if len(known) == len(shares) else None

    @property
    def value(self) -> float | None:
        """The mean; None if no cycle was counted."""
        return self.weighted / self.cycles if self.cycles else None


@dataclass
class Counts:
    """perf's counts of each process, and perf's own metrics."""

    events: dict[Key, dict[str, Count]] = field(default_factory=dict)
    metrics: dict[Key, dict[str, Mean]] = field(default_factory=dict)


def read_counts(file: SampleFile, after_s: float | None = None) -> Counts:
    """Read samples/counters.jsonl; after_s: leave out what is earlier.

    A metric's row follows the row of the cycles of its interval, whose number is its weight.
    """
    counts = Counts()
    cycles: dict[Key, float | None] = {}

    def take(row: dict[str, Any]) -> None:
        if after_s is not None and row["t"] < after_s:
            return
        key = (whole(row, "pid"), whole(row, "start_ticks"))
        value, share = row.get("value"), row.get("running_share")
        numbers((value, share))
        event, metric = row.get("event"), row.get("metric")
        if isinstance(event, str):
            count = counts.events.setdefault(key, {}).setdefault(event, Count())
            _take(count, row)
            if event == "cycles":
                cycles[key] = value
        elif isinstance(metric, str) and value is not None and cycles.get(key):
            mean = counts.metrics.setdefault(key, {}).setdefault(metric, Mean())
            mean.add(value, cycles[key] or 0.0, share)

    file.each(take)
    return counts


def _take(count: Count, row: dict[str, Any]) -> None:
    value, share = row.get("value"), row.get("running_share")
    if value is None:
        count.absent = maybe(text, row, "absent")
        return
    count.unit = maybe(text, row, "unit") or ""
    count.value += value
    count.intervals += 1
    count.least_running_share = min(count.least_running_share, 1.0 if share is None else share)
