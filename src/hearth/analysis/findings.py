"""What stands out in an analysis, as sentences: each with its threshold, evidence and next step.

The thresholds are stated here with their source. Those marked "ours" are our judgement of what
deserves attention; they are not published anywhere.
"""

from collections.abc import Callable, Iterator

from hearth.analysis.document import Analysis, Finding, Stage, Times, Totals, Use
from hearth.model.measured import Absent

#: The Spark UI marks an executor's GC time from a tenth of its task time on (executorspage.js).
GC_SHARE = 0.10
#: Ours: a stage counts where it holds this share of the run time of all tasks.
STAGE_SHARE = 0.05
#: Ours: the longest task over the median; the straggler's limit itself is in stages.py.
SKEW = 2.0
#: Ours, twice the median of the bytes read: the data is uneven, not the machine.
DATA_SKEW = 2.0
#: Awan 2016 saw 10 % between local and remote memory on average, so a fifth remote costs some 2 %.
LOCAL_SHARE = 0.80
#: Ours: the rest of a task's life is Spark's own work; a tenth of it is more than usual.
SCHEDULER_DELAY_SHARE = 0.10
SHUFFLE_WAIT_SHARE = 0.10
#: Ours: half of the slots idle.
IDLE_SHARE = 0.50
#: Ours: threads that want to run wait a tenth as long as they run.
RUN_DELAY_SHARE = 0.10
#: Ours: forced off a CPU this often per second of CPU time. CFS's slice is some milliseconds,
#: so a thread that uses up every slice is forced off 100 times a second or more.
INVOLUNTARY_PER_CPU_S = 100.0
#: Ours: this share of the sampled time in Awan's region of exponential memory latency.
EXPONENTIAL_SHARE = 0.10
#: Below this total task time nothing is reported: it would be noise.
LEAST_MS = 1000


def findings(analysis: Analysis) -> list[Finding]:
    """The findings of an analysis, which has none yet; the most severe first."""
    rules = (
        _failure, _lost_executors, _gc, _skew, _spill, _shuffle_wait, _scheduler_delay, _idle,
        _remote, _involuntary, _run_delay, _stalls, _bandwidth,
    )  # fmt: skip
    found = [finding for rule in rules for finding in rule(analysis)]
    order = {"error": 0, "warning": 1, "note": 2}
    return sorted(found, key=lambda finding: order[finding.severity])


def _totals(analysis: Analysis) -> Totals | None:
    """None where there are none or too little to judge by."""
    totals = analysis.totals
    return None if isinstance(totals, Absent) or totals.time.duration < LEAST_MS else totals


def _stages(analysis: Analysis) -> Iterator[tuple[int, Stage]]:
    """The stages that matter, with their place in the document."""
    totals, stages = _totals(analysis), analysis.stages
    if totals is not None and totals.time.run and not isinstance(stages, Absent):
        for place, stage in enumerate(stages):
            if stage.time.run >= STAGE_SHARE * totals.time.run:
                yield place, stage


def _failure(analysis: Analysis) -> Iterator[Finding]:
    stages = analysis.stages
    for place, stage in enumerate([] if isinstance(stages, Absent) else stages):
        if stage.failure:
            yield Finding(
                f"stage-failed-{stage.id}.{stage.attempt}", "error",
                f"Stage {stage.id} failed: {stage.failure}",
                [f"/stages/{place}/failure"], "read the executor's log for the full stack trace",
            )  # fmt: skip


def _gc(analysis: Analysis) -> Iterator[Finding]:
    totals = _totals(analysis)
    share = totals.time.gc / totals.time.run if totals and totals.time.run else 0
    if share > GC_SHARE:
        yield Finding(
            "gc-share", "warning",
            f"Tasks were stopped for garbage collection for {share:.0%} of their run time"
            f" (over {GC_SHARE:.0%}).",
            ["/totals/time/gc", "/totals/time/run", "/timeline/gc"],
            "give executors more memory, or more and smaller executors; compare collectors",
        )  # fmt: skip


