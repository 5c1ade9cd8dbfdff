"""Whatever is in a file that hearth reads, the user is told in a sentence: never a stack trace.

One document for each reader: others that base.codec reads fail as these do.
"""

import json
import os
import random
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from damaged import Damage, of_bytes, of_json, of_lines, of_text

from hearth.analysis.analysis import analyse, analyse_event_log, compose
from hearth.analysis.document import Analysis
from hearth.analysis.eventlog import MOST_STAGES, read_event_log
from hearth.analysis.evidence import gather
from hearth.analysis.gclog import read_gc_log
from hearth.analysis.samples import SampleFile
from hearth.base.codec import to_json
from hearth.base.errors import UserError
from hearth.base.rows import flat
from hearth.machine import jvm
from hearth.record.counters import parse_perf_line, topdown_metric
from hearth.record.store import find_record, list_records
from hearth.report.html.page import page
from hearth.report.kinds import show_document
from hearth.report.terminal.profile import show_profile
from hearth.report.terminal.screen import Screen
from hearth.spark.conf import read_properties
from hearth.studies.compare.study import Comparison
from hearth.studies.compare.verdict import compared
from hearth.workloads.checks import FinishedRun
from hearth.workloads.checks.registry import check
from support import ROOT, Command

#: Damaged files of each kind; HEARTH_FUZZ asks for more of them.
ROUNDS = int(os.environ.get("HEARTH_FUZZ", "8"))
#: The same damages in each `make test`, so that a change fails for its own faults alone;
#: `make fuzz` draws a seed anew, prints it, and tries many more.
FIRST_SEED = int(os.environ.get("HEARTH_SEED") or 1)
#: Of CPU time; by the clock, six times that: other work may have the processor meanwhile.
LIMIT_S = 20
LIMIT_BYTES = 2 << 30
FIXTURES = ROOT / "fixtures"
SCREEN = Screen(width=100, colour=False)
OF = {"pid": 7, "start_ticks": 1}


