"""What stands out in an analysis, as sentences: each with its threshold, evidence and next step.

The thresholds are stated here with their source. Those marked "ours" are a judgement of what is
worth a person's attention; no publication gives them.
"""

from collections.abc import Iterator
from typing import Any

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
#: so a thread that is forced off at the end of each slice is so 100 times and more.
INVOLUNTARY_PER_CPU_S = 100.0
#: Ours: this share of the sampled time in Awan's region of exponential memory latency.
EXPONENTIAL_SHARE = 0.10
#: Below this much task time in all, nothing is said: it would be noise.
LEAST_MS = 1000

Finding = dict[str, Any]


def findings(document: dict[str, Any]) -> list[Finding]:
    """The findings of an analysis, the most severe first; `document` lacks only these."""
    rules = (
        _failure, _lost_executors, _gc, _skew, _spill, _shuffle_wait, _scheduler_delay, _idle,
        _remote, _involuntary, _run_delay, _stalls, _bandwidth,
    )  # fmt: skip
    found = [finding for rule in rules for finding in rule(document)]
    order = {"error": 0, "warning": 1, "note": 2}
    return sorted(found, key=lambda finding: order[finding["severity"]])


def _finding(
    name: str, severity: str, sentence: str, evidence: list[str], next_step: str
) -> Finding:
    return {"id": name, "severity": severity, "sentence": sentence, "evidence": evidence,
            "next_step": next_step}  # fmt: skip


def _is_absent(value: Any) -> bool:
    return isinstance(value, dict) and "absent" in value


def _time(document: dict[str, Any]) -> dict[str, int]:
    """The totals' times; empty where there are none or too little to judge by."""
    time = document["totals"].get("time") or {}
    return time if time.get("duration", 0) >= LEAST_MS else {}


