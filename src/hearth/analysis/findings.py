"""Findings of an analysis: each a sentence with its threshold, evidence and next step.

The thresholds are stated here with their source. Those marked "ours" are our judgement of what
deserves attention; they are not published anywhere.
"""

import statistics
from collections.abc import Callable, Iterator, Sequence

from hearth.analysis.advice import STAGE_RULES, StageRule
from hearth.analysis.document import Analysis, Executor, Finding, Stage, Times, Totals, Use
from hearth.analysis.next_steps import (
    FEWER_CORES,
    FEWER_EXECUTORS,
    FEWER_PARTITIONS,
    MORE_MEMORY,
    SMALLER_EXECUTORS,
    Found,
    Step,
    agreed,
    plainly,
    turning,
)
from hearth.base.absent import Absent
from hearth.base.errors import UserError
from hearth.base.ids import parse_ids
from hearth.base.sizes import counted, parse_bytes

#: The Spark UI marks an executor's GC time from a tenth of its task time on (executorspage.js).
GC_SHARE = 0.10
#: Ours: a stage counts where it holds this share of the run time of all tasks.
STAGE_SHARE = 0.05
#: Ours: the longest task over the median; the straggler's limit itself is in stages.py.
SKEW = 2.0
#: Awan 2016 saw 10 % between local and remote memory on average, so a fifth remote costs some 2 %.
LOCAL_SHARE = 0.80
#: Ours: the rest of a task's life is Spark's own work; a tenth of it is more than usual.
SCHEDULER_DELAY_SHARE = 0.10
SHUFFLE_WAIT_SHARE = 0.10
#: Ours: a tenth of the run, and two seconds: less than that Spark's own start takes.
WITHOUT_TASK_SHARE, LEAST_WITHOUT_TASK_S = 0.10, 2.0
#: Ours: half of the slots, or of the cores, idle.
IDLE_SHARE = 0.50
#: Ours: what another application could use: so many cores, for so many seconds.
LEAST_SHARED_CORES, LEAST_SHARED_S = 4, 30.0
#: Ours: full slots leave half of their CPUs idle, in so many seconds.
WAITING_CPUS, LEAST_WAITING_S = 0.50, 10.0
#: Ours: threads that want to run wait a tenth as long as they run.
RUN_DELAY_SHARE = 0.10
#: Ours: forced off a CPU this often per second of CPU time. CFS's slice is some milliseconds,
#: so a thread that uses up every slice is forced off 100 times a second or more.
INVOLUNTARY_PER_CPU_S = 100.0
#: Ours: this share of the sampled time in Awan's region of exponential memory latency.
EXPONENTIAL_SHARE = 0.10
#: Ours: a tenth of the machine's CPUs, on average over the run.
OTHER_LOAD_SHARE = 0.10
OTHER_LOAD = "other-load"
#: CPU seconds of the run itself that no sample shows: spark-submit's launcher, hearth's reading of
#: the machine, the sampler, the last second of each JVM. 3.6 in one run of 15 s on a quiet machine.
UNSAMPLED_CPU_S = 4.0
#: Ours: with less of the heap in use at its fullest, a larger heap would not collect less.
HEAP_FULL = 0.70
#: Ours: of a heap of this size, in bytes, more than two thirds were never used.
HEAP_WORTH, HEAP_UNUSED = 8 << 30, 0.30
#: Below this total task time nothing is reported: it would be noise.
LEAST_MS = 1000


def findings(analysis: Analysis) -> list[Finding]:
    """Return the findings of an analysis that has none yet, in the order to read them."""
    rules = (
        _other_load, _failure, _lost_executors, _gc, _memory_unused, _skew, _spill, _shuffle_wait,
        _scheduler_delay, _no_task, _idle, _idle_machine, _waiting,
        _remote, _involuntary, _run_delay,
        _stalls, _bandwidth,
        *(_of_stages(rule) for rule in STAGE_RULES),
    )  # fmt: skip
    return agreed(sorted((found for rule in rules for found in rule(analysis)), key=_rank))