def _skew(analysis: Analysis) -> Iterator[Finding]:
    for place, stage in _stages(analysis):
        if not stage.stragglers or (stage.skew or 0) < SKEW:
            continue
        median, longest = stage.read_bytes.p50, stage.read_bytes.max
        uneven = median is not None and longest is not None and longest > DATA_SKEW * median
        cause = (
            "it reads over twice the median data"
            if uneven
            else "the amount of data does not explain it"
        )
        yield Finding(
            f"skew-{stage.id}.{stage.attempt}", "warning",
            f"In stage {stage.id} the longest task took {(stage.duration.max or 0) / 1000:.1f} s,"
            f" {stage.skew:.1f} times the median;"
            f" {len(stage.stragglers)} stragglers; {cause}.",
            [f"/stages/{place}/duration", f"/stages/{place}/stragglers",
             f"/stages/{place}/read_bytes"],
            "split the heavy keys or use adaptive execution's skew join" if uneven else
            "look at where the stragglers ran; try spark.speculation=true",
        )  # fmt: skip


def _spill(analysis: Analysis) -> Iterator[Finding]:
    totals = analysis.totals
    if not isinstance(totals, Absent) and totals.spill.disk > 0:
        yield Finding(
            "spill", "warning",
            f"Tasks spilled {totals.spill.disk / 1e6:.1f} MB to disk,"
            f" {totals.spill.memory / 1e6:.1f} MB in memory: execution memory was too small.",
            ["/totals/spill"] + [f"/stages/{place}/spill" for place, stage in _stages(analysis)
                                 if stage.spill.disk],
            "raise spark.sql.shuffle.partitions or the memory per core",
        )  # fmt: skip


def _share_of_duration(analysis: Analysis, part: Callable[[Times], int]) -> float:
    totals = _totals(analysis)
    return part(totals.time) / totals.time.duration if totals else 0.0


def _shuffle_wait(analysis: Analysis) -> Iterator[Finding]:
    share = _share_of_duration(analysis, lambda time: time.shuffle_read_wait)
    if share > SHUFFLE_WAIT_SHARE:
        yield Finding(
            "shuffle-read-wait", "warning",
            f"Tasks waited for shuffle blocks for {share:.0%} of their time"
            f" (over {SHUFFLE_WAIT_SHARE:.0%}).",
            ["/totals/time/shuffle_read_wait"],
            "look at disk use and at reads between executors on one machine",
        )  # fmt: skip


def _scheduler_delay(analysis: Analysis) -> Iterator[Finding]:
    share = _share_of_duration(analysis, lambda time: time.scheduler_delay)
    if share > SCHEDULER_DELAY_SHARE:
        yield Finding(
            "scheduler-delay", "note",
            f"Scheduler delay is {share:.0%} of the tasks' time (over"
            f" {SCHEDULER_DELAY_SHARE:.0%}): tasks are short, or the driver is busy.",
            ["/totals/time/scheduler_delay", "/totals/time/duration"],
            "use fewer, larger partitions; give the driver its own CPUs",
        )  # fmt: skip


def _idle(analysis: Analysis) -> Iterator[Finding]:
    totals = _totals(analysis)
    idle = totals.idle_slot_share if totals else None
    if idle is not None and idle > IDLE_SHARE:
        yield Finding(
            "idle-slots", "note",
            f"{idle:.0%} of the slots' time was idle (over {IDLE_SHARE:.0%}).",
            ["/totals/idle_slot_share", "/timeline/running_tasks", "/timeline/slots"],
            "use more partitions in short stages, or fewer cores",
        )  # fmt: skip


def _used(analysis: Analysis) -> Iterator[tuple[int, str, Use]]:
    """The executors whose use of the machine is known, with their place in the document."""
    for place, executor in enumerate(analysis.executors):
        if not isinstance(executor.use, Absent):
            yield place, executor.id, executor.use