def _stages(document: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The stages that matter, with their place in the document."""
    total = _time(document).get("run", 0)
    if total and not _is_absent(document["stages"]):
        for place, stage in enumerate(document["stages"]):
            if stage["time"]["run"] >= STAGE_SHARE * total:
                yield place, stage


def _failure(document: dict[str, Any]) -> Iterator[Finding]:
    stages = document["stages"]
    for place, stage in enumerate([] if _is_absent(stages) else stages):
        if stage["failure"]:
            yield _finding(
                f"stage-failed-{stage['id']}.{stage['attempt']}", "error",
                f"Stage {stage['id']} failed: {stage['failure']}",
                [f"/stages/{place}/failure"], "read the executor's log for the full stack trace",
            )  # fmt: skip


def _gc(document: dict[str, Any]) -> Iterator[Finding]:
    time = _time(document)
    share = time["gc"] / time["run"] if time.get("run") else 0
    if share > GC_SHARE:
        yield _finding(
            "gc-share", "warning",
            f"Tasks stood still for garbage collection {share:.0%} of their run time"
            f" (over {GC_SHARE:.0%}).",
            ["/totals/time/gc", "/totals/time/run", "/timeline/gc"],
            "give executors more memory, or more and smaller executors; compare collectors",
        )  # fmt: skip


def _skew(document: dict[str, Any]) -> Iterator[Finding]:
    for place, stage in _stages(document):
        if not stage["stragglers"] or (stage["skew"] or 0) < SKEW:
            continue
        median, longest = stage["read_bytes"]["p50"], stage["read_bytes"]["max"]
        uneven = median is not None and longest > DATA_SKEW * median
        cause = (
            "it reads over twice the median data" if uneven else "the data it reads does not tell"
        )
        yield _finding(
            f"skew-{stage['id']}.{stage['attempt']}", "warning",
            f"In stage {stage['id']} the longest task took {stage['duration']['max'] / 1000:.1f} s,"
            f" {stage['skew']:.1f} times the median;"
            f" {len(stage['stragglers'])} stragglers; {cause}.",
            [f"/stages/{place}/duration", f"/stages/{place}/stragglers",
             f"/stages/{place}/read_bytes"],
            "split the heavy keys or use adaptive execution's skew join" if uneven else
            "look at where the stragglers ran; try spark.speculation=true",
        )  # fmt: skip


def _spill(document: dict[str, Any]) -> Iterator[Finding]:
    spill = document["totals"].get("spill") or {}
    if spill.get("disk", 0) > 0:
        yield _finding(
            "spill", "warning",
            f"Tasks spilled {spill['disk'] / 1e6:.1f} MB to disk, {spill['memory'] / 1e6:.1f} MB"
            " in memory: execution memory was too small.",
            ["/totals/spill"] + [f"/stages/{place}/spill" for place, stage in _stages(document)
                                 if stage["spill"]["disk"]],
            "raise spark.sql.shuffle.partitions or the memory per core",
        )  # fmt: skip


def _share_of_duration(document: dict[str, Any], part: str) -> float:
    time = _time(document)
    return time[part] / time["duration"] if time else 0.0


def _shuffle_wait(document: dict[str, Any]) -> Iterator[Finding]:
    share = _share_of_duration(document, "shuffle_read_wait")
    if share > SHUFFLE_WAIT_SHARE:
        yield _finding(
            "shuffle-read-wait", "warning",
            f"Tasks waited for shuffle blocks {share:.0%} of their time"
            f" (over {SHUFFLE_WAIT_SHARE:.0%}).",
            ["/totals/time/shuffle_read_wait"],
            "look at the disks' use and at reads between executors of one machine",
        )  # fmt: skip


def _scheduler_delay(document: dict[str, Any]) -> Iterator[Finding]:
    share = _share_of_duration(document, "scheduler_delay")
    if share > SCHEDULER_DELAY_SHARE:
        yield _finding(
            "scheduler-delay", "note",
            f"Scheduler delay is {share:.0%} of the tasks' time (over"
            f" {SCHEDULER_DELAY_SHARE:.0%}): tasks are short, or the driver is busy.",
            ["/totals/time/scheduler_delay", "/totals/time/duration"],
            "use fewer, larger partitions; give the driver CPUs of its own",
        )  # fmt: skip


def _idle(document: dict[str, Any]) -> Iterator[Finding]:
    idle = document["totals"].get("idle_slot_share")
    if idle is not None and idle > IDLE_SHARE and _time(document):
        yield _finding(
            "idle-slots", "note",
            f"{idle:.0%} of the slots' time was idle (over {IDLE_SHARE:.0%}).",
            ["/totals/idle_slot_share", "/timeline/running_tasks", "/timeline/slots"],
            "use more partitions in short stages, or fewer cores",
        )  # fmt: skip


def _executors(document: dict[str, Any], group: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    for place, executor in enumerate(document["executors"]):
        if not _is_absent(executor[group]):
            yield place, executor["id"], executor[group]


def _remote(document: dict[str, Any]) -> Iterator[Finding]:
    low = []
    for place, name, memory in _executors(document, "memory"):
        share = memory["local_share"]
        if isinstance(share, float) and share < LOCAL_SHARE:
            low.append((share, name, place))
    if low:
        share, name, _ = min(low)
        yield _finding(
            "remote-memory", "warning",
            f"{len(low)} executors have less than {LOCAL_SHARE:.0%} of their memory local; the"
            f" least is {share:.0%} (executor {name}).",
            [f"/executors/{place}/memory/local_share" for _, _, place in low],
            "run it bound with 'hearth submit', and let 'hearth compare' say whether that pays",
        )  # fmt: skip


def _involuntary(document: dict[str, Any]) -> Iterator[Finding]:
    for place, name, use in _executors(document, "use"):
        cpu_s = (use["cpu_s"]["user"] or 0) + (use["cpu_s"]["system"] or 0)
        if use["involuntary"] is None or cpu_s < 1:
            continue
        rate = use["involuntary"] / cpu_s
        if rate > INVOLUNTARY_PER_CPU_S:
            yield _finding(
                f"involuntary-switches-{name}", "note",
                f"Threads of executor {name} were forced off a CPU {rate:.0f} times per second of"
                f" CPU time (over {INVOLUNTARY_PER_CPU_S:.0f}).",
                [f"/executors/{place}/use/involuntary"],
                "use fewer cores per executor or fewer executors; see what else runs",
            )  # fmt: skip


def _run_delay(document: dict[str, Any]) -> Iterator[Finding]:
    for place, name, use in _executors(document, "use"):
        cpu_s = (use["cpu_s"]["user"] or 0) + (use["cpu_s"]["system"] or 0)
        delay_s = use["run_delay_s"]
        if delay_s is not None and cpu_s >= 1 and delay_s > RUN_DELAY_SHARE * cpu_s:
            yield _finding(
                f"run-delay-{name}", "note",
                f"Threads of executor {name} waited {delay_s:.1f} s for a CPU and ran"
                f" {cpu_s:.1f} s (over {RUN_DELAY_SHARE:.0%}).",
                [f"/executors/{place}/use/run_delay_s", f"/executors/{place}/use/cpu_s"],
                "use fewer cores per executor, or free the machine of other work",
            )  # fmt: skip


#: How Spark words it where it gave an executor up on purpose (ExecutorLossReason.scala).
_WISHED = ("Executor killed by driver", "Executor decommission")


def _lost_executors(document: dict[str, Any]) -> Iterator[Finding]:
    for place, executor in enumerate(document["executors"]):
        reason = executor["reason"]
        if reason and (executor["failed"] or not reason.startswith(_WISHED)):
            yield _finding(
                f"executor-lost-{executor['id']}", "warning",
                f"Executor {executor['id']} was lost at {executor['removed_s']:.1f} s with"
                f" {executor['failed']} tasks failed: {reason.partition(chr(10))[0][:300]}",
                [f"/executors/{place}/reason", f"/executors/{place}/removed_s"],
                "exit code 137 means killed, mostly for memory: lower the heap or the cores",
            )  # fmt: skip


def _stalls(document: dict[str, Any]) -> Iterator[Finding]:
    for place, name, gc in _executors(document, "gc"):
        if gc["allocation_stall_ms"] > 0:
            yield _finding(
                f"allocation-stall-{name}", "warning",
                f"Threads of executor {name} stood {gc['allocation_stall_ms']:.0f} ms for memory"
                " that ZGC had not freed yet.",
                [f"/executors/{place}/gc/allocation_stall_ms"],
                "give it a larger heap or another collector",
            )  # fmt: skip


def _bandwidth(document: dict[str, Any]) -> Iterator[Finding]:
    bandwidth = document["timeline"]["bandwidth"]
    nodes = {} if _is_absent(bandwidth) else bandwidth["nodes"]
    for node, of in nodes.items():
        seconds = {} if _is_absent(of["seconds"]) else of["seconds"]
        total = sum(seconds.values())
        if total and seconds["exponential"] > EXPONENTIAL_SHARE * total:
            yield _finding(
                f"memory-bandwidth-{node}", "warning",
                f"Memory of node {node} was used above 80 % of its sustained bandwidth"
                f" {seconds['exponential'] / total:.0%} of the time, where latency grows"
                " exponentially (Awan 2016).",
                [f"/timeline/bandwidth/nodes/{node}/seconds"],
                "use fewer cores on that node, or spread the work over more nodes",
            )  # fmt: skip
