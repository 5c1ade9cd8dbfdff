"""What one run's record tells, as a document: contract/analysis.schema.json.

Times that end in `_s` are seconds on the record's axis, zero being its start. `to_json` of
`hearth.base.codec` writes it, `typed` reads it.
"""

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from hearth.base.absent import Absent, Measured
from hearth.record.schema import Probe, Warned

SCHEMA = "hearth/analysis/1"
#: Why there is no flame graph where nobody asked for one.
NOT_ASKED = Absent("not asked for: 'hearth profile --flame' samples what the JVMs execute")
#: One value for each step of the axis; None where nothing was sampled.
Series = list[float | None]


@dataclass(frozen=True)
class Run:
    """Which run it was; `wall_s` is the span that is known of. An event log alone has no id.

    arguments: the application and its own, without secrets; empty where they are not known.
    settings: those of Spark's that decide how fast it runs, where anything set them.
    """

    id: str | None
    application: str | None
    application_id: str | None
    spark_version: str | None
    java_version: str | None
    arguments: list[str]
    master: str | None
    arm: str | None
    state: str
    started: str | None
    wall_s: float
    exit_code: int | None
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Node:
    """A NUMA node: its CPUs, those of each core and of each last-level cache, as kernel lists."""

    id: str
    cpus: str
    memory_bytes: int | None
    cores: list[str] = field(default_factory=list)
    caches: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Machine:
    """The machine; `packages` is their number. settings: each `{value, source}` or absent.

    processor: its model in the kernel's words.
    """

    architecture: str | None
    cpus: str | None
    packages: int
    nodes: list[Node]
    settings: dict[str, Any]
    processor: Measured[str] = field(default_factory=lambda: Absent("not derived"))


@dataclass(frozen=True)
class Times:
    """What tasks spent their time on, in milliseconds, summed over tasks.

    The parts of `run` are compute, gc, shuffle_read_wait and shuffle_write. Spark counts a GC pause
    in every task that runs in its JVM, and one during a fetch wait in both, so the parts may add up
    to more than `run`; compute is then zero, not negative.
    """

    duration: int
    run: int
    cpu: int
    gc: int
    deserialise: int
    result_serialise: int
    shuffle_read_wait: int
    shuffle_write: int
    scheduler_delay: int
    getting_result: int
    compute: int


@dataclass(frozen=True)
class Spill:
    """Bytes spilled: their size in memory, and what was written to disk."""

    memory: int
    disk: int


@dataclass(frozen=True)
class Bytes:
    """Bytes read and written."""

    input: int
    output: int
    shuffle_read_local: int
    shuffle_read_remote: int
    shuffle_write: int


@dataclass(frozen=True)
class TaskTime:
    """Of one executor's tasks, in milliseconds."""

    run: int
    cpu: int
    gc: int


@dataclass(frozen=True)
class Gc:
    """What a JVM's GC log tells; share: of the pauses in the time that the process was seen."""

    collector: str | None
    pauses: int
    pause_ms: float
    longest_pause_ms: float
    share: float | None
    pause_ms_by_kind: dict[str, float]
    count_by_kind: dict[str, int]
    count_by_cause: dict[str, int]
    concurrent_ms: float
    allocation_stall_ms: float
    heap_after_max_mb: int | None
    safepoints: int
    safepoint_ms: float


@dataclass(frozen=True)
class CpuTime:
    """Seconds of CPU time."""

    user: float | None
    system: float | None

    @property
    def total(self) -> float:
        """Of both; what was never read counts as zero."""
        return (self.user or 0) + (self.system or 0)


@dataclass(frozen=True)
class Faults:
    """Page faults."""

    minor: float | None
    major: float | None


@dataclass(frozen=True)
class IoBytes:
    """Bytes to and from disks."""

    read: float | None
    write: float | None


@dataclass(frozen=True)
class Use:
    """What a process used from its start to its last sample.

    run_delay_s: ready to run, waiting for a CPU. voluntary, involuntary: context switches.
    migrations: of threads to another CPU.
    """

    cpu_s: CpuTime
    run_delay_s: float | None
    disk_wait_s: float | None
    voluntary: float | None
    involuntary: float | None
    migrations: Measured[float]
    faults: Faults
    io_bytes: IoBytes
    rss_max_mb: int
    sampled_s: float


@dataclass(frozen=True)
class Memory:
    """Where a process's pages lay; local_share: 0 to 1, by its threads' time on each node."""

    local_share: Measured[float]
    pages_kb_by_node: dict[str, dict[str, int]]
    samples: int


