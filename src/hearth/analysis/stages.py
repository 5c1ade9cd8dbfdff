"""Sum how the tasks of a stage spent their time, as they end.

Times are those of Spark's task metrics (org.apache.spark.executor.TaskMetrics): run, GC, fetch
wait, deserialisation and result serialisation in milliseconds, CPU and shuffle write in
nanoseconds. Scheduler delay is the Spark UI's: what is left of launch to finish after run,
deserialisation, result serialisation and fetching the result (AppStatusUtils.schedulerDelay).
"""

import heapq
from dataclasses import dataclass, field, fields
from operator import itemgetter
from typing import Any, NamedTuple

from hearth.analysis.document import Bytes, CauseKind, Spill, StragglerCause, Times
from hearth.analysis.event_checks import LATEST_MS, wholes
from hearth.analysis.histogram import Histogram
from hearth.base.absent import Absent, Measured

#: A straggler takes over 1.5 times the stage's median (Ananthanarayanan et al., Reining in the
#: Outliers in Map-Reduce Clusters using Mantri, OSDI 2010) and at least a second more than it:
#: below that there is nothing to win. Spark's speculation is coarser: 3 times since 4.0.
STRAGGLER_FACTOR = 1.5
STRAGGLER_EXCESS_MS = 1000
#: Ours: with fewer tasks the median says little about what is usual.
STRAGGLER_LEAST_TASKS = 10
#: Ours: a straggler that read so many times the median bytes is slow for its data.
DATA_SKEW = 2
#: So many of each stage's longest tasks are named.
NAMED_TASKS = 100
#: Of what a stage was tried with.
MOST_WIDTHS = 100

_INFO = itemgetter("Task ID", "Getting Result Time", "Launch Time", "Finish Time")
_METRICS = itemgetter(
    "Executor Run Time", "JVM GC Time", "Executor Deserialize Time", "Result Serialization Time",
    "Executor CPU Time", "Memory Bytes Spilled", "Disk Bytes Spilled",
)  # fmt: skip
_READ = itemgetter("Fetch Wait Time", "Local Bytes Read", "Remote Bytes Read")
_WRITE = itemgetter("Shuffle Write Time", "Shuffle Bytes Written")


def check_task(
    numbers: tuple[Any, ...], texts: tuple[Any, ...], info: dict[str, Any], metrics: dict[str, Any]
) -> None:
    """Raise ValueError, KeyError or TypeError where a value of an ended task is of no use.

    Quick, for there are many; numbers, texts: those that stand elsewhere in the event.
    """
    if set(map(type, texts)) != {str}:
        raise ValueError("no text")
    times = _INFO(info)
    counted = times + numbers
    if metrics:
        counted += _METRICS(metrics) + _READ(metrics["Shuffle Read Metrics"])
        counted += _WRITE(metrics["Shuffle Write Metrics"])
        counted += (
            metrics["Input Metrics"]["Bytes Read"],
            metrics["Output Metrics"]["Bytes Written"],
        )
    wholes(counted)
    if not 0 <= times[2] <= LATEST_MS or not 0 <= times[3] <= LATEST_MS:
        raise ValueError("no time")


