"""What the reader of event logs tells, held against Spark's own account of the same runs."""

import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from made_record import make_record

from hearth.analysis import eventlog as eventlog_module
from hearth.analysis import logfile, taskrows
from hearth.analysis.analysis import analyse, analyse_event_log
from hearth.analysis.document import Phases
from hearth.analysis.eventlog import read_event_log
from hearth.analysis.failure import cause_of
from hearth.analysis.stages import StageTally, TaskSums
from hearth.base.absent import Absent
from hearth.base.codec import to_json
from hearth.base.errors import UserError
from hearth.base.processes import start_ticks
from support import ROOT, Command, says

LOGS = ROOT / "fixtures" / "eventlogs"
CASES = sorted(file.stem for file in LOGS.glob("*.jsonl"))

#: Spark's name of each figure in its REST answers, ours, and what ours is to be multiplied by.
FIGURES = {
    "executorRunTime": "run_ms", "executorCpuTime": "cpu_ns", "jvmGcTime": "gc_ms",
    "executorDeserializeTime": "deserialise_ms", "resultSerializationTime": "result_serialise_ms",
    "shuffleFetchWaitTime": "shuffle_read_wait_ms", "shuffleWriteTime": "shuffle_write_ns",
    "memoryBytesSpilled": "spill_memory_bytes", "diskBytesSpilled": "spill_disk_bytes",
    "inputBytes": "input_bytes", "outputBytes": "output_bytes",
    "shuffleRemoteBytesRead": "shuffle_read_remote_bytes",
    "shuffleLocalBytesRead": "shuffle_read_local_bytes",
    "shuffleWriteBytes": "shuffle_write_bytes", "numFailedTasks": "failed",
    "numKilledTasks": "killed",
}  # fmt: skip


def assert_as_spark_says(log: Path, rest: list[dict[str, Any]]) -> None:
    """Every figure of every stage that ran equals what Spark's REST interface gave."""
    stages = read_event_log(log).stages
    ran = [stage for stage in rest if stage["status"] != "SKIPPED"]
    assert ran
    for stage in ran:
        sums = stages[stage["stageId"], stage["attemptId"]].sums
        ours = {name: getattr(sums, field) for name, field in FIGURES.items()}
        assert ours == {name: stage.get(name, 0) for name in FIGURES}, f"stage {stage['stageId']}"
        assert sums.tasks - sums.failed - sums.killed == stage.get("numCompleteTasks", 0)


@pytest.mark.parametrize("case", CASES)
def test_every_figure_of_a_stage_is_the_one_that_sparks_own_interface_gave(case: str) -> None:
    rest = json.loads((LOGS / f"{case}.rest.json").read_text())
    assert_as_spark_says(LOGS / f"{case}.jsonl", rest)


def assert_known_sleeps(stage: StageTally) -> None:
    """The stage whose tasks sleep 0.25 s, twelve times, and 2 s once (known_job.SLEEPS_S)."""
    assert stage.sums.tasks == 13
    assert stage.sums.run_ms >= 12 * 250 + 2000
    assert stage.durations.maximum >= 2000
    median = stage.durations.quantile(0.5)
    assert median is not None and 250 <= median < stage.durations.maximum
    assert stage.longest[0] is not None and max(stage.longest).id in stage.stragglers()
    # Sleeping is neither CPU nor garbage collection nor shuffle: it shows as compute.
    assert stage.sums.cpu_ns / 1e6 < 0.5 * stage.sums.run_ms
    assert stage.sums.compute_ms > 0.8 * (12 * 250 + 2000)


def test_a_task_that_sleeps_eight_times_longer_is_named_as_the_straggler() -> None:
    stage = read_event_log(LOGS / "skew.jsonl").stages[1, 0]
    assert_known_sleeps(stage)
    document = to_json(analyse_event_log(LOGS / "skew.jsonl"))
    assert "skew-1.0" in {finding["id"] for finding in document["findings"]}


def test_a_sort_that_spilled_says_how_much() -> None:
    document = to_json(analyse_event_log(LOGS / "spill.jsonl"))
    assert document["totals"]["spill"]["disk"] > 1_000_000
    assert "spill" in {finding["id"] for finding in document["findings"]}


def test_a_failed_job_names_its_stage_and_reason() -> None:
    document = to_json(analyse_event_log(LOGS / "failure.jsonl"))
    (failed,) = [f for f in document["findings"] if f["severity"] == "error"]
    said = "Stage 0 failed: ZeroDivisionError: integer division or modulo by zero"
    assert failed["sentence"].startswith(said)
    assert document["totals"]["failed"] == 1