def _remote(analysis: Analysis) -> Iterator[Finding]:
    low = []
    for place, executor in enumerate(analysis.executors):
        share = isinstance(executor.memory, Absent) or executor.memory.local_share
        if isinstance(share, float) and share < LOCAL_SHARE:
            low.append((share, executor.id, place))
    if low:
        share, name, _ = min(low)
        yield Finding(
            "remote-memory", "warning",
            f"{len(low)} executors have less than {LOCAL_SHARE:.0%} of their memory local; the"
            f" lowest share is {share:.0%} (executor {name}).",
            [f"/executors/{place}/memory/local_share" for _, _, place in low],
            "run it bound with 'hearth submit', and let 'hearth compare' say whether that pays",
        )  # fmt: skip


def _involuntary(analysis: Analysis) -> Iterator[Finding]:
    for place, name, use in _used(analysis):
        cpu_s = use.cpu_s.total
        if use.involuntary is None or cpu_s < 1:
            continue
        rate = use.involuntary / cpu_s
        if rate > INVOLUNTARY_PER_CPU_S:
            yield Finding(
                f"involuntary-switches-{name}", "note",
                f"Threads of executor {name} were forced off a CPU {rate:.0f} times per second of"
                f" CPU time (over {INVOLUNTARY_PER_CPU_S:.0f}).",
                [f"/executors/{place}/use/involuntary"],
                "use fewer cores per executor or fewer executors; check what else runs",
            )  # fmt: skip


def _run_delay(analysis: Analysis) -> Iterator[Finding]:
    for place, name, use in _used(analysis):
        cpu_s = use.cpu_s.total
        delay_s = use.run_delay_s
        if delay_s is not None and cpu_s >= 1 and delay_s > RUN_DELAY_SHARE * cpu_s:
            yield Finding(
                f"run-delay-{name}", "note",
                f"Threads of executor {name} waited {delay_s:.1f} s for a CPU and ran"
                f" {cpu_s:.1f} s (over {RUN_DELAY_SHARE:.0%}).",
                [f"/executors/{place}/use/run_delay_s", f"/executors/{place}/use/cpu_s"],
                "use fewer cores per executor, or stop other work on the machine",
            )  # fmt: skip


#: Spark's words when it ended an executor on purpose (ExecutorLossReason.scala).
_WISHED = ("Executor killed by driver", "Executor decommission")


def _lost_executors(analysis: Analysis) -> Iterator[Finding]:
    for place, executor in enumerate(analysis.executors):
        reason = executor.reason
        if reason and (executor.failed or not reason.startswith(_WISHED)):
            yield Finding(
                f"executor-lost-{executor.id}", "warning",
                f"Executor {executor.id} was lost at {executor.removed_s:.1f} s with"
                f" {executor.failed} tasks failed: {reason.partition(chr(10))[0][:300]}",
                [f"/executors/{place}/reason", f"/executors/{place}/removed_s"],
                "exit code 137 means killed, mostly for memory: lower the heap or the cores",
            )  # fmt: skip


def _stalls(analysis: Analysis) -> Iterator[Finding]:
    for place, executor in enumerate(analysis.executors):
        name, gc = executor.id, executor.gc
        if not isinstance(gc, Absent) and gc.allocation_stall_ms > 0:
            yield Finding(
                f"allocation-stall-{name}", "warning",
                f"Threads of executor {name} stood {gc.allocation_stall_ms:.0f} ms for memory"
                " that ZGC had not freed yet.",
                [f"/executors/{place}/gc/allocation_stall_ms"],
                "give it a larger heap or another collector",
            )  # fmt: skip


def _bandwidth(analysis: Analysis) -> Iterator[Finding]:
    bandwidth = analysis.timeline.bandwidth
    nodes = {} if isinstance(bandwidth, Absent) else bandwidth.nodes
    for node, of in nodes.items():
        seconds = of.seconds
        if isinstance(seconds, Absent) or not seconds.total:
            continue
        if seconds.exponential > EXPONENTIAL_SHARE * seconds.total:
            yield Finding(
                f"memory-bandwidth-{node}", "warning",
                f"Memory of node {node} was used above 80 % of its sustained bandwidth"
                f" {seconds.exponential / seconds.total:.0%} of the time, where latency grows"
                " exponentially (Awan 2016).",
                [f"/timeline/bandwidth/nodes/{node}/seconds"],
                "use fewer cores on that node, or spread the work over more nodes",
            )  # fmt: skip