@dataclass(slots=True)
class TaskSums:
    """Sums over tasks: of a stage, or of an application."""

    tasks: int = 0
    failed: int = 0
    killed: int = 0
    duration_ms: int = 0
    run_ms: int = 0
    cpu_ns: int = 0
    gc_ms: int = 0
    deserialise_ms: int = 0
    result_serialise_ms: int = 0
    shuffle_read_wait_ms: int = 0
    shuffle_write_ns: int = 0
    scheduler_delay_ms: int = 0
    getting_result_ms: int = 0
    compute_ms: int = 0
    spill_memory_bytes: int = 0
    spill_disk_bytes: int = 0
    input_bytes: int = 0
    output_bytes: int = 0
    shuffle_read_local_bytes: int = 0
    shuffle_read_remote_bytes: int = 0
    shuffle_write_bytes: int = 0

    def merge(self, other: "TaskSums") -> None:
        """Add what another one summed."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    def add(self, info: dict[str, Any], metrics: dict[str, Any], state: str) -> int:
        """Add one ended task; return launch to finish in milliseconds."""
        duration: int = max(info["Finish Time"] - info["Launch Time"], 0)
        self.duration_ms += duration
        self.tasks += 1
        if state != "success":
            self.failed += state == "failed"
            self.killed += state == "killed"
        if metrics:
            self._add_times(info, metrics, duration)
            self._add_bytes(metrics)
        return duration

    def _add_times(self, info: dict[str, Any], metrics: dict[str, Any], duration: int) -> None:
        run = metrics["Executor Run Time"]
        gc = metrics["JVM GC Time"]
        deserialise = metrics["Executor Deserialize Time"]
        serialise = metrics["Result Serialization Time"]
        wait = metrics["Shuffle Read Metrics"]["Fetch Wait Time"]
        write_ns = metrics["Shuffle Write Metrics"]["Shuffle Write Time"]
        fetching = info["Getting Result Time"]
        getting = max(info["Finish Time"] - fetching, 0) if fetching > 0 else 0
        self.run_ms += run
        self.gc_ms += gc
        self.deserialise_ms += deserialise
        self.result_serialise_ms += serialise
        self.shuffle_read_wait_ms += wait
        self.shuffle_write_ns += write_ns
        self.getting_result_ms += getting
        self.cpu_ns += metrics["Executor CPU Time"]
        self.scheduler_delay_ms += max(duration - run - deserialise - serialise - getting, 0)
        self.compute_ms += max(run - gc - wait - write_ns // 1_000_000, 0)

    def _add_bytes(self, metrics: dict[str, Any]) -> None:
        read = metrics["Shuffle Read Metrics"]
        self.spill_memory_bytes += metrics["Memory Bytes Spilled"]
        self.spill_disk_bytes += metrics["Disk Bytes Spilled"]
        self.input_bytes += metrics["Input Metrics"]["Bytes Read"]
        self.output_bytes += metrics["Output Metrics"]["Bytes Written"]
        self.shuffle_read_local_bytes += read["Local Bytes Read"]
        self.shuffle_read_remote_bytes += read["Remote Bytes Read"]
        self.shuffle_write_bytes += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]

    def time(self) -> Times:
        """Return the time by what it was spent on."""
        return Times(
            duration=self.duration_ms,
            run=self.run_ms,
            cpu=self.cpu_ns // 1_000_000,
            gc=self.gc_ms,
            deserialise=self.deserialise_ms,
            result_serialise=self.result_serialise_ms,
            shuffle_read_wait=self.shuffle_read_wait_ms,
            shuffle_write=self.shuffle_write_ns // 1_000_000,
            scheduler_delay=self.scheduler_delay_ms,
            getting_result=self.getting_result_ms,
            compute=self.compute_ms,
        )

    def spill(self) -> Spill:
        """Return the bytes that were spilled."""
        return Spill(memory=self.spill_memory_bytes, disk=self.spill_disk_bytes)

    def bytes(self) -> Bytes:
        """Return the bytes that were read and written."""
        return Bytes(
            input=self.input_bytes,
            output=self.output_bytes,
            shuffle_read_local=self.shuffle_read_local_bytes,
            shuffle_read_remote=self.shuffle_read_remote_bytes,
            shuffle_write=self.shuffle_write_bytes,
        )


class LongTask(NamedTuple):
    """One of a stage's longest tasks; times in milliseconds."""

    duration: int
    id: int
    executor: str
    first_wave: bool
    gc_ms: int
    wait_ms: int
    read_bytes: int