def _rank(finding: Found) -> tuple[int, float, int]:
    """Put errors first, then what may explain the rest (other load, lost executors), then gains."""
    order = {"error": 0, "warning": 2, "note": 3}[finding.severity]
    if finding.id == OTHER_LOAD or finding.id.startswith(_LOST):
        order = 1
    gain = finding.seconds or 0.0
    return (min(order, 2) if gain else order, -gain, order)


def _totals(analysis: Analysis) -> Totals | None:
    """Return the totals; None if there are none, or too little to judge by."""
    totals = analysis.totals
    return None if isinstance(totals, Absent) or totals.time.duration < LEAST_MS else totals


def _stages(analysis: Analysis) -> Iterator[tuple[int, Stage]]:
    """Yield the stages that matter, with their place in the document."""
    totals, stages = _totals(analysis), analysis.stages
    if totals is not None and totals.time.run and not isinstance(stages, Absent):
        for number, stage in enumerate(stages):
            if stage.time.run >= STAGE_SHARE * totals.time.run:
                yield number, stage


def _other_load(analysis: Analysis) -> Iterator[Found]:
    share = other_load(analysis)
    if share is not None and share > OTHER_LOAD_SHARE:
        yield Found(
            OTHER_LOAD, "warning",
            f"Other programs used at least {share:.0%} of the machine's CPUs while this ran (over"
            f" {OTHER_LOAD_SHARE:.0%}): times, waiting and context switches are partly theirs.",
            ["/timeline/cpu_other"],
            plainly("repeat it on a quiet machine before you change anything"),
        )  # fmt: skip


def other_load(analysis: Analysis) -> float | None:
    """Return the least share of the machine's CPUs that other programs used; None where unknown."""
    other, machine = analysis.timeline.cpu_other, analysis.machine
    if isinstance(other, Absent) or isinstance(machine, Absent):
        return None
    cpus = sum(len(parse_ids(node.cpus)) for node in machine.nodes)
    known = [value for value in other if value is not None]
    if not known or not cpus:
        return None
    step_s = analysis.timeline.step_s
    return max(sum(known) * step_s - UNSAMPLED_CPU_S, 0.0) / (len(known) * step_s * cpus)


def _disturbed(analysis: Analysis) -> bool:
    """Return whether waiting for CPUs may be due to other programs."""
    share = other_load(analysis)
    return share is not None and share > OTHER_LOAD_SHARE


def _gain(analysis: Analysis, task_ms: float) -> float | None:
    """Return wall seconds that this task time takes if it is spread over all slots."""
    totals = analysis.totals
    if isinstance(totals, Absent) or not totals.slots:
        return None
    return round(task_ms / 1000 / totals.slots, 2)


def _called(stage: Stage) -> str:
    """Return the stage by its number, and by its label where it has one."""
    return f"stage {stage.id} ({stage.label})" if stage.label else f"stage {stage.id}"


def _failure(analysis: Analysis) -> Iterator[Found]:
    stages = analysis.stages
    for number, stage in enumerate([] if isinstance(stages, Absent) else stages):
        if stage.failure:
            yield Found(
                f"stage-failed-{stage.id}.{stage.attempt}", "error",
                f"Stage {stage.id} failed: {stage.failure}",
                [f"/stages/{number}/failure"], plainly(_where_logged(analysis)),
            )  # fmt: skip


def _where_logged(analysis: Analysis) -> str:
    """Return where the full stack trace of a failure is."""
    record = analysis.record
    if record.application_id and (record.master or "").startswith("local-numa"):
        pattern = (
            f"applications/{record.application_id}/executors/*/stderr of hearth's state directory"
        )
        return f"read the full stack trace in {pattern}"
    return "read the full stack trace in the output of the application"