@dataclass(frozen=True)
class Executor:
    """One executor, or the driver.

    cpus: allowed, as the kernel lists them; nodes: those CPUs' NUMA nodes; policy: of memory, such
    as `bind:0`; cores: task slots; reason: why it was removed.
    """

    id: str
    role: str
    pid: int | None
    host: str | None
    cpus: str | None
    nodes: Measured[list[str]]
    policy: str | None
    cores: int | None
    heap_setting: str | None
    heap_peak_bytes: int | None
    added_s: float | None
    removed_s: float | None
    reason: str | None
    tasks: int
    failed: int
    task_time: TaskTime
    gc: Measured[Gc]
    use: Measured[Use]
    memory: Measured[Memory]


@dataclass(frozen=True)
class Durations:
    """Of the tasks that succeeded, in milliseconds; quantiles within 0.4 %."""

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
    duration_ms: int
    executor: str
    read_bytes: int


@dataclass(frozen=True)
class Stage:
    """One attempt of a stage.

    skew: longest over median duration; stragglers: ids of tasks above the limit, the slowest first.
    sql: the id of the SQL execution that it belongs to; operators: what it runs, from its input to
    its output; label: what to call it, made of both.
    """

    id: int
    attempt: int
    name: str | None
    submitted_s: float | None
    completed_s: float | None
    failure: str | None
    planned_tasks: int | None
    tasks: int
    failed: int
    killed: int
    speculative: int
    time: Times
    spill: Spill
    bytes: Bytes
    duration: Durations
    read_bytes: ReadBytes
    skew: float | None
    straggler_limit_ms: float | None
    stragglers: list[int]
    locality: dict[str, int]
    straggler_cause: Measured[StragglerCause] = field(
        default_factory=lambda: Absent("no task is a straggler")
    )
    sql: int | None = None
    operators: list[str] = field(default_factory=list)
    label: str | None = None


@dataclass(frozen=True)
class Job:
    """One job; sql: the id of the SQL execution that it belongs to."""

    id: int
    submitted_s: float | None
    completed_s: float | None
    result: str | None
    sql: int | None
    description: str | None


@dataclass(frozen=True)
class Sql:
    """One SQL execution."""

    id: int
    description: str | None
    submitted_s: float | None
    completed_s: float | None


@dataclass(frozen=True)
class Totals:
    """Of all tasks; running: started, never ended; slots: most at one time, slot_s their time."""

    tasks: int
    failed: int
    killed: int
    speculative: int
    running: int
    time: Times
    spill: Spill
    bytes: Bytes
    wall_s: float
    slots: int | None
    slot_s: float
    idle_slot_share: float | None
    streaming_batches: int


@dataclass(frozen=True)
class System:
    """The whole machine while it was sampled: seconds by kind of CPU time, growth of counters."""

    cpu_s: dict[str, float] | None
    numastat: dict[str, Any]
    vmstat: dict[str, Any]


class Pause(NamedTuple):
    """A garbage collector's pause; heap sizes in MB, None where the log has none (ZGC)."""

    executor: str
    start_s: float
    pause_ms: float
    kind: str
    cause: str | None
    before_mb: int | None
    after_mb: int | None


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
    """Memory traffic of a node in GB/s (10^9 bytes); share: of what the node sustains."""

    gb_s: Series
    sustained_gb_s: Measured[float]
    share: Measured[Series]
    seconds: Measured[Regions]


@dataclass(frozen=True)
class Bandwidth:
    """Memory traffic by whatever ran on the machine; `0,1` where one counter is of both nodes."""

    source: str
    nodes: dict[str, NodeBandwidth]


@dataclass(frozen=True)
class Timeline:
    """Series on one axis, `t`, of equal steps; CPU by node as shares, by executor in whole CPUs.

    cpu_other: CPUs used by processes that are not of the run (or too short to be sampled).
    """

    step_s: float
    t: list[float]
    running_tasks: Measured[list[float]]
    slots: Measured[list[float]]
    cpu_by_node: Measured[dict[str, Series]]
    cpu_by_executor: Measured[dict[str, Series]]
    gc: Measured[list[Pause]]
    local_share_by_executor: Measured[dict[str, Series]]
    bandwidth: Measured[Bandwidth]
    cpu_other: Measured[Series] = field(default_factory=lambda: Absent("not derived"))


@dataclass(frozen=True)
class TasksSample:
    """Every `stride`-th task, as columns of equal length; executor: its place in `executors`."""

    stride: int
    executors: list[str]
    task: list[int]
    executor: list[int]
    slot: list[int]
    start_s: list[float]
    end_s: list[float]
    stage: list[int]
    attempt: list[int]
    state: list[str]
    straggler: list[bool]


