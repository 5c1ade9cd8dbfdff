"""The analysis of one run as a document: `hearth schema analysis`.

Times that end in `_s` are seconds on the record's axis, zero being its start. `to_json` of
`hearth.base.codec` writes it, `typed` reads it.
"""

from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple

from hearth.base.absent import Absent, Measured
from hearth.base.limits import Amount, Count, Limits, NonEmpty, OneOf, Positive, Share
from hearth.record.schema import ProbeStatus, Setting, Warned

SCHEMA = "hearth/analysis/1"
#: One value for each step of the axis; None where nothing was sampled.
Series = list[float | None]

RunState = Annotated[
    str, OneOf("finished", "failed", "interrupted", "running", "killed", "unfinished")
]


@dataclass(frozen=True)
class AnalysedRun:
    """The run that was analysed."""

    id: str | None  #: null for an event log alone
    application: str | None
    application_id: str | None
    spark_version: str | None
    java_version: str | None  #: of the driver, as Spark's event log gives it
    #: the application and its own arguments, without secrets; empty where they are not known
    arguments: list[str]
    master: str | None
    arm: str | None
    state: RunState
    started: str | None
    wall_s: float  #: the span that is known of
    exit_code: int | None
    #: of Spark's settings those that decide how fast it runs, where anything set them
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Node:
    """A NUMA node; CPUs as kernel lists."""

    id: str
    cpus: str
    memory_bytes: int | None
    #: the CPUs of each core that has any on this node
    cores: list[str] = field(default_factory=list)
    caches: list[str] = field(default_factory=list)  #: the same of each last-level cache


@dataclass(frozen=True)
class AnalysedMachine:
    """The machine."""

    architecture: str | None
    cpus: str | None
    packages: Count  #: their number
    nodes: list[Node]
    settings: dict[str, Measured[Setting]]
    #: its model in the kernel's words
    processor: Measured[str] = field(default_factory=lambda: Absent("not derived"))


@dataclass(frozen=True)
class Times:
    """How tasks spent their time, in milliseconds, summed over tasks.

    The parts of `run` are compute, gc, shuffle_read_wait and shuffle_write. Spark counts a GC pause
    in every task that runs in its JVM, and one during a fetch wait in both, so the parts may add up
    to more than `run`; compute is then zero, not negative.
    """

    duration: Count  #: launch to finish
    #: executor run time; compute + gc + shuffle_read_wait + shuffle_write, up to overlaps
    run: Count
    cpu: Count  #: CPU time of the run
    gc: Count  #: time that the JVM collected garbage while the task ran
    deserialise: Count
    result_serialise: Count
    shuffle_read_wait: Count  #: fetch wait
    shuffle_write: Count
    #: the Spark UI's: duration less run, deserialise, result_serialise and getting_result, of each
    #: task
    scheduler_delay: Count
    getting_result: Count
    #: run less gc, shuffle_read_wait and shuffle_write, of each task, never below zero
    compute: Count

    @property
    def gc_share(self) -> float | None:
        """The share of the tasks' time in garbage collection; None without tasks."""
        return self.gc / self.duration if self.duration else None


@dataclass(frozen=True)
class Spill:
    """Bytes spilled."""

    memory: Count  #: bytes as they were in memory
    disk: Count  #: bytes as written


@dataclass(frozen=True)
class Bytes:
    """Bytes read and written."""

    input: Count
    output: Count
    shuffle_read_local: Count
    shuffle_read_remote: Count
    shuffle_write: Count


@dataclass(frozen=True)
class Gc:
    """A summary of a JVM's GC log."""

    collector: str | None
    pauses: Count
    pause_ms: float
    allocation_stall_ms: float  #: ZGC: threads that waited for memory
    heap_after_max_mb: int | None


@dataclass(frozen=True)
class Use:
    """Resources that a process used from its start to its last sample."""

    cpu_s: float | None
    run_delay_s: float | None  #: ready to run, waiting for a CPU
    voluntary: float | None  #: context switches; as the next
    involuntary: float | None
    minor_faults: float | None  #: page faults without reading a disk
    major_faults: float | None
    written_bytes: float | None  #: to disks
    rss_max_mb: Count


@dataclass(frozen=True)
class Executor:
    """One executor, or the driver."""

    id: str
    role: Annotated[str, OneOf("driver", "executor")]
    pid: int | None
    cpus: str | None  #: allowed CPUs, kernel list
    nodes: Measured[list[str]]  #: the NUMA nodes of its CPUs
    policy: str | None  #: memory policy, such as bind:0
    cores: int | None  #: task slots
    heap_setting: str | None
    heap_peak_bytes: int | None
    added_s: float | None
    removed_s: float | None
    reason: str | None  #: why it was removed
    tasks: Count
    failed: Count
    gc: Measured[Gc]
    use: Measured[Use]
    #: of its own memory, by its threads' time on each node
    local_share: Measured[Share]