def _gc(analysis: Analysis) -> Iterator[Found]:
    totals = _totals(analysis)
    share = (totals and totals.time.gc_share) or 0
    if share > GC_SHARE:
        yield Found(
            "gc-share", "warning",
            f"Tasks were stopped for garbage collection for {share:.0%} of their time"
            f" (over {GC_SHARE:.0%}).",
            ["/totals/time/gc", "/totals/time/duration", "/timeline/gc"],
            _less_gc(analysis),
            _gain(analysis, totals.time.gc if totals else 0),
        )  # fmt: skip


def _heap_bytes(executor: Executor) -> int:
    """Return the size that its heap is set to; zero where that is not set, or cannot be read."""
    try:
        return parse_bytes(executor.heap_setting or "0b", "heap")
    except UserError:
        return 0


def _memory_unused(analysis: Analysis) -> Iterator[Found]:
    for number, executor in enumerate(analysis.executors):
        heap, peak = _heap_bytes(executor), executor.heap_peak_bytes or 0
        if executor.tasks and heap >= HEAP_WORTH and 0 < peak < HEAP_UNUSED * heap:
            yield Found(
                f"memory-unused-{executor.id}", "note",
                f"The heap of {_named(executor.id)} was used to at most"
                f" {peak / heap:.0%} of its {executor.heap_setting}.",
                [f"/executors/{number}/heap_peak_bytes", f"/executors/{number}/heap_setting"],
                (_LESS_MEMORY,),
            )  # fmt: skip
            return


_LESS_MEMORY = turning(
    "set a smaller --memory, which leaves more for the page cache or for other applications",
    "memory", "less",
)  # fmt: skip
_COLLECTORS = Step("compare collectors (ParallelGC, G1)")


def _less_gc(analysis: Analysis) -> tuple[Step, ...]:
    """Return what helps against collections: memory only where the heap was nearly full."""
    pairs = [(_most_used(one), _heap_bytes(one)) for one in analysis.executors]
    shares = [used / heap for used, heap in pairs if used and heap]
    if shares and max(shares) < HEAP_FULL:
        roomy = f"the heap has room (at most {max(*shares, 0.01):.0%} of it was used)"
        words = f"{roomy}, so more memory would not help: {_COLLECTORS.words}"
        return (*plainly(words), SMALLER_EXECUTORS)
    return (MORE_MEMORY, SMALLER_EXECUTORS, _COLLECTORS)


def _most_used(executor: Executor) -> int:
    """Return the most bytes of the heap in use, else the most that a collection left; 0 unknown."""
    if executor.heap_peak_bytes or isinstance(executor.gc, Absent):
        return executor.heap_peak_bytes or 0
    return (executor.gc.heap_after_max_mb or 0) << 20


_SPECULATION = Step("try spark.speculation=true")
#: What is to be said of each cause of stragglers, and to be done.
_CAUSES = {
    "data": (
        "it read {read:.1f} MB where half of the tasks read at most {usual:.1f} MB",
        (Step("split the heavy keys"), Step("use adaptive execution's skew join")),
    ),
    "gc": (
        "garbage collection took more than half of the excess",
        (MORE_MEMORY, FEWER_CORES),
    ),
    "shuffle": (
        "it waited for shuffle blocks for more than half of the excess",
        plainly("look at the disks and at the executors it read from"),
    ),
    "warm-up": (
        "they were the first tasks of the stage on their executors: the JVM still compiled code",
        plainly("nothing, if it happens once: the same stage is faster the next time"),
    ),
    "executor": (
        "all of them ran on executor {executor}",
        (Step("look at what else runs on that executor's CPUs"), _SPECULATION),
    ),
    "unknown": (
        "neither data, garbage collection nor waiting explains it",
        (Step("look at where the stragglers ran"), _SPECULATION),
    ),
}


SKEWED_JOIN = (
    Step(
        "split the heavy keys of the join (spark.sql.adaptive.skewJoin.enabled; its threshold is "
        "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes)"
    ),
    Step("broadcast its smaller side"),
)