@dataclass(frozen=True)
class Places:
    """Columns: at which second which thread was seen on which CPU."""

    t: list[float]
    pid: list[int]
    tid: list[int]
    cpu: list[int]


@dataclass(frozen=True)
class ThreadName:
    """A thread by its process and its own id, and what it is for."""

    pid: int
    tid: int
    name: str
    kind: str


@dataclass(frozen=True)
class ThreadTrace:
    """Every `stride`-th observation of a thread; transitions are of all of them, by kind."""

    stride: int
    columns: Places
    names: list[ThreadName]
    node_transitions: dict[str, int]
    cpu_transitions: int
    observations: int


@dataclass(frozen=True)
class Counted:
    """A hardware event of one process; the share of the time for which it had a counter."""

    value: float
    unit: str
    intervals: int
    least_running_share: float


@dataclass(frozen=True)
class Metric:
    """What events say; events: those of the formula; least_running_share: None where not known."""

    value: float
    unit: str
    events: list[str]
    least_running_share: float | None
    confidence: Literal["high", "medium", "low"]
    formula: str
    source: str


@dataclass(frozen=True)
class Metrics:
    """By name; total: of all executors, of the driver where it is the only JVM."""

    total: dict[str, Measured[Metric]]
    by_executor: dict[str, dict[str, Measured[Metric]]]


class Method(NamedTuple):
    """A method, and how many samples of all processes found a thread in its own code."""

    name: str
    samples: int


@dataclass(frozen=True)
class Flame:
    """What threads executed, sampled every `period_ms`: a tree of calls.

    Columns of equal length, a caller before what it calls: `frame` is a place in `frames`, `parent`
    the caller's row or -1, `own` the samples of each process that end there. Calls too rare to be
    drawn are counted in their caller, but by their own name in `top`. absent: why a process has no
    samples.
    """

    sampled_by: str
    period_ms: int
    samples: dict[str, int]
    frames: list[str]
    frame: list[int]
    parent: list[int]
    own: dict[str, list[int]]
    top: list[Method]
    absent: dict[str, str]


@dataclass(frozen=True)
class HandOver:
    """CPUs of idle places, open to an executor; end_s: None where it is not known.

    application: whose places these are; None where they are this one's.
    """

    executor: str
    cpus: str
    from_places: list[int]
    start_s: float
    end_s: float | None
    application: str | None = None


@dataclass(frozen=True)
class LentOut:
    """CPUs of an idle place that another application's executor used; end_s: as of HandOver."""

    place: int
    cpus: str
    application: str
    executor: str
    start_s: float
    end_s: float | None


@dataclass(frozen=True)
class HandOvers:
    """number, cpu_s: of all, in CPUs times seconds of those that have ended; listed: the latest.

    lent_out: the latest to other applications, which are in none of the others. gained_cpu_s: CPU
    seconds that executors used beyond what their own CPUs give, at least, during those listed.
    """

    number: int
    cpu_s: float
    listed: list[HandOver]
    lent_out: list[LentOut] = field(default_factory=list)
    gained_cpu_s: Measured[float] = field(default_factory=lambda: Absent("not derived"))


@dataclass(frozen=True)
class Finding:
    """What stands out; evidence: JSON pointers into the analysis.

    seconds: of the run's wall time, an upper bound of what is to be gained; None where unknown.
    """

    id: str
    severity: Literal["error", "warning", "note"]
    sentence: str
    evidence: list[str]
    next_step: str
    seconds: float | None = None


@dataclass(frozen=True)
class Analysis:
    """All of it."""

    schema: Literal["hearth/analysis/1"]
    record: Run
    machine: Measured[Machine]
    probes: list[Probe]
    warnings: list[Warned]
    executors: list[Executor]
    stages: Measured[list[Stage]]
    jobs: list[Job]
    sql: list[Sql]
    totals: Measured[Totals]
    system: Measured[System]
    timeline: Timeline
    tasks_sample: Measured[TasksSample]
    threads: Measured[ThreadTrace]
    counters: Measured[dict[str, dict[str, Measured[Counted]]]]
    metrics: Measured[Metrics]
    hand_overs: Measured[HandOvers] = field(default_factory=lambda: Absent("not derived"))
    findings: list[Finding] = field(default_factory=list)
    flame: Measured[Flame] = field(default_factory=lambda: NOT_ASKED)
