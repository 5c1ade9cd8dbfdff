"""Findings, from logs and records made up so that the right sentence is known."""

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_record import CPUS_OF_NODE, make_record, process, write

from hearth.analysis.analysis import analyse, analyse_event_log
from hearth.analysis.document import (
    AnalysedMachine,
    Analysis,
    Bandwidth,
    Finding,
    Gc,
    Node,
    NodeBandwidth,
    Phases,
    Regions,
    StragglerCause,
)
from hearth.analysis.findings import SKEWED_JOIN, findings, other_load
from hearth.analysis.next_steps import in_words
from hearth.analysis.stages import StageTally
from hearth.base.absent import Absent
from support import ROOT

METRICS = json.loads(
    next(
        line
        for line in (ROOT / "fixtures/eventlogs/skew.jsonl").read_text().splitlines()
        if '"SparkListenerTaskEnd"' in line
    )
)["Task Metrics"]


def task(stage: StageTally, number: int, seconds: float, **more: Any) -> None:
    """One successful task; more: executor, first_wave, gc_s, wait_s, read."""
    metrics = json.loads(json.dumps(METRICS))
    metrics["JVM GC Time"] = int(more.get("gc_s", 0) * 1000)
    metrics["Shuffle Read Metrics"]["Fetch Wait Time"] = int(more.get("wait_s", 0) * 1000)
    metrics["Shuffle Read Metrics"]["Local Bytes Read"] = more.get("read", 1000)
    info = {
        "Task ID": number,
        "Executor ID": more.get("executor", "0"),
        "Launch Time": more.get("at", 0),
        "Finish Time": more.get("at", 0) + int(seconds * 1000),
        "Getting Result Time": 0,
        "Speculative": False,
        "Locality": "ANY",
    }
    stage.add(info, metrics, "success")