def _skew(analysis: Analysis) -> Iterator[Found]:
    for number, stage in _stages(analysis):
        cause = stage.straggler_cause
        if isinstance(cause, Absent) or (stage.skew or 0) < SKEW:
            continue
        because, steps = _CAUSES[cause.kind]
        joins = [name for name in stage.operators if "Join" in name]
        if cause.kind == "data" and joins:
            because, steps = f"{because}: the keys of its {joins[0]} are skewed", SKEWED_JOIN
        median_ms, count = stage.duration.p50 or 0.0, len(stage.stragglers)
        words = because.format(
            read=cause.read_bytes / 1e6,
            usual=(stage.read_bytes.p50 or 0) / 1e6,
            executor=cause.executor,
        )
        yield Found(
            f"skew-{stage.id}.{stage.attempt}", "note" if cause.kind == "warm-up" else "warning",
            f"In {_called(stage)} the longest task took {cause.duration_ms / 1000:.1f} s,"
            f" the median {median_ms / 1000:.1f} s; {count} straggler{'s' if count > 1 else ''};"
            f" {words}.",
            [f"/stages/{number}/duration", f"/stages/{number}/stragglers",
             f"/stages/{number}/straggler_cause"],
            steps,
            round((cause.duration_ms - median_ms) / 1000, 2),
        )  # fmt: skip


def _spill(analysis: Analysis) -> Iterator[Found]:
    totals = analysis.totals
    if not isinstance(totals, Absent) and totals.spill.disk > 0:
        yield Found(
            "spill", "warning",
            f"Tasks spilled {totals.spill.disk / 1e6:.1f} MB to disk,"
            f" {totals.spill.memory / 1e6:.1f} MB in memory: execution memory was too small.",
            ["/totals/spill"] + [f"/stages/{number}/spill" for number, stage in _stages(analysis)
                                 if stage.spill.disk],
            (turning("raise spark.sql.shuffle.partitions", "partitions", "more"),
             turning("give each core more memory", "memory", "more")),
        )  # fmt: skip


def _share_of_duration(analysis: Analysis, part: Callable[[Times], int]) -> float:
    totals = _totals(analysis)
    return part(totals.time) / totals.time.duration if totals else 0.0


def _duration_ms(analysis: Analysis) -> float:
    totals = _totals(analysis)
    return totals.time.duration if totals else 0.0


def _shuffle_wait(analysis: Analysis) -> Iterator[Found]:
    share = _share_of_duration(analysis, lambda time: time.shuffle_read_wait)
    if share > SHUFFLE_WAIT_SHARE:
        yield Found(
            "shuffle-read-wait", "warning",
            f"Tasks waited for shuffle blocks for {share:.0%} of their time"
            f" (over {SHUFFLE_WAIT_SHARE:.0%}).",
            ["/totals/time/shuffle_read_wait"],
            plainly("look at disk use and at reads between executors on one machine"),
            _gain(analysis, share * _duration_ms(analysis)),
        )  # fmt: skip


def _scheduler_delay(analysis: Analysis) -> Iterator[Found]:
    share = _share_of_duration(analysis, lambda time: time.scheduler_delay)
    if share > SCHEDULER_DELAY_SHARE:
        yield Found(
            "scheduler-delay", "note",
            f"Scheduler delay is {share:.0%} of the tasks' time (over"
            f" {SCHEDULER_DELAY_SHARE:.0%}): tasks are short, or the driver is busy.",
            ["/totals/time/scheduler_delay", "/totals/time/duration"],
            (FEWER_PARTITIONS, Step("give the driver its own CPUs")),
            _gain(analysis, share * _duration_ms(analysis)),
        )  # fmt: skip