_LOST = (
    "Job aborted: Task 1 in stage 0.0 failed 4 times, most recent failure: Lost task 1.3 in stage"
)
_PYTHON = "Traceback (most recent call last):\n  File\n"


@pytest.mark.parametrize(
    ("failure", "cause"),
    [
        (f"{_LOST} 0.0 (TID 5) (numa executor 1): a.IO: disk\n\tat a.B.c(B.java)\n", "a.IO: disk"),
        (
            f"{_LOST} 0.0 (TID 5) (numa executor 1): a.O: x\n\tat a\nCaused by: a.I: y\n\tat",
            "a.I: y",
        ),
        (
            f"{_PYTHON}    1/0\nB: zero\n\nDuring this\n\n{_PYTHON}\nmine.Oops: z\n\tat a",
            "mine.Oops: z",
        ),
        ("Stage cancelled because its job was\nmore", "Stage cancelled because its job was"),
        ("\nx" + "y" * 900, "x" + "y" * 499),
    ],
    ids=["java", "java's cause", "python's last", "no exception", "long"],
)
def test_of_a_failure_the_line_is_shown_that_names_its_cause(failure: str, cause: str) -> None:
    assert cause_of(failure) == cause


def test_a_file_without_an_event_is_refused_as_no_event_log(
    hearth: Command, tmp_path: Path
) -> None:
    (tmp_path / "hostname").write_text("numa\n")
    done = hearth("report", "hostname")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("hearth: 'hostname' holds no Spark events: it is a different")


def test_a_stage_that_was_never_submitted_is_shown_without_its_times(
    hearth: Command, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with log.open("w") as file:
        for line in (LOGS / "failure.jsonl").read_text().splitlines():
            event = json.loads(line)
            if event["Event"].startswith("SparkListenerStage"):
                event["Stage Info"].pop("Submission Time", None)
            if not event["Event"].startswith("SparkListenerTask"):
                file.write(json.dumps(event, separators=(",", ":")) + "\n")
    assert hearth("report", str(log)).returncode == 0
    done = hearth("report", str(log), "--html", "page.html")
    assert (done.returncode, done.stderr) == (
        0,
        f"hearth: wrote page.html: {(tmp_path / 'page.html').as_uri()}\n",
    )
    assert "ZeroDivisionError" in (tmp_path / "page.html").read_text()


def test_a_page_into_a_missing_folder_is_refused_before_anything_is_read(
    hearth: Command, tmp_path: Path
) -> None:
    done = hearth("report", "no-such-run", "--html", "none/page.html")
    assert done.returncode == 2
    assert says(done.stderr, f"hearth: --html: … '{tmp_path}/none': create it, or choose another")


def test_a_killed_executor_is_told_with_its_reason_and_its_replacement() -> None:
    document = to_json(analyse_event_log(LOGS / "killed.jsonl"))
    (lost,) = [e for e in document["executors"] if e["reason"]]
    assert "137" in lost["reason"]
    assert lost["failed"] == 1 and lost["removed_s"] > lost["added_s"]
    assert f"executor-lost-{lost['id']}" in {f["id"] for f in document["findings"]}


def test_speculation_shows_the_attempt_that_lost_as_killed() -> None:
    totals = to_json(analyse_event_log(LOGS / "speculation.jsonl"))["totals"]
    assert (totals["tasks"], totals["killed"], totals["failed"]) == (9, 1, 0)


def test_the_log_of_a_streaming_query_is_read_without_a_warning() -> None:
    assert read_event_log(LOGS / "streaming.jsonl").warnings == []


def test_a_width_is_that_of_its_stage_though_it_stands_before_the_stages_own_event(
    tmp_path: Path,
) -> None:
    lines = (LOGS / "skew.jsonl").read_text().splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if '"SparkListenerStageSubmitted"' in line)
    stage = json.loads(lines[at])["Stage Info"]
    found = {"stageId": stage["Stage ID"], "time": stage["Submission Time"], "width": 6}
    event = {"Event": "io.hearth.width.StageWidthFound", **found, "planned": 2, "because": ""}
    lines.insert(at, json.dumps(event, separators=(",", ":")) + "\n")
    (tmp_path / "log.jsonl").write_text("".join(lines))
    document = to_json(analyse_event_log(tmp_path / "log.jsonl"))
    assert document["warnings"] == []
    first = document["stages"][0]
    assert [width["tasks"] for width in first["widths"]] == [6]
    step_s = document["timeline"]["step_s"]
    inside = range(int(first["submitted_s"] / step_s) + 1, int(first["completed_s"] / step_s))
    slots = analyse_event_log(LOGS / "skew.jsonl").timeline.slots
    assert not isinstance(slots, Absent)
    assert inside and all(document["timeline"]["slots"][n] == 3 * slots[n] for n in inside)