@dataclass(frozen=True)
class Durations:
    """Durations of the tasks that succeeded, in milliseconds; quantiles within 0.4 %."""

    p5: float | None
    p50: float | None
    p95: float | None
    max: float | None


@dataclass(frozen=True)
class ReadBytes:
    """Bytes that a task read: input and shuffle."""

    p50: float | None
    max: float | None


CauseKind = Literal["data", "gc", "shuffle", "warm-up", "executor", "unknown"]


@dataclass(frozen=True)
class StragglerCause:
    """Why a stage's stragglers are slow; the numbers are those of the slowest of them."""

    kind: CauseKind
    duration_ms: Count
    executor: str
    read_bytes: Count


@dataclass(frozen=True)
class StageWidth:
    """How many tasks of a stage ran at once in an executor, as found while it ran."""

    at_s: float  #: from when
    tasks: Count
    planned: Count
    because: str | None  #: why it stays so; None while others are tried


@dataclass(frozen=True)
class Stage:
    """One attempt of a stage."""

    id: Count
    attempt: Count
    name: str | None
    submitted_s: float | None
    completed_s: float | None
    failure: str | None
    tasks: Count
    failed: Count
    killed: Count
    time: Times
    spill: Spill
    bytes: Bytes
    duration: Durations
    read_bytes: ReadBytes
    skew: float | None  #: longest over median duration
    stragglers: list[Count]  #: task ids above the limit, the slowest first, at most 100
    straggler_cause: Measured[StragglerCause] = field(
        default_factory=lambda: Absent("no task is a straggler")
    )
    sql: int | None = None  #: the id of the SQL execution that it belongs to
    #: what it runs, from its input to its output
    operators: list[str] = field(default_factory=list)
    label: str | None = None  #: what to call it
    widths: list[StageWidth] = field(default_factory=list)  #: where these were looked for


@dataclass(frozen=True)
class Sql:
    """One SQL execution."""

    id: Count
    description: str | None
    submitted_s: float | None
    completed_s: float | None


@dataclass(frozen=True)
class Totals:
    """Totals over all tasks."""

    tasks: Count
    failed: Count
    killed: Count
    running: Count  #: started, never ended
    time: Times
    spill: Spill
    bytes: Bytes
    wall_s: float
    slots: int | None  #: most at one time
    idle_slot_share: float | None


@dataclass(frozen=True)
class Phases:
    """Where a run's time went, in seconds, which add up to it."""

    start: Amount  #: to the first task
    tasks: Amount  #: in which at least one task ran
    idle: Amount  #: between tasks, in which none ran
    stop: Amount  #: from the last task

    @property
    def without_task(self) -> float:
        """Seconds in which no task ran."""
        return self.start + self.idle + self.stop


class Pause(NamedTuple):
    """A garbage collector's pause."""

    executor: str
    start_s: float
    pause_ms: float
    kind: str


@dataclass(frozen=True)
class Regions:
    """Seconds that memory spent in each region of its latency."""

    constant: float
    linear: float
    exponential: float

    @property
    def total(self) -> float:
        """Seconds in all."""
        return self.constant + self.linear + self.exponential


@dataclass(frozen=True)
class NodeBandwidth:
    """Memory traffic of a node."""

    gb_s: Series  #: 10^9 bytes per second in each step
    sustained_gb_s: Measured[float]  #: what the node sustains
    share: Measured[Series]  #: of the sustained bandwidth
    #: spent in Awan's regions of latency: below 40 % of sustained, to 80 %, above
    seconds: Measured[Regions]


@dataclass(frozen=True)
class Bandwidth:
    """Memory traffic by whatever ran on the machine."""

    #: resctrl: by the CPUs of the node, to any memory; uncore: by the memory controllers of the
    #: socket
    source: Annotated[str, OneOf("resctrl", "uncore", "unknown")]
    #: by node, or by several, such as 0,1, if the counter spans them
    nodes: dict[str, NodeBandwidth]


@dataclass(frozen=True)
class Timeline:
    """Series on one axis, `t`, of equal steps; null where nothing was sampled."""

    step_s: float
    t: list[float]
    running_tasks: Measured[list[float]]
    #: how many tasks could run at once; by the width that was found for the stage, where one was
    slots: Measured[list[float]]
    cpu_by_node: Measured[dict[str, Series]]  #: shares
    cpu_by_executor: Measured[dict[str, Series]]  #: whole CPUs
    gc: Measured[list[Pause]]
    local_share_by_executor: Measured[dict[str, Series]]
    bandwidth: Measured[Bandwidth]
    #: CPUs used by processes that are not of the run, or too short to be sampled
    cpu_other: Measured[Series] = field(default_factory=lambda: Absent("not derived"))
    #: tasks a second, each spread over its time
    ended_tasks: Measured[list[float]] = field(default_factory=lambda: Absent("not derived"))