class TookTooLongError(BaseException):
    """No reader may catch it."""


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """So much memory and time for all the files of one kind."""

    def late(*_: object) -> None:
        raise TookTooLongError

    before = resource.getrlimit(resource.RLIMIT_AS)
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + LIMIT_BYTES, before[1]))
    limit_s = LIMIT_S * max(ROUNDS // 25, 1)
    timers = {signal.SIGPROF: signal.ITIMER_PROF, signal.SIGALRM: signal.ITIMER_REAL}
    handlers = {number: signal.signal(number, late) for number in timers}
    signal.setitimer(signal.ITIMER_PROF, limit_s)
    signal.setitimer(signal.ITIMER_REAL, 6 * limit_s)
    yield
    for number, timer in timers.items():
        signal.setitimer(timer, 0)
        signal.signal(number, handlers[number])
    resource.setrlimit(resource.RLIMIT_AS, before)


def try_all(file: Path, whole: bytes, damage: Damage, read: Callable[[], Any], **of: int) -> None:
    """Reads a file in each of its damaged forms; what is wrong with it is one line, if anything."""
    for seed in range(FIRST_SEED, FIRST_SEED + ROUNDS):
        damaged = damage(whole, random.Random(f"{file.name} {seed}"))
        file.unlink(missing_ok=True)
        file.write_bytes(damaged)
        try:
            read()
        except UserError as problem:
            assert "\n" not in str(problem)
            assert len(str(problem)) < 1000
        except Exception as fault:
            kept = Path(os.environ.get("HEARTH_FUZZ_KEEP", file.parent)) / f"bad-{file.name}"
            kept.write_bytes(damaged)
            again = f"HEARTH_SEED={seed} HEARTH_FUZZ=1 makes it again"
            raise AssertionError(f"{file.name}: {fault!r} ({kept}); {again}") from fault
    file.write_bytes(whole)
    read()


def shown(analysis: Analysis) -> None:
    """All that is made of an analysis."""
    json.dumps(to_json(analysis), allow_nan=False)
    "\n".join(show_profile(analysis, SCREEN)).encode()
    page([analysis]).encode()


# Event logs and logs of the garbage collectors.


@pytest.mark.parametrize("name", ["failure", "streaming"])
def test_a_damaged_event_log_is_reported_with_what_could_be_read(tmp_path: Path, name: str) -> None:
    lines = (FIXTURES / "eventlogs" / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
    log = tmp_path / name
    try_all(log, b"".join(lines[:150]), of_lines, lambda: shown(analyse_event_log(log)))


def test_a_damaged_compressed_event_log_is_reported(tmp_path: Path) -> None:
    plain = (FIXTURES / "eventlogs" / "failure.jsonl").read_bytes()
    log = tmp_path / "app.zstd"
    packed = zstandard.ZstdCompressor().compress(plain)
    try_all(log, packed, of_bytes, lambda: shown(analyse_event_log(log)))


def test_what_a_log_leaves_out_is_said(tmp_path: Path) -> None:
    events = (FIXTURES / "eventlogs" / "failure.jsonl").read_text().splitlines()
    started = [event for event in events if "ApplicationStart" not in event]
    (tmp_path / "headless").write_text("\n".join(started) + "\n")
    analysis = analyse_event_log(tmp_path / "headless")
    assert analysis.record.application == "headless"
    shown(analysis)
    ends = [event for event in events if "SparkListenerTaskEnd" in event]
    damaged = [
        e.replace('"Stage ID":0', '"Stage ID":"zero"', 1) if e in ends else e for e in events
    ]
    count = sum(a != b for a, b in zip(damaged, events, strict=True))
    assert count > 0
    (tmp_path / "typed").write_text("\n".join(damaged) + "\n")
    warnings = [w.what for w in analyse_event_log(tmp_path / "typed").warnings]
    assert f"event log: {count} unreadable events skipped" in warnings


def test_a_log_whose_name_is_no_text_is_shown_and_written(hearth: Command, tmp_path: Path) -> None:
    log = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.log"))
    shutil.copy(FIXTURES / "eventlogs" / "killed.jsonl", log)
    text = log.read_text().replace("ApplicationStart", "ApplicationStarting")
    log.write_text(text)
    done = hearth("report", str(log), "--html", "page.html")
    assert (done.returncode, done.stderr) == (
        0,
        f"hearth: wrote page.html: {(tmp_path / 'page.html').as_uri()}\n",
    )
    assert hearth("report", str(log)).returncode == 0


def test_of_very_many_stages_that_never_end_a_bounded_number_is_kept(tmp_path: Path) -> None:
    info = '"Stage Attempt ID":0,"Stage Name":"s","Number of Tasks":1'
    with (tmp_path / "many").open("w") as log:
        for stage in range(3 * MOST_STAGES):
            event = f'"SparkListenerStageSubmitted","Stage Info":{{"Stage ID":{stage},{info}}}'
            log.write(f'{{"Event":{event}}}\n')
    assert len(read_event_log(tmp_path / "many").stages) == 2 * MOST_STAGES


@pytest.mark.parametrize("log", sorted((FIXTURES / "gc").glob("*.log")), ids=lambda log: log.stem)
def test_a_damaged_log_of_a_garbage_collector_is_read_as_far_as_it_goes(
    tmp_path: Path, log: Path
) -> None:
    file = tmp_path / log.name
    try_all(file, log.read_bytes(), of_text, lambda: json.dumps(read_gc_log(file).__dict__))


# Records.


def rows(make: Callable[[int], dict[str, Any]]) -> bytes:
    """Ten lines of samples."""
    return b"".join(json.dumps({"t": t, **make(t)}).encode() + b"\n" for t in range(10))


SAMPLES: dict[str, bytes] = {
    "process": rows(lambda t: {**OF, "utime": 90 * t, "stime": 9 * t, "rss_kb": 10}),
    "memory": rows(lambda t: {**OF, "nodes": {"0": {"anon_kb": 900 + t, "huge_kb": 0}}}),
    "threads": rows(lambda t: {**OF, "ran": [[8, t % 4, 90 * t, t]], "names": {"8": ["GC", "gc"]}}),
    "system": rows(
        lambda t: {
            "cpu": {"0": [t, 0, t, 9 * t, 0, 0, 0, 0], "2": [t, 0, 0, t, 0, 0, 0, 0]},
            "vmstat": {"numa_hit": 5 * t},
        }
    ),
    "counters": rows(
        lambda t: (
            {**OF, "event": "cycles", "value": 1e9 + t, "unit": "", "running_share": 0.9}
            if t % 2
            else {**OF, "metric": "tma_retiring", "value": 0.4, "running_share": 0.9}
        )
    ),
    "bandwidth": rows(lambda t: {"total_bytes": {"S0": t << 30}}),
}
HEAD = {
    **json.loads((FIXTURES / "documents" / "record.json").read_text()),
    "owner": {"pid": 999_999_999, "start_ticks": 1},
    "clock_ticks_per_s": 100,
    "cpus_of_node": {"0": "0-1", "8": "2-3"},
    "sustained_bandwidth": {"nodes": {"0": {"best_gb_s": 20.0}}},
    "probes": [{"name": name, "status": "on", "reason": None, "period_s": 1.0} for name in SAMPLES],
}
PROCESSES = [
    {"t": 0.1, **OF, "role": "executor", "executor_id": "1", "event": "seen",
     "cpus_allowed": "2-3", "mems_allowed": "0,8", "policy": "bind:8"},
    {"t": 9.5, **OF, "event": "gone", "exit": None},
]  # fmt: skip
FILES: dict[str, bytes] = {
    "record.json": json.dumps(HEAD).encode(),
    "end.json": b'{"ended": "2026-11-21", "exit_code": 0, "wall_s": 10.5, "state": "finished"}',
    "processes.jsonl": b"".join(json.dumps(row).encode() + b"\n" for row in PROCESSES),
    "gc/executor-7.log": (FIXTURES / "gc" / "g1-17.log").read_bytes(),
    "eventlog/app": (FIXTURES / "eventlogs" / "failure.jsonl").read_bytes(),
    **{f"samples/{name}.jsonl": lines for name, lines in SAMPLES.items()},
}
#: Of samples each file has a reader of its own.
DAMAGED: dict[str, Damage] = {
    "record.json": of_json,
    "processes.jsonl": of_lines,
    **{f"samples/{name}.jsonl": of_lines for name in SAMPLES},
}


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """A record in a state directory."""
    directory = tmp_path / "records" / HEAD["id"]
    for name, whole in FILES.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(whole)
    return directory


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_of_a_record_is_told_and_the_rest_is_shown(record: Path, name: str) -> None:
    def read() -> None:
        found, problems = list_records(record.parent.parent)
        assert len(found) + len(problems) == 1
        shown(compose(gather(record)))
        if name.startswith("samples"):
            for row in SampleFile(record / name):
                json.dumps(flat(row))

    try_all(record / name, FILES[name], DAMAGED[name], read)


def test_a_damaged_cached_analysis_is_derived_again(record: Path) -> None:
    analyse(record)
    file = record.with_name(f".{record.name}.analysis")
    try_all(file, file.read_bytes(), of_bytes, lambda: shown(analyse(record)))


IN_ITS_PLACE: dict[str, Callable[[Path], Any]] = {
    "a directory": lambda file: file.mkdir(),
    "a dangling link": lambda file: file.symlink_to("nowhere"),
    "a link to itself": lambda file: file.symlink_to(file.name),
    "a pipe": os.mkfifo,
}


@pytest.mark.parametrize("kind", IN_ITS_PLACE)
def test_what_is_no_file_is_named_and_not_waited_for(record: Path, kind: str) -> None:
    IN_ITS_PLACE[kind](record / "machine.json")
    (found,), _ = list_records(record.parent.parent)
    assert "machine.json cannot be read" in str(found.machine)
    (record / "record.json").unlink()
    IN_ITS_PLACE[kind](record / "record.json")
    found_then, problems = list_records(record.parent.parent)
    assert found_then == []
    assert f"'{record / 'record.json'}' cannot be read" in problems[0]


def test_last_is_the_latest_record_that_can_be_read_and_the_damaged_one_is_said(
    record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = record.with_name("20991231-000000-later-0001")
    shutil.copytree(record, other)
    (other / "record.json").write_text("{}")
    assert find_record(record.parent.parent, "last").id == record.name
    assert f"'{other}/record.json' cannot be read: 'schema' is missing" in capsys.readouterr().err
    with pytest.raises(UserError, match="'schema' is missing"):
        find_record(record.parent.parent, other.name)


# Studies, and answers of workloads.


COMPARISON = json.loads((FIXTURES / "documents" / "comparison.json").read_text())
#: The journal of its runs.
TRIALS = b"".join(
    json.dumps({
        "turn": {"subject": "a", "arm": arm["name"], "repetition": number - 1},
        "record": "r", "seconds": seconds, "measures": arm.get("measures", {}),
    }).encode() + b"\n"
    for arm in COMPARISON["arms"]
    for number, seconds in enumerate(arm["seconds"])
)  # fmt: skip


@pytest.mark.parametrize("name", ["comparison.json", "trials.jsonl"])
def test_a_damaged_comparison_is_named_or_read_without_the_damaged_runs(
    tmp_path: Path, name: str
) -> None:
    files = {"comparison.json": json.dumps(COMPARISON).encode(), "trials.jsonl": TRIALS}
    for other, whole in files.items():
        (tmp_path / other).write_bytes(whole)

    def read() -> None:
        found = Comparison.read(tmp_path)
        said = compared(found.head, found.trials)
        to_json(said)
        show_document(said, SCREEN)
        page([], said)

    try_all(tmp_path / name, files[name], of_lines if name == "trials.jsonl" else of_json, read)


@pytest.mark.parametrize("answer", [b"one\ttwo\tthree\n", b"a\tx\n", b"\xff\xfe\n", b"nothing\n"])
def test_an_answer_that_cannot_be_read_is_wrong(tmp_path: Path, answer: bytes) -> None:
    for name, content in (("text", b"a a b\n"), ("answer", answer)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part-00000").write_bytes(content)
    run = FinishedRun("word-count", {}, {"text": tmp_path / "text"}, tmp_path / "answer", {})
    assert check(run).status == "wrong"


# What comes from other programs.


def test_damaged_lines_of_perf_are_passed_over(tmp_path: Path) -> None:
    lines = (
        b"1.001,120000,,cycles,1000000,95.00,0.4,insn per cycle\n"
        b"1.001,S0,1,<not counted>,,cycles,0,0.00,,\n"
        b'{"interval": 1.0, "counter-value": "12.0", "unit": "", "event": "cycles",'
        b' "pcnt-running": 90.0, "metric-value": "3.0", "metric-unit": "%  tma_retiring"}\n'
    )
    file = tmp_path / "perf"

    def read() -> None:
        for line in file.read_text(errors="replace").splitlines():
            reading = parse_perf_line(line)
            if reading is not None:
                topdown_metric(reading)
                json.dumps(reading.__dict__, allow_nan=False)

    try_all(file, lines, of_text, read)
    document = json.loads(lines.splitlines()[2])
    try_all(file, json.dumps(document).encode(), of_json, read)


def test_a_damaged_properties_file_is_read_or_named(tmp_path: Path) -> None:
    whole = b"# Spark\nspark.app.name = a\\u00e9\\ud83d\\ude00 \\\n  b\nspark.x:1\n\nspark.y z\n"
    file = tmp_path / "p.conf"

    def read() -> None:
        for key, value in read_properties(file, "--properties-file").items():
            os.fsencode(f"{key}={value}")
            assert "\0" not in key + value

    try_all(file, whole, of_bytes, read)


def test_a_java_that_ends_without_an_answer_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for script, said in (
        ("kill -9 $$", "killed by signal 9"),
        ("echo no >&2; exit 1", "no; check free memory"),
    ):
        monkeypatch.setattr(jvm, "command", lambda *_, s=script, **__: ["sh", "-c", s])
        with pytest.raises(UserError, match=said):
            jvm.call("topology")