def _idle(analysis: Analysis) -> Iterator[Found]:
    """Yield slots that were idle beside tasks; where no task ran at all is another finding's."""
    totals, phases = _totals(analysis), analysis.phases
    if totals is None or totals.idle_slot_share is None or isinstance(phases, Absent):
        return
    beside = phases.tasks / (phases.tasks + phases.idle) if phases.tasks else 0.0
    idle = 1 - (1 - totals.idle_slot_share) / beside if beside else 0.0
    if idle > IDLE_SHARE:
        yield Found(
            "idle-slots", "note",
            f"While tasks ran, {idle:.0%} of the task slots' time was idle (over"
            f" {IDLE_SHARE:.0%}).",
            ["/totals/idle_slot_share", "/phases", "/timeline/running_tasks", "/timeline/slots"],
            (turning("use more partitions in short stages", "partitions", "more"), FEWER_CORES),
            round(idle * phases.tasks, 2),
        )  # fmt: skip


def _no_task(analysis: Analysis) -> Iterator[Found]:
    """Yield the time without a task, with what its largest part is."""
    phases = analysis.phases
    if isinstance(phases, Absent) or analysis.record.state == "running":  # it is not over
        return
    least = max(LEAST_WITHOUT_TASK_S, WITHOUT_TASK_SHARE * analysis.record.wall_s)
    if phases.without_task < least:
        return
    largest = max(("start", "idle", "stop"), key=lambda part: float(getattr(phases, part)))
    known = [e.added_s for e in analysis.executors if e.cores and e.added_s is not None]
    ready_s = min(max(min(known, default=0.0), 0.0), phases.start)
    ready = f" (task slots were there after {ready_s:.1f} s)" if known else ""
    yield Found(
        "no-task", "note",
        f"No task ran for {phases.without_task:.1f} s: {phases.start:.1f} s before the first"
        f" task{ready}, {phases.idle:.1f} s between tasks, {phases.stop:.1f} s after the last.",
        ["/phases"],
        (_WITHOUT_TASK["ready" if largest == "start" and 2 * ready_s > phases.start
                       else largest],),
        round(phases.without_task, 1),
    )  # fmt: skip


_WITHOUT_TASK = {
    "ready": Step("do more in one application, for Spark's own start is most of that"),
    "start": Step(
        "look at what the driver does before its first job: imports, listing files, planning "
        "queries"
    ),
    "idle": Step(
        "look at what the driver does between its jobs: collecting, planning queries, writing"
    ),
    "stop": Step("look at what the driver does after its last job: committing files, clean-up"),
}


def _idle_machine(analysis: Analysis) -> Iterator[Found]:
    """Yield what a run leaves idle, if it is long enough to be worth company."""
    shares, machine = analysis.timeline.cpu_by_node, analysis.machine
    if isinstance(shares, Absent) or isinstance(machine, Absent):
        return
    if analysis.record.wall_s < LEAST_SHARED_S:
        return
    cores, idle = 0, 0.0
    for node in machine.nodes:
        known = [share for share in shares.get(node.id, ()) if share is not None]
        if known:
            node_cores = len(node.cores) or len(parse_ids(node.cpus))
            cores += node_cores
            idle += node_cores * (1 - statistics.fmean(known))
    if idle >= max(IDLE_SHARE * cores, LEAST_SHARED_CORES):
        spare = _idle_bandwidth(analysis)
        memory = "" if spare is None else f" and {spare:.0f} GB/s of memory bandwidth"
        yield Found(
            "idle-machine", "note",
            f"This run leaves {idle:.0f} of {cores} cores{memory} idle, on average.",
            ["/timeline/cpu_by_node", *(["/timeline/bandwidth"] if memory else [])],
            plainly("run another application beside it: "
                  "hearth colocate --profile-first THIS -- ANOTHER"),
        )  # fmt: skip


