"""What perf counted of each process, summed over the run; not cumulative in the samples.

A count that perf took by turns (multiplexing) is already scaled; `running_share` tells for what
share of the time it was really counted. An event that the machine cannot count stays absent.
"""

from dataclasses import dataclass
from typing import Any

from hearth.measure.samples import Key, SampleFile


@dataclass
class Count:
    """One event of one process."""

    value: float = 0.0
    unit: str = ""
    intervals: int = 0
    least_running_share: float = 1.0
    absent: str | None = None

    def document(self) -> dict[str, Any]:
        """As it stands in the analysis: absent where no interval gave a value."""
        if self.intervals == 0:
            return {"absent": self.absent or "perf gave no value"}
        return {
            "value": self.value,
            "unit": self.unit,
            "intervals": self.intervals,
            "least_running_share": self.least_running_share,
        }


def read_counts(file: SampleFile) -> dict[Key, dict[str, Count]]:
    """Reads samples/counters.jsonl or samples/scheduler.jsonl."""
    processes: dict[Key, dict[str, Count]] = {}
    for row in file:
        pid, start, event = row.get("pid"), row.get("start_ticks"), row.get("event")
        if not isinstance(pid, int) or not isinstance(start, int) or not isinstance(event, str):
            continue
        count = processes.setdefault((pid, start), {}).setdefault(event, Count())
        value = row.get("value")
        if value is None:
            count.absent = row.get("absent")
            continue
        count.value += value
        count.unit = row.get("unit") or ""
        count.intervals += 1
        share = row.get("running_share")
        count.least_running_share = min(count.least_running_share, 1.0 if share is None else share)
    return processes