@dataclass(slots=True)
class StageTally:
    """One attempt of a stage."""

    id: int
    attempt: int
    name: str | None = None
    submitted_ms: int | None = None
    completed_ms: int | None = None
    failure: str | None = None
    sums: TaskSums = field(default_factory=TaskSums)
    durations: Histogram = field(default_factory=Histogram)
    read_bytes: Histogram = field(default_factory=Histogram)
    longest: list[LongTask] = field(default_factory=list)
    operators: list[str] = field(default_factory=list)
    sql: int | None = None
    first_wave: int = 0
    ended_ms: dict[str, int] = field(default_factory=dict)
    #: when (ms), how many tasks at once from then on, how many by the plan, and why they stay
    widths: list[tuple[int, int, int, str | None]] = field(default_factory=list)

    def at_once(self, slots: int) -> int:
        """Return how many of its tasks an executor of so many slots now runs at once."""
        if not self.widths:
            return slots
        _, tasks, planned, _ = self.widths[-1]
        return max(1, round(slots * tasks / planned))

    def add(self, info: dict[str, Any], metrics: dict[str, Any], state: str) -> None:
        """Count one ended task; durations are those of the tasks that succeeded.

        It is of the first wave if it started before any task of the stage had ended on its
        executor.
        """
        duration = self.sums.add(info, metrics, state)
        ended_ms = self.ended_ms.setdefault(info["Executor ID"], info["Finish Time"])
        first_wave = info["Launch Time"] <= ended_ms
        if state != "success":
            return
        self.durations.add(duration)
        self.first_wave += first_wave
        gc = wait = size = 0
        if metrics:
            read = metrics["Shuffle Read Metrics"]
            size = (read["Local Bytes Read"] + read["Remote Bytes Read"]
                    + metrics["Input Metrics"]["Bytes Read"])  # fmt: skip
            gc, wait = metrics["JVM GC Time"], read["Fetch Wait Time"]
            self.read_bytes.add(size)
        task = LongTask(duration, info["Task ID"], info["Executor ID"], first_wave, gc, wait, size)
        if len(self.longest) < NAMED_TASKS:
            heapq.heappush(self.longest, task)
        elif duration > self.longest[0].duration:
            heapq.heapreplace(self.longest, task)

    def straggler_limit_ms(self) -> float | None:
        """Return the duration above which a task of this stage is a straggler."""
        median = self.durations.quantile(0.5)
        if median is None or self.durations.count < STRAGGLER_LEAST_TASKS:
            return None
        return max(STRAGGLER_FACTOR * median, median + STRAGGLER_EXCESS_MS)

    def stragglers(self) -> list[int]:
        """Return task ids of the stragglers, the slowest first; at most NAMED_TASKS."""
        return [task.id for task in self._slow()]

    def _slow(self) -> list["LongTask"]:
        limit = self.straggler_limit_ms()
        if limit is None:
            return []
        return [task for task in sorted(self.longest, reverse=True) if task.duration > limit]

    def straggler_cause(self) -> Measured[StragglerCause]:
        """Return why the stragglers are slow, as far as their own numbers say.

        In this order: the slowest reads over twice the median bytes; more than half of the excess
        over the median is garbage collection, or waiting for shuffle blocks; most of the tasks with
        which executors began the stage are slow and hardly others, so it is loading and compiling
        what the stage runs; all slow tasks, three at least, ran on one of several executors.
        """
        slow = self._slow()
        if not slow:
            return Absent("no task is a straggler")
        longest, median = slow[0], self.durations.quantile(0.5) or 0.0
        excess, read = longest.duration - median, self.read_bytes.quantile(0.5)
        first = sum(task.first_wave for task in slow)
        executors = {task.executor for task in slow}
        kind: CauseKind = "unknown"
        if read is not None and longest.read_bytes > DATA_SKEW * read:
            kind = "data"
        elif longest.gc_ms > excess / 2:
            kind = "gc"
        elif longest.wait_ms > excess / 2:
            kind = "shuffle"
        elif 2 * first > self.first_wave and 2 * first > len(slow):
            kind = "warm-up"
        elif len(slow) >= 3 and len(executors) == 1 and self._spread(executors):
            kind = "executor"
        return StragglerCause(kind, longest.duration, longest.executor, longest.read_bytes)

    def _spread(self, executors: set[str]) -> bool:
        """Return whether tasks ran on other executors as well."""
        return any(task.executor not in executors for task in self.longest)

    def skew(self) -> float | None:
        """Return the longest task over the median one.

        None where nothing succeeded or took time.
        """
        median = self.durations.quantile(0.5)
        return self.durations.maximum / median if median else None