@dataclass(frozen=True)
class TasksSample:
    """Every `stride`-th task, as columns of equal length."""

    stride: Count  #: one task in this many is included
    executors: list[str]
    task: list[Count]
    executor: list[Count]  #: a place in `executors`
    slot: list[Count]
    start_s: list[float]
    end_s: list[float]
    stage: list[Count]
    attempt: list[Count]
    state: list[Annotated[str, OneOf("success", "failed", "killed", "running")]]
    straggler: list[bool]


@dataclass(frozen=True)
class Places:
    """Columns: at which second which thread was seen on which CPU."""

    t: list[float]
    pid: list[Count]
    tid: list[Count]
    cpu: list[Count]


@dataclass(frozen=True)
class ThreadName:
    """A thread by its process and its own id, and what it is for."""

    pid: Count
    tid: Count
    name: str
    kind: str


@dataclass(frozen=True)
class ThreadTrace:
    """Every `stride`-th observation of a thread; node_transitions are of all of them, by kind."""

    stride: Count
    columns: Places
    names: list[ThreadName]
    node_transitions: dict[str, Count]


@dataclass(frozen=True)
class Counted:
    """A hardware event of one process; the share of the time for which it had a counter."""

    value: float
    unit: str
    intervals: Positive
    least_running_share: float


@dataclass(frozen=True)
class Metric:
    """A metric derived from counted events."""

    value: float
    unit: Annotated[
        str,
        OneOf("share of slots", "share of cycles", "share of loads", "instructions per cycle"),
    ]
    events: NonEmpty[str]  #: what was counted, in the order of the formula; or perf's own metrics
    #: the least share of an interval for which one of the events had a counter (multiplexing); null
    #: where perf does not say
    least_running_share: float | None
    #: high: least_running_share is 0.8 or more; medium: 0.25 or more, or the formula holds Awan's
    #: latencies of Ivy Bridge and the processor is another; low: less, or unknown
    confidence: Literal["high", "medium", "low"]
    formula: str
    source: str


@dataclass(frozen=True)
class Metrics:
    """By name; total: of all executors, of the driver where it is the only JVM."""

    total: dict[str, Measured[Metric]]
    by_executor: dict[str, dict[str, Measured[Metric]]]


@dataclass(frozen=True)
class HandOver:
    """CPUs of idle places, open to an executor."""

    executor: str
    cpus: str
    from_places: list[int]
    start_s: float
    end_s: float | None  #: null where nothing says when they went back


@dataclass(frozen=True)
class HandOvers:
    """CPUs of idle executors that were open to others for a while."""

    number: int  #: of all
    cpu_s: float  #: CPUs times seconds, of all that have ended
    listed: list[HandOver]  #: the latest
    #: CPU seconds that executors used beyond what their own CPUs give, at least, during those
    #: listed
    gained_cpu_s: Measured[float] = field(default_factory=lambda: Absent("not derived"))


@dataclass(frozen=True)
class Finding:
    """A finding: a cost or a loss that stands out in the run."""

    id: str
    severity: Literal["error", "warning", "note"]
    sentence: str
    evidence: list[Annotated[str, Limits(pattern=r"^/")]]  #: JSON pointers into this document
    next_step: str
    #: of the run's wall time, an upper bound of what is to be gained; null where unknown
    seconds: Amount | None = None


@dataclass(frozen=True)
class Analysis:
    """The analysis of one run's record; derived, and never stored in the record.

    Times that end in `_s` are seconds on the record's axis, zero being its start.
    """

    schema: Literal["hearth/analysis/1"]
    record: AnalysedRun
    machine: Measured[AnalysedMachine]
    probes: list[ProbeStatus]
    warnings: list[Warned]
    executors: list[Executor]
    stages: Measured[list[Stage]]
    sql: list[Sql]
    totals: Measured[Totals]
    vmstat: Measured[dict[str, float]]  #: growth of the kernel's counts of memory, machine-wide
    timeline: Timeline
    tasks_sample: Measured[TasksSample]
    threads: Measured[ThreadTrace]
    counters: Measured[dict[str, dict[str, Measured[Counted]]]]
    #: top-down and Awan's formulas; total is that of all executors, or of the driver if it is the
    #: only JVM
    metrics: Measured[Metrics]
    hand_overs: Measured[HandOvers] = field(default_factory=lambda: Absent("not derived"))
    findings: list[Finding] = field(default_factory=list)
    phases: Measured[Phases] = field(default_factory=lambda: Absent("not derived"))