def test_no_more_tasks_run_at_once_than_there_are_slots() -> None:
    """Spark's own count is 3.67 on 2 slots at one time here, while results are handled."""
    document = to_json(analyse_event_log(LOGS / "skew.jsonl"))
    timeline = document["timeline"]
    pairs = zip(timeline["running_tasks"], timeline["slots"], strict=True)
    assert all(tasks <= slots for tasks, slots in pairs if slots)
    covered_s = sum(timeline["running_tasks"]) * timeline["step_s"]
    assert covered_s == pytest.approx(document["totals"]["time"]["duration"] / 1000, rel=0.03)
    assert set(document["tasks_sample"]["slot"]) == {0, 1}
    used = 1 - document["totals"]["idle_slot_share"]
    phases = document["phases"]
    slot_s = 2 * (phases["tasks"] + phases["idle"])
    assert covered_s == pytest.approx(used * slot_s, rel=0.03)


@pytest.mark.parametrize("case", CASES)
def test_a_log_cut_at_every_1000th_byte_is_read_and_said_to_be_cut(
    case: str, tmp_path: Path
) -> None:
    whole = (LOGS / f"{case}.jsonl").read_bytes()
    cut = tmp_path / "cut"
    full = read_event_log(LOGS / f"{case}.jsonl").totals().tasks
    before = 0
    for size in range(0, len(whole), 1000):
        cut.write_bytes(whole[:size])
        document = to_json(analyse_event_log(cut))
        assert before <= document["totals"]["tasks"] <= full
        before = document["totals"]["tasks"]
        broken = any("breaks off" in warning["what"] for warning in document["warnings"])
        assert broken == (size > 0 and whole[size - 1 : size] != b"\n")
        assert document["warnings"]
    assert before > 0