def stage_of(slow: list[dict[str, Any]], usual: int = 20) -> StageTally:
    """Tasks of one second in turn on two executors, and slow ones of eight first or afterwards."""
    stage = StageTally(0, 0)
    numbered = list(enumerate(slow, usual))
    for number, more in numbered:
        if "first" in more:
            task(stage, number, 8.0, **more)
    for number in range(usual):
        task(stage, number, 1.0, executor=str(number % 2), at=10_000 + 1000 * (number // 2))
    for number, more in numbered:
        if "first" not in more:
            task(stage, number, 8.0, **more, at=50_000)
    return stage


def cause(*slow: dict[str, Any]) -> str:
    found = stage_of(list(slow)).straggler_cause()
    assert isinstance(found, StragglerCause) and found.duration_ms == 8000
    return found.kind


def test_a_straggler_that_reads_a_heavy_key_is_slow_for_its_data() -> None:
    assert cause({"read": 5_000_000}) == "data"


def test_a_straggler_in_garbage_collection_or_waiting_for_blocks_says_so() -> None:
    assert cause({"gc_s": 6}) == "gc"
    assert cause({"wait_s": 6}) == "shuffle"


def test_the_tasks_with_which_executors_begin_a_stage_are_warm_up() -> None:
    first, other = {"first": True}, {"first": True, "executor": "1"}
    assert cause(first, other) == "warm-up"
    assert cause(first) == "unknown", "executor 1 began quickly"
    assert cause(first, {}, {"executor": "1"}) == "unknown", "others were slow, too"


def test_one_slow_task_beside_quick_ones_of_the_same_first_wave_is_no_warm_up() -> None:
    stage = StageTally(0, 0)
    for number in (100, 101, 102):
        task(stage, number, 1.0)
    for number in range(20):
        task(stage, number, 1.0, at=1100 + 1000 * number)
    task(stage, 103, 30.0)
    found = stage.straggler_cause()
    assert isinstance(found, StragglerCause) and found.kind == "unknown"


def test_stragglers_of_one_executor_among_several_point_to_it() -> None:
    assert cause(*[{"executor": "1"}] * 3) == "executor"
    assert cause({"executor": "1"}) == "unknown", "one task shows nothing of an executor"


def test_four_tasks_make_no_straggler() -> None:
    few = stage_of([{}], usual=3)
    assert few.stragglers() == []
    assert few.straggler_cause() == Absent("no task is a straggler")
    assert stage_of([{}]).stragglers() == [20]


def test_a_skewed_stage_is_called_by_its_name_with_what_is_to_be_gained() -> None:
    analysis = analyse_event_log(ROOT / "fixtures/eventlogs/skew.jsonl")
    (found,) = [f for f in analysis.findings if f.id == "skew-1.0"]
    assert "In stage 1 (" in found.sentence and "1 straggler;" in found.sentence
    assert found.seconds is not None and 1.5 < found.seconds < 3


def test_a_skewed_join_is_named_with_what_to_do_about_its_keys() -> None:
    analysis = analyse_event_log(ROOT / "fixtures/eventlogs/skew.jsonl")
    assert not isinstance(analysis.stages, Absent)
    cause = StragglerCause("data", 2600, "0", 50_000_000)

    def said(operators: list[str], why: StragglerCause = cause) -> Finding:
        stages = [
            replace(one, operators=operators, straggler_cause=why) if one.id == 1 else one
            for one in analysis.stages  # type: ignore[union-attr]
        ]
        found = findings(replace(analysis, stages=stages))
        return next(one for one in found if one.id == "skew-1.0")

    join = said(["Exchange", "SortMergeJoin", "Project"])
    assert "the keys of its SortMergeJoin are skewed" in join.sentence
    assert "read 50.0 MB" in join.sentence
    assert join.next_step == in_words(SKEWED_JOIN)
    for other in (
        said(["Exchange", "HashAggregate"]),
        said(["SortMergeJoin"], replace(cause, kind="gc")),
    ):
        assert "are skewed" not in other.sentence and other.next_step != join.next_step


def test_a_failure_says_where_its_stack_trace_is() -> None:
    analysis = analyse_event_log(ROOT / "fixtures/eventlogs/failure.jsonl")
    for master, place in (
        ("local-numa[2x1]", f"in applications/{analysis.record.application_id}/executors/*/stderr"),
        ("local[2]", "in the output of the application"),
    ):
        run = replace(analysis, record=replace(analysis.record, master=master))
        (failed,) = [found for found in findings(run) if found.id.startswith("stage-failed")]
        assert place in failed.next_step


@pytest.mark.parametrize("known", ["heap_peak_bytes", "gc"])
def test_more_memory_is_no_advice_for_a_heap_with_room(known: str) -> None:
    analysis = analyse_event_log(ROOT / "fixtures/eventlogs/spill.jsonl")
    totals = analysis.totals
    assert not isinstance(totals, Absent)
    time = replace(totals.time, gc=totals.time.run // 2)
    for used_gb, roomy in ((2, True), (12, False)):
        left = Gc("G1", 9, 1.0, 0.0, used_gb << 10)
        how = {"heap_peak_bytes": used_gb << 30} if known == "heap_peak_bytes" else {"gc": left}
        executors = [
            replace(one, **{"heap_setting": "13g", "heap_peak_bytes": None, **how})
            for one in analysis.executors
        ]
        run = replace(analysis, totals=replace(totals, time=time), executors=executors)
        (gc,) = [found for found in findings(run) if found.id == "gc-share"]
        assert gc.next_step.startswith("the heap has room" if roomy else "give executors more")


def test_a_stage_of_a_query_is_called_by_the_query_and_its_operators() -> None:
    logs = sorted((ROOT / "fixtures/eventlogs").glob("*.jsonl"))
    found = [s for log in logs for s in stages(analyse_event_log(log)) if s.sql is not None]
    labels = [stage.label for stage in found]
    assert "Exchange <- Range" in labels
    assert not any("NativeMethodAccessorImpl" in label for label in labels)
    assert not any("WholeStageCodegen" in label for label in labels)
    assert all(stage.operators[-1] in stage.label for stage in found)


def stages(analysis: Analysis) -> list[Any]:
    return [] if isinstance(analysis.stages, Absent) else analysis.stages


def loaded(tmp_path: Path, busy: float, seen_s: int = 0) -> Analysis:
    """A record of 9 s on two nodes of two CPUs, whose executor used one CPU of those busy.

    seen_s: when it was sampled first; it ran from the start.
    """
    make_record(tmp_path / "run")
    own = [process(t, 100 * t, involuntary=300 * t) for t in range(seen_s, 10)]
    write(tmp_path / "run" / "samples" / "process.jsonl", own)
    samples = tmp_path / "run" / "samples"
    rows = []
    for second in range(10):
        ticks = int(100 * busy / 4 * second)
        kinds = [ticks, 0, 0, 100 * second - ticks, 0, 0, 0, 0, 0, 0]
        rows.append({"t": second, "cpu": {str(cpu): kinds for cpu in range(4)}})
    write(samples / "system.jsonl", rows)
    analysis = analyse(tmp_path / "run")
    nodes = [Node(name, cpus, None) for name, cpus in CPUS_OF_NODE.items()]
    analysis = replace(
        analysis, machine=AnalysedMachine("x86_64", "0-3", 2, nodes, {}), findings=[]
    )
    return replace(analysis, findings=findings(analysis))


def test_other_programs_are_the_first_finding_and_no_advice_follows_from_their_switches(
    tmp_path: Path,
) -> None:
    analysis = loaded(tmp_path, busy=3.0)
    first = analysis.findings[0]
    assert first.id == "other-load"
    # Two CPUs for nine seconds, less what a run's own start may have used, of four CPUs.
    assert "Other programs used at least 39% of the machine's CPUs" in first.sentence
    assert not [f for f in analysis.findings if f.id in ("involuntary-switches", "run-delay")]


def test_the_driver_is_not_called_an_executor(tmp_path: Path) -> None:
    analysis = loaded(tmp_path, busy=1.2)
    (executor,) = analysis.executors
    driver = replace(executor, id="driver", role="driver")
    said = [f.sentence for f in findings(replace(analysis, executors=[driver], findings=[]))]
    assert any("Threads of the driver were forced off a CPU" in sentence for sentence in said)
    assert not any("executor driver" in sentence for sentence in said)


def test_a_quiet_machine_has_no_finding_of_other_load(tmp_path: Path) -> None:
    assert "other-load" not in [f.id for f in loaded(tmp_path, busy=1.2).findings]


def test_what_a_process_used_before_it_was_first_sampled_is_not_other_load(tmp_path: Path) -> None:
    assert other_load(loaded(tmp_path, busy=1.0, seen_s=4)) == pytest.approx(0.0, abs=0.01)


def test_where_the_machine_was_not_sampled_nothing_is_said_of_other_programs() -> None:
    analysis = analyse_event_log(ROOT / "fixtures/eventlogs/skew.jsonl")
    assert other_load(analysis) is None
    assert "other-load" not in [f.id for f in analysis.findings]


def half_used(tmp_path: Path, busy: float, wall_s: float = 60.0) -> list[Finding]:
    """Findings of a run on 8 cores of two nodes that were busy for this share of the time, and took
    30 of 100 GB/s of each node's memory."""
    tmp_path.mkdir()
    analysis = loaded(tmp_path, busy=1.2)
    assert not isinstance(analysis.machine, Absent)
    nodes = [replace(node, cpus="0-7", cores=["0,4", "1,5", "2,6", "3,7"])
             for node in analysis.machine.nodes]  # fmt: skip
    used = NodeBandwidth([30.0, 30.0], 100.0, [0.3, 0.3], Regions(2.0, 0.0, 0.0))
    timeline = replace(
        analysis.timeline,
        cpu_by_node={node.id: [busy, busy, None] for node in nodes},
        bandwidth=Bandwidth("resctrl", {node.id: used for node in nodes}),
    )
    return findings(
        replace(
            analysis,
            machine=replace(analysis.machine, nodes=nodes),
            timeline=timeline,
            record=replace(analysis.record, wall_s=wall_s),
            findings=[],
        )
    )


def test_a_run_that_leaves_half_the_machine_idle_is_told_to_share_it(tmp_path: Path) -> None:
    (found,) = [f for f in half_used(tmp_path / "a", 0.25) if f.id == "idle-machine"]
    assert found.sentence == (
        "This run leaves 6 of 8 cores and 140 GB/s of memory bandwidth idle, on average."
    )
    assert "hearth colocate" in (found.next_step or "")
    assert "idle-machine" not in [f.id for f in half_used(tmp_path / "b", 0.75)]
    assert "idle-machine" not in [f.id for f in half_used(tmp_path / "c", 0.25, wall_s=5.0)]


def full_slots(tmp_path: Path, busy: float, running: float = 8.0) -> list[Finding]:
    """Findings of 20 s on 8 CPUs of two nodes, busy for this share, with 8 slots."""
    tmp_path.mkdir()
    analysis = loaded(tmp_path, busy=1.2)
    assert not isinstance(analysis.machine, Absent)
    nodes = [replace(node, cpus=cpus) for node, cpus in
             zip(analysis.machine.nodes, ("0-3", "4-7"), strict=True)]  # fmt: skip
    timeline = replace(
        analysis.timeline,
        step_s=1.0,
        running_tasks=[running] * 20 + [0.0],
        slots=[8.0] * 21,
        cpu_by_node={node.id: [*[busy] * 20, None] for node in nodes},
    )
    machine = replace(analysis.machine, nodes=nodes)
    return findings(replace(analysis, machine=machine, timeline=timeline, findings=[]))


def test_tasks_that_fill_the_slots_and_not_the_cpus_are_said_to_wait(tmp_path: Path) -> None:
    (found,) = [f for f in full_slots(tmp_path / "a", 0.25) if f.id == "waiting-tasks"]
    assert found.sentence.startswith("For 20 s tasks held 8.0 slots and kept 2.0 CPUs busy")
    assert "--width adaptive" in (found.next_step or "")
    busy = full_slots(tmp_path / "b", 0.75)
    few = full_slots(tmp_path / "c", 0.25, running=4.0)
    assert "waiting-tasks" not in [f.id for f in (*busy, *few)]


def run_of(start: float, tasks: float, idle: float, stop: float, **more: Any) -> list[Finding]:
    """Findings of a run that is known by where its time went."""
    analysis = analyse_event_log(ROOT / "fixtures/eventlogs/skew.jsonl")
    state = more.pop("state", "finished")
    record = replace(analysis.record, wall_s=start + tasks + idle + stop, state=state)
    phases = Phases(start, tasks, idle, stop)
    return findings(replace(analysis, record=record, phases=phases, findings=[], **more))


def test_a_run_without_a_task_for_most_of_its_time_is_told_so_first_with_that_as_its_gain() -> None:
    first, *_ = run_of(30.0, 16.0, 1.0, 2.0)
    assert first.id == "no-task" and first.seconds == 33.0
    assert first.sentence.startswith("No task ran for 33.0 s: 30.0 s before the first task")
    assert "before its first job" in first.next_step
    one = analyse_event_log(ROOT / "fixtures/eventlogs/skew.jsonl").executors[0]
    slots = [replace(one, cores=None, added_s=0.2), replace(one, cores=1, added_s=28.0)]
    first, *_ = run_of(30.0, 16.0, 1.0, 2.0, executors=slots)
    assert "after 28.0 s" in first.sentence, "a driver without slots is there at once"
    assert "between its jobs" in run_of(4.0, 16.0, 30.0, 2.0)[0].next_step
    assert "no-task" not in [one.id for one in run_of(2.0, 60.0, 0.0, 1.0)]
    assert "no-task" not in [one.id for one in run_of(30.0, 16.0, 1.0, 2.0, state="running")]


def test_slots_are_called_idle_only_beside_tasks() -> None:
    analysis = analyse_event_log(ROOT / "fixtures/eventlogs/skew.jsonl")
    assert not isinstance(analysis.totals, Absent)
    totals = replace(analysis.totals, idle_slot_share=0.8)
    (idle,) = [f for f in run_of(1.0, 40.0, 0.0, 1.0, totals=totals) if f.id == "idle-slots"]
    assert "80%" in idle.sentence and idle.seconds == 32.0
    gaps = run_of(1.0, 40.0, 120.0, 1.0, totals=totals)
    assert "idle-slots" not in [f.id for f in gaps], "they were idle because no task ran"


def test_a_stage_of_one_task_beside_idle_slots_says_what_there_is_to_gain_at_most() -> None:
    analysis = analyse_event_log(ROOT / "fixtures/eventlogs/skew.jsonl")
    assert not isinstance(analysis.stages, Absent) and not isinstance(analysis.totals, Absent)
    long = max(analysis.stages, key=lambda stage: stage.time.run)
    alone = replace(long, tasks=1, duration=replace(long.duration, max=8000.0))
    totals = replace(analysis.totals, slots=4)
    found = run_of(1.0, 40.0, 0.0, 1.0, stages=[alone], totals=totals)
    (one,) = [f for f in found if f.id.startswith("one-task")]
    assert one.seconds == 6.0, "eight seconds on one of four slots"


#: How an instruction says to have more or less of something, in any words.
_MORE, _LESS = r"\b(more|larger|raise)\b", r"\b(fewer|less|smaller|lower)\b"
_THINGS = {
    "partitions": "partitions", "cores": "cores", "executors": r"executors(?! more memory)",
    "memory": "memory|heap",
}  # fmt: skip


def asked_for(next_step: str) -> set[tuple[str, str]]:
    """What an instruction asks to have more or less of, by its words alone."""
    asked = set()
    for part in re.split(r", or |; ", next_step):
        if "would not help" in part or "works against" in part:
            continue
        for thing, words in _THINGS.items():
            for way, said in (("more", _MORE), ("less", _LESS)):
                if re.search(rf"{said}[^,:]*?({words})|more and smaller ({words})", part):
                    asked.add((thing, way))
    return asked - {("executors", "less")} if "more and smaller" in next_step else asked


def generated(draw: random.Random) -> Analysis:
    """A run with figures on either side of many thresholds."""
    log = draw.choice(("skew", "spill", "failure"))
    analysis = analyse_event_log(ROOT / f"fixtures/eventlogs/{log}.jsonl")
    totals, stages = analysis.totals, analysis.stages
    assert not isinstance(totals, Absent) and not isinstance(stages, Absent)
    often = draw.choice
    run_ms = 100_000
    time = replace(
        totals.time, duration=2 * run_ms, run=run_ms, gc=often((0, run_ms // 2)),
        scheduler_delay=often((0, run_ms)), shuffle_read_wait=often((0, run_ms)),
    )  # fmt: skip
    stages = [
        replace(
            stage,
            tasks=often((1, 8, 900)),
            time=replace(stage.time, run=run_ms // 2),
            duration=replace(stage.duration, p50=often((20.0, 900.0)), max=9000.0),
            read_bytes=replace(stage.read_bytes, max=often((10.0, 9.0 * (1 << 30)))),
            straggler_cause=StragglerCause(often(("gc", "data", "executor")), 9000, "0", 1),
            skew=often((1.0, 5.0)),
        )
        for stage in stages
    ]
    executors = [
        replace(
            one, heap_setting="16g", heap_peak_bytes=often((1 << 30, 15 << 30)), tasks=9,
            reason=often((None, "exit code 137")), removed_s=9.0, failed=1,
            gc=Gc("ZGC", 9, 1.0, often((0.0, 50.0)), 100),
        )
        for one in analysis.executors
    ]  # fmt: skip
    return replace(
        analysis, executors=executors, stages=stages, findings=[],
        totals=replace(totals, time=time, slots=8, idle_slot_share=often((0.1, 0.9)),
                       spill=replace(totals.spill, disk=often((0, 10**9)))),
        phases=Phases(*(often((0.5, 40.0)) for _ in range(4))),
    )  # fmt: skip


def test_no_two_findings_of_a_run_tell_the_opposite() -> None:
    """Of 300 runs with figures on either side of the thresholds, whatever rules they meet."""
    draw, seen = random.Random(51), 0
    opposite = {"more": "less", "less": "more"}
    for _ in range(300):
        run = findings(generated(draw))
        asked = set().union(*(asked_for(one.next_step) for one in run)) if run else set()
        seen += len(asked)
        both = {thing for thing, way in asked if (thing, opposite[way]) in asked}
        assert not both, [(one.id, one.next_step) for one in run]
    assert seen > 600, "the cases meet many rules"


def test_what_a_later_finding_would_turn_back_is_left_out_of_its_advice() -> None:
    analysis = analyse_event_log(ROOT / "fixtures/eventlogs/skew.jsonl")
    assert not isinstance(analysis.totals, Absent)
    time = replace(analysis.totals.time, duration=200_000, run=100_000, scheduler_delay=100_000)
    totals = replace(analysis.totals, time=time, slots=2, idle_slot_share=0.9)
    told = {f.id: f.next_step for f in run_of(0.0, 20.0, 0.0, 0.0, totals=totals)}
    assert "fewer, larger partitions" in told["scheduler-delay"]
    assert told["idle-slots"] == "use fewer cores per executor"