def _waiting(analysis: Analysis) -> Iterator[Found]:
    """Yield that tasks held nearly all slots while half of as many CPUs had nothing to do at all.

    Whatever else ran makes CPUs look busier, never idler.
    """
    timeline, machine = analysis.timeline, analysis.machine
    running, slots, shares = timeline.running_tasks, timeline.slots, timeline.cpu_by_node
    if isinstance(machine, Absent) or isinstance(shares, Absent):
        return
    if isinstance(running, Absent) or isinstance(slots, Absent):
        return
    if any(stage.widths for _, stage in _stages(analysis)):
        return
    cpus = [(shares.get(node.id, []), len(parse_ids(node.cpus))) for node in machine.nodes]
    steps = 0
    tasks = busy = 0.0
    for at, (some, most) in enumerate(zip(running, slots, strict=True)):
        used = [(share[at], count) for share, count in cpus if at < len(share)]
        known = [share * count for share, count in used if share is not None]
        if most and some >= 0.9 * most and len(known) == len(cpus):
            steps, tasks, busy = steps + 1, tasks + some, busy + sum(known)
    seconds = steps * timeline.step_s
    if seconds >= LEAST_WAITING_S and busy < WAITING_CPUS * tasks:
        yield Found(
            "waiting-tasks", "note",
            f"For {seconds:.0f} s tasks held {tasks / steps:.1f} slots and kept {busy / steps:.1f}"
            " CPUs busy: they waited, for files, a service or each other.",
            ["/timeline/running_tasks", "/timeline/slots", "/timeline/cpu_by_node"],
            plainly("run more of them at once: 'hearth compare --arms plan,adaptive' says whether "
                    "'hearth submit --width adaptive' pays"),
            round(seconds * (1 - busy / tasks), 1),
        )  # fmt: skip


def _idle_bandwidth(analysis: Analysis) -> float | None:
    """Return GB/s that memory sustains and the run left; None where either is not known."""
    bandwidth = analysis.timeline.bandwidth
    left = 0.0
    for node in [] if isinstance(bandwidth, Absent) else bandwidth.nodes.values():
        known = [rate for rate in node.gb_s if rate is not None]
        if isinstance(node.sustained_gb_s, Absent) or not known:
            return None
        left += max(node.sustained_gb_s - statistics.fmean(known), 0.0)
    return left or None


def _used(analysis: Analysis) -> Iterator[tuple[int, str, Use]]:
    """Yield the executors whose use of the machine is known, with their place in the document."""
    for number, executor in enumerate(analysis.executors):
        if not isinstance(executor.use, Absent):
            yield number, executor.id, executor.use


def _remote(analysis: Analysis) -> Iterator[Found]:
    low = []
    for number, executor in enumerate(analysis.executors):
        share = executor.local_share
        if not isinstance(share, Absent) and share < LOCAL_SHARE:
            low.append((share, executor.id, number))
    if low:
        share, name, _ = min(low)
        yield Found(
            "remote-memory", "warning",
            f"Less than {LOCAL_SHARE:.0%} of the memory of {counted(len(low), 'executor')} is"
            f" local; the lowest share is {share:.0%} ({_named(name)}).",
            [f"/executors/{number}/local_share" for _, _, number in low],
            plainly("run it bound with 'hearth submit', and let 'hearth compare' say whether that "
                  "pays"),
        )  # fmt: skip


def _involuntary(analysis: Analysis) -> Iterator[Found]:
    if _disturbed(analysis):
        return
    rates = []
    for number, name, use in _used(analysis):
        cpu_s = use.cpu_s or 0.0
        if use.involuntary is not None and cpu_s >= 1:
            rate = use.involuntary / cpu_s
            if rate > INVOLUNTARY_PER_CPU_S:
                rates.append((rate, name, f"/executors/{number}/use/involuntary"))
    if rates:
        rate, name, _ = max(rates)
        yield Found(
            "involuntary-switches", "note",
            f"Threads of {_jvms(rates)} were forced off a CPU more than"
            f" {INVOLUNTARY_PER_CPU_S:.0f} times per second of CPU time, at most {rate:.0f} times"
            f" ({_named(name)}).",
            [pointer for _, _, pointer in rates],
            (FEWER_CORES, FEWER_EXECUTORS),
        )  # fmt: skip