def test_a_foreign_file_an_empty_one_and_unknown_events_are_warnings(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.write_bytes(bytes(range(256)) * 1000)
    assert "no Spark events" in read_event_log(foreign).warnings[1]
    foreign.write_bytes(b"")
    assert "no Spark events" in read_event_log(foreign).warnings[0]
    strange = b'{"Event":"org.example.Strange","x":1}\n'
    broken = b'{"Event":"SparkListenerTaskEnd","Stage ID":"?"}\n'
    foreign.write_bytes((LOGS / "skew.jsonl").read_bytes() + strange + broken)
    log = read_event_log(foreign)
    assert log.warnings == [
        "1 unreadable event skipped",
        "1 event of the unknown kind org.example.Strange skipped",
    ]
    with pytest.raises(UserError, match="there is no such file"):
        read_event_log(tmp_path / "nothing")


def test_rolled_and_compressed_logs_tell_the_same_as_a_plain_one(tmp_path: Path) -> None:
    lines = (LOGS / "skew.jsonl").read_bytes().splitlines(keepends=True)
    rolled = tmp_path / "eventlog_v2_app"
    rolled.mkdir()
    (rolled / "appstatus_app").touch()
    (rolled / "events_1_app").write_bytes(b"this was compacted away\n")
    compress = zstandard.ZstdCompressor().compress
    (rolled / "events_2_app.zstd.compact").write_bytes(
        compress(b"".join(lines[:20])) + compress(b"".join(lines[20:40]))
    )
    (rolled / "events_10_app").write_bytes(b"".join(lines[40:]))
    log, plain = read_event_log(tmp_path), read_event_log(LOGS / "skew.jsonl")
    assert log.warnings == []
    assert {k: s.sums.time() for k, s in log.stages.items()} == {
        k: s.sums.time() for k, s in plain.stages.items()
    }
    part = tmp_path / "log.zstd.inprogress"
    part.write_bytes(compress(b"".join(lines))[:-2000])
    assert any("breaks off" in warning for warning in read_event_log(part).warnings)


@pytest.mark.parametrize("kind", ["a pipe", "a link to a device", "a folder"])
def test_what_is_no_file_within_a_rolled_log_is_named_instead_of_waited_for(
    tmp_path: Path, kind: str
) -> None:
    rolled = tmp_path / "eventlog_v2_app"
    rolled.mkdir()
    part = rolled / "events_1_app"
    make: dict[str, Callable[[Path], None]] = {
        "a pipe": os.mkfifo,
        "a link to a device": lambda path: path.symlink_to("/dev/zero"),
        "a folder": Path.mkdir,
    }
    make[kind](part)
    with pytest.raises(UserError, match="events_1_app is not a file: remove it"):
        read_event_log(tmp_path)


def test_a_log_without_end_is_read_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = (LOGS / "skew.jsonl").read_bytes()
    bomb = tmp_path / "app.zstd"
    bomb.write_bytes(zstandard.compress(events + b"\n" * (1 << 22)))
    log = read_event_log(bomb)
    assert log.foreign_lines == eventlog_module.MOST_FOREIGN_LINES + 1
    assert says(log.warnings[0], "app.zstd…is not read…1000000 without an event")

    monkeypatch.setattr(logfile, "LONGEST_LINE_BYTES", 1 << 16)
    monkeypatch.setattr(logfile, "MOST_SKIPPED_BYTES", 1 << 22)
    sparse = tmp_path / "app"
    sparse.write_bytes(events)
    os.truncate(sparse, 1 << 40)
    assert "is not read" in read_event_log(sparse).warnings[1]

    monkeypatch.setattr(eventlog_module, "MOST_BYTES", 40_000)
    (tmp_path / "whole").write_bytes(events)
    log = read_event_log(tmp_path / "whole")
    assert "is not read" in log.warnings[0]
    assert 40_000 < log.bytes_read < len(events)


def test_a_log_in_another_codec_is_refused_with_the_setting_that_helps(tmp_path: Path) -> None:
    (tmp_path / "app.snappy").touch()
    with pytest.raises(UserError, match="does not read snappy"):
        read_event_log(tmp_path / "app.snappy")


def make_log(target: Path, tasks: int) -> None:
    """A log of so many tasks: a recorded stage over and over, in stages of 1,000."""
    lines = (LOGS / "skew.jsonl").read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if '"Event":"SparkListenerTask' not in line]
    ends = [json.loads(line) for line in lines if '"Event":"SparkListenerTaskEnd"' in line]
    starts = [json.loads(line) for line in lines if '"Event":"SparkListenerTaskStart"' in line]
    pattern = [(s, e) for e in ends for s in starts
               if s["Task Info"]["Task ID"] == e["Task Info"]["Task ID"]]  # fmt: skip
    last = max(end["Task Info"]["Finish Time"] for end in ends)
    first = min(start["Task Info"]["Launch Time"] for start in starts)
    with target.open("w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in kept[:-1])
        for task in range(tasks):
            later_ms = (task // len(pattern)) * (last - first)
            for event in pattern[task % len(pattern)]:
                file.write(_moved(event, task, later_ms) + "\n")
        end = json.loads(kept[-1])
        end["Timestamp"] += (tasks // len(pattern)) * (last - first)
        file.write(json.dumps(end, separators=(",", ":")) + "\n")


def _moved(event: dict[str, Any], task: int, later_ms: int) -> str:
    info = event["Task Info"]
    moved = {**info, "Task ID": task, "Launch Time": info["Launch Time"] + later_ms}
    if info["Finish Time"]:
        moved["Finish Time"] += later_ms
    stage = 100 + task // 1000
    return json.dumps({**event, "Stage ID": stage, "Task Info": moved}, separators=(",", ":"))


def test_ten_times_the_tasks_take_no_more_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The rows for the Gantt chart are 64 bytes each and at most 100,000; here at most 1,000.
    monkeypatch.setattr(taskrows, "MOST_ROWS", 1000)
    peaks = []
    for tasks in (1_000, 10_000):
        log = tmp_path / str(tasks)
        make_log(log, tasks)
        tracemalloc.start()
        read = read_event_log(log)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert read.totals().tasks == tasks
        assert 500 < len(read.rows.columns["task"]) <= 1000
        assert max(read.rows.columns["slot"]) == 1
    # What grows is the stages: here 1, then 10.
    assert peaks[1] - peaks[0] < 9 * 30_000


def test_a_task_that_never_ended_holds_its_slot(tmp_path: Path) -> None:
    lines = (LOGS / "skew.jsonl").read_text().splitlines(keepends=True)
    longest = max(read_event_log(LOGS / "skew.jsonl").stages[1, 0].longest)[1]
    cut = tmp_path / "cut"
    ended = '"Event":"SparkListenerTaskEnd"'
    cut.write_text("".join(x for x in lines if not (ended in x and f'"Task ID":{longest},' in x)))
    whole = to_json(analyse_event_log(LOGS / "skew.jsonl"))
    document = to_json(analyse_event_log(cut))
    assert document["totals"]["running"] == 1
    assert document["tasks_sample"]["state"].count("running") == 1
    assert document["phases"]["stop"] == 0 < whole["phases"]["stop"]
    last = int(max(document["tasks_sample"]["end_s"]) / document["timeline"]["step_s"]) - 1
    assert document["timeline"]["running_tasks"][last] >= 1


def test_the_times_of_one_task_add_up_as_the_ui_adds_them() -> None:
    info = {"Launch Time": 1000, "Finish Time": 2000, "Getting Result Time": 1900}
    none = {"Bytes Read": 0, "Local Bytes Read": 0, "Remote Bytes Read": 0, "Bytes Written": 0}
    metrics = {
        "Executor Run Time": 700, "Executor CPU Time": 400_000_000, "JVM GC Time": 50,
        "Executor Deserialize Time": 80, "Executor Deserialize CPU Time": 0,
        "Result Serialization Time": 20, "Memory Bytes Spilled": 0, "Disk Bytes Spilled": 0,
        "Shuffle Read Metrics": {**none, "Fetch Wait Time": 60}, "Input Metrics": none,
        "Shuffle Write Metrics": {"Shuffle Write Time": 40_900_000, "Shuffle Bytes Written": 0},
        "Output Metrics": none,
    }  # fmt: skip
    sums = TaskSums()
    sums.add(info, metrics, "success")
    assert to_json(sums.time()) == {
        "duration": 1000, "run": 700, "cpu": 400, "gc": 50, "deserialise": 80,
        "result_serialise": 20, "shuffle_read_wait": 60, "shuffle_write": 40,
        "getting_result": 100, "scheduler_delay": 1000 - 700 - 80 - 20 - 100,
        "compute": 700 - 50 - 60 - 40,
    }  # fmt: skip
    sums.add({**info, "Finish Time": 900}, metrics, "success")  # the clock was set back
    assert sums.time().scheduler_delay == 100
    assert sums.time().duration == 1000


def started(task: int, at_ms: int) -> str:
    info = {"Task ID": task, "Launch Time": at_ms, "Executor ID": "driver"}
    where = {"Event": "SparkListenerTaskStart", "Stage ID": 0, "Stage Attempt ID": 0}
    return json.dumps({**where, "Task Info": info}, separators=(",", ":"))


def test_where_a_runs_time_went_adds_up_to_it(tmp_path: Path) -> None:
    """Two tasks that overlap, a gap, and one that never ends: a log of 20 s."""
    ends = [line for line in (LOGS / "skew.jsonl").read_text().splitlines()
            if '"SparkListenerTaskEnd"' in line][:2]  # fmt: skip
    application = {"Event": "SparkListenerApplicationStart", "App Name": "a", "Timestamp": 1000}

    def ended(task: int, launch_ms: int, finish_ms: int) -> str:
        event = json.loads(ends[0])
        event["Task Info"] |= {"Task ID": task, "Launch Time": launch_ms, "Finish Time": finish_ms}
        return json.dumps(event, separators=(",", ":"))

    lines = [
        json.dumps(application, separators=(",", ":")),
        started(1, 6000), started(2, 7000), ended(1, 6000, 9000), ended(2, 7000, 11000),
        started(3, 14000), ended(3, 14000, 15000),
        json.dumps({"Event": "SparkListenerApplicationEnd", "Timestamp": 21000},
                   separators=(",", ":")),
    ]  # fmt: skip
    log = tmp_path / "log"
    log.write_text("\n".join(lines) + "\n")
    assert analyse_event_log(log).phases == Phases(start=5, tasks=6, idle=3, stop=6)
    log.write_text("\n".join([*lines[:5], started(4, 12000), lines[-1]]) + "\n")
    assert analyse_event_log(log).phases == Phases(start=5, tasks=14, idle=1, stop=0)
    log.write_text("\n".join([lines[0], lines[-1]]) + "\n")
    assert isinstance(analyse_event_log(log).phases, Absent)


def test_a_task_that_still_runs_is_no_time_without_a_task(tmp_path: Path) -> None:
    record, at = tmp_path / "20261121-090000-app-4711", 1_795_252_947_000
    make_record(record, owner={"pid": os.getpid(), "start_ticks": start_ticks(os.getpid())})
    starts = f"{started(1, at + 2000)}\n{started(2, at + 3000)}\n"
    (record / "eventlog" / "log").write_text(starts)
    assert analyse(record).phases == Phases(start=2, tasks=7, idle=0, stop=0)