def _run_delay(analysis: Analysis) -> Iterator[Found]:
    if _disturbed(analysis):
        return
    delays = []
    for number, name, use in _used(analysis):
        cpu_s, delay_s = use.cpu_s or 0.0, use.run_delay_s
        if delay_s is not None and cpu_s >= 1 and delay_s > RUN_DELAY_SHARE * cpu_s:
            delays.append((delay_s / cpu_s, name, f"/executors/{number}/use/run_delay_s"))
    if delays:
        share, name, _ = max(delays)
        yield Found(
            "run-delay", "note",
            f"Threads of {_jvms(delays)} waited for a CPU for more than {RUN_DELAY_SHARE:.0%}"
            f" of the time that they ran, at most {share:.0%} ({_named(name)}).",
            [pointer for _, _, pointer in delays],
            (FEWER_CORES,),
        )  # fmt: skip


def _jvms(rows: Sequence[tuple[float, str, str]]) -> str:
    return _named(rows[0][1]) if len(rows) == 1 else f"{len(rows)} JVMs"


def _named(jvm: str) -> str:
    return "the driver" if jvm == "driver" else f"executor {jvm}"


#: Spark's words when it ended an executor on purpose (ExecutorLossReason.scala).
_LOST = "executor-lost-"
_WISHED = ("Executor killed by driver", "Executor decommission")


def _lost_executors(analysis: Analysis) -> Iterator[Found]:
    for number, executor in enumerate(analysis.executors):
        reason = executor.reason
        if reason and (executor.failed or not reason.startswith(_WISHED)):
            yield Found(
                f"{_LOST}{executor.id}", "warning",
                f"Executor {executor.id} was lost at {executor.removed_s:.1f} s with"
                f" {counted(executor.failed, 'task')} failed: {reason.partition(chr(10))[0][:300]}",
                [f"/executors/{number}/reason", f"/executors/{number}/removed_s"],
                (turning("lower the heap, for exit code 137 means killed, mostly for memory",
                         "memory", "less"), FEWER_CORES),
            )  # fmt: skip


def _stalls(analysis: Analysis) -> Iterator[Found]:
    for number, executor in enumerate(analysis.executors):
        name, gc = executor.id, executor.gc
        if not isinstance(gc, Absent) and gc.allocation_stall_ms > 0:
            yield Found(
                f"allocation-stall-{name}", "warning",
                f"Threads of executor {name} stalled {gc.allocation_stall_ms:.0f} ms for memory"
                " that ZGC had not freed yet.",
                [f"/executors/{number}/gc/allocation_stall_ms"],
                (MORE_MEMORY, Step("use another collector")),
            )  # fmt: skip


def _bandwidth(analysis: Analysis) -> Iterator[Found]:
    bandwidth = analysis.timeline.bandwidth
    nodes = {} if isinstance(bandwidth, Absent) else bandwidth.nodes
    for node, of in nodes.items():
        seconds = of.seconds
        if isinstance(seconds, Absent) or not seconds.total:
            continue
        if seconds.exponential > EXPONENTIAL_SHARE * seconds.total:
            yield Found(
                f"memory-bandwidth-{node}", "warning",
                f"Memory of node {node} was used above 80 % of its sustained bandwidth"
                f" {seconds.exponential / seconds.total:.0%} of the time, where latency grows"
                " exponentially (Awan 2016).",
                [f"/timeline/bandwidth/nodes/{node}/seconds"],
                (turning("use fewer cores on that node", "cores", "less"),
                 Step("spread the work over more nodes")),
            )  # fmt: skip


def _of_stages(rule: StageRule) -> Callable[[Analysis], Iterator[Found]]:
    """Return a rule about stages as a rule about the analysis."""

    def findings_of(analysis: Analysis) -> Iterator[Found]:
        totals = _totals(analysis)
        slots = (totals.slots if totals else None) or 1
        for number, stage in _stages(analysis):
            problem = rule.says(stage, slots)
            if problem is not None:
                yield Found(
                    f"{rule.id}-{stage.id}.{stage.attempt}", rule.severity,
                    f"In {_called(stage)} {problem}.",
                    [f"/stages/{number}/{name}" for name in rule.evidence], rule.steps,
                    rule.gains(stage, slots),
                )  # fmt: skip

    return findings_of
