"""Whatever is in a file that hearth reads, the user is told in a sentence: never a stack trace."""

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
from hearth.base.codec import read_document, to_json
from hearth.base.errors import UserError
from hearth.base.rows import flat
from hearth.cli.options import read_line
from hearth.machine import jvm
from hearth.machine.applications import read_applications
from hearth.machine.memory_bandwidth import known_bandwidth
from hearth.record.counters import parse_perf_line, topdown_metric
from hearth.record.placement_copy import PlacementCopy
from hearth.record.store import find_record, list_records
from hearth.report.html.page import page
from hearth.report.kinds import show_document
from hearth.report.terminal.profile import show_profile
from hearth.report.terminal.screen import Screen
from hearth.report.terminal.workers import show_workers, workers_document
from hearth.spark import workers
from hearth.spark.conf import read_properties
from hearth.spark.saved_configs import (
    TunedConfig,
    keep_compared,
    keep_tuned,
    kept_compared,
    kept_tuned,
)
from hearth.studies.bench import study as series
from hearth.studies.bench.result import bench_result, is_good
from hearth.studies.characterise.study import Characterisation
from hearth.studies.compare.study import Comparison
from hearth.studies.compare.verdict import compared
from hearth.workloads import datasets, tpch
from hearth.workloads.checks import FinishedRun
from hearth.workloads.checks.registry import check
from hearth.workloads.shapes import JobResult
from support import ROOT, Command

#: Damaged files of each kind; HEARTH_FUZZ asks for more of them.
ROUNDS = int(os.environ.get("HEARTH_FUZZ", "8"))
#: The same damages in each `make test`, so that a change fails for its own faults alone;
#: `make fuzz` draws a seed anew, prints it, and tries many more.
FIRST_SEED = int(os.environ.get("HEARTH_SEED") or 1)
#: Of CPU time; by the clock, six times that: other work may have the processor meanwhile.
LIMIT_S = 20
LIMIT_BYTES = 2 << 30
FIXTURES, EXAMPLES = ROOT / "fixtures", ROOT / "contract" / "examples"
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


@pytest.mark.parametrize("name", ["failure", "killed", "skew", "speculation", "streaming"])
def test_a_damaged_event_log_is_reported_with_what_could_be_read(tmp_path: Path, name: str) -> None:
    lines = (FIXTURES / "eventlogs" / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
    log = tmp_path / name
    try_all(log, b"".join(lines[:150]), of_lines, lambda: shown(analyse_event_log(log)))


def test_a_damaged_compressed_event_log_is_reported(tmp_path: Path) -> None:
    plain = (FIXTURES / "eventlogs" / "failure.jsonl").read_bytes()
    log = tmp_path / "app.zstd"
    packed = zstandard.ZstdCompressor().compress(plain)
    try_all(log, packed, of_bytes, lambda: shown(analyse_event_log(log)))


def test_a_damaged_part_of_a_rolling_event_log_is_reported(tmp_path: Path) -> None:
    lines = (FIXTURES / "eventlogs" / "skew.jsonl").read_bytes().splitlines(keepends=True)
    folder = tmp_path / "eventlog_v2_app"
    folder.mkdir()
    (folder / "events_1_app").write_bytes(b"".join(lines[:20]))
    part = folder / "events_2_app"
    try_all(part, b"".join(lines[20:]), of_lines, lambda: shown(analyse_event_log(folder)))


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
    **json.loads((ROOT / "fixtures" / "documents" / "record.json").read_text()),
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
FILES: dict[str, tuple[bytes, Damage]] = {
    "record.json": (json.dumps(HEAD).encode(), of_json),
    "end.json": (b'{"ended": "2026-11-21", "exit_code": 0, "wall_s": 10.5, "state": "finished"}',
                 of_json),
    "machine.json": ((EXAMPLES / "topology.json").read_bytes(), of_json),
    "hand-over.json": ((EXAMPLES / "hand-over.json").read_bytes(), of_json),
    "warnings.jsonl": (b'{"t": 1.0, "what": "a", "remedy": "b"}\n' * 3, of_lines),
    "processes.jsonl": (b"".join(json.dumps(row).encode() + b"\n" for row in PROCESSES), of_lines),
    "gc/executor-7.log": ((FIXTURES / "gc" / "g1-17.log").read_bytes(), of_text),
    "eventlog/app": ((FIXTURES / "eventlogs" / "failure.jsonl").read_bytes(), of_lines),
    **{f"samples/{name}.jsonl": (lines, of_lines) for name, lines in SAMPLES.items()},
}  # fmt: skip


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """A record in a state directory, with a file of each kind."""
    directory = tmp_path / "records" / HEAD["id"]
    for name, (whole, _) in FILES.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(whole)
    return directory


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_of_a_record_is_told_and_the_rest_is_shown(record: Path, name: str) -> None:
    def read() -> None:
        found, problems = list_records(record.parent.parent)
        assert len(found) + len(problems) == 1
        shown(compose(gather(record)))
        if name.startswith("samples"):
            for row in SampleFile(record / name):
                json.dumps(flat(row))

    try_all(record / name, *FILES[name], read)


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
@pytest.mark.parametrize("name", [name for name in FILES if name.endswith("json")])
def test_what_is_no_file_is_named_and_not_waited_for(record: Path, name: str, kind: str) -> None:
    (record / name).unlink()
    IN_ITS_PLACE[kind](record / name)
    found, problems = list_records(record.parent.parent)
    if name == "hand-over.json":
        warned = [warning.what for warning in gather(record).warnings]
        assert any("hand-over.json cannot be read" in what for what in warned)
    elif name == "machine.json":
        assert "machine.json cannot be read" in str(found[0].machine)
    else:
        assert found == []
        assert f"'{record / name}' cannot be read" in problems[0]


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


# What hearth keeps: runs, choices, caches, journals.


def test_a_damaged_run_of_local_numa_does_not_hide_the_others(tmp_path: Path) -> None:
    whole = (EXAMPLES / "run.json").read_bytes()
    for name in ("good", "bad"):
        (tmp_path / "applications" / name).mkdir(parents=True)
        (tmp_path / "applications" / name / "run.json").write_bytes(whole)
    file = tmp_path / "applications" / "bad" / "run.json"
    copy = PlacementCopy(tmp_path / "applications", tmp_path)

    def read() -> None:
        found, problems = read_applications(tmp_path)
        assert len(found) + len(problems) == 2
        assert [application.state for application in found]
        copy.look(1)

    try_all(file, whole, of_json, read)


def test_a_damaged_set_of_workers_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEARTH_STATE", str(tmp_path))
    whole = (EXAMPLES / "workers.json").read_bytes()
    for name in ("good", "bad"):
        (tmp_path / "workers" / name).mkdir(parents=True)
        (tmp_path / "workers" / name / "workers.json").write_bytes(whole)

    def read() -> None:
        found, problems = workers.known_sets()
        assert len(found) + len(problems) == 2
        json.dumps(workers_document(found))
        show_workers(found, SCREEN)

    try_all(tmp_path / "workers" / "bad" / "workers.json", whole, of_json, read)


def test_a_damaged_choice_is_named(tmp_path: Path) -> None:
    line = read_line(["job.py"])
    kept = {"arm": "bound", "comparison": "c", "sentence": "s", "master": None, "words": ["a"]}
    file = keep_compared(tmp_path, line, kept)

    def read() -> None:
        config = kept_compared(tmp_path, line)
        assert config is not None
        assert all(isinstance(word, str) for word in config["words"])

    try_all(file, file.read_bytes(), of_json, read)


def test_a_damaged_result_of_tune_is_named(tmp_path: Path) -> None:
    kept = TunedConfig(
        tune="t", date="2026-11-23", sentence="s", master=None, executors=2, cores=1,
        unbound=False, conf={"spark.a": "b"}, java={"spark.c": "-Xd"},
    )  # fmt: skip
    keep_tuned(tmp_path, "job.py", kept)
    (file,) = tmp_path.rglob("*.json")

    def read() -> None:
        config = kept_tuned(tmp_path, "job.py")
        assert config is not None
        assert all(isinstance(flag, str) for flag in [*config["conf"].values(), config["date"]])

    try_all(file, file.read_bytes(), of_json, read)


def test_a_damaged_cache_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = (EXAMPLES / "bandwidth.json").read_bytes()
    monkeypatch.setattr("hearth.machine.memory_bandwidth._file", lambda: tmp_path / "bandwidth")
    try_all(tmp_path / "bandwidth", whole, of_json, known_bandwidth)


COMPARISON = json.loads((ROOT / "fixtures" / "documents" / "comparison.json").read_text())


def runs_of(comparison: dict[str, Any], subject: str) -> bytes:
    """The journal of a comparison's runs."""
    return b"".join(
        json.dumps({
            "turn": {"subject": subject, "arm": arm["name"], "repetition": number - 1},
            "record": "r", "seconds": seconds, "measures": arm.get("measures", {}),
        }).encode() + b"\n"
        for arm in comparison["arms"]
        for number, seconds in enumerate(arm["seconds"])
    )  # fmt: skip


@pytest.mark.parametrize("name", ["comparison.json", "trials.jsonl"])
def test_a_damaged_comparison_is_named_or_read_without_the_damaged_runs(
    tmp_path: Path, name: str
) -> None:
    files = {
        "comparison.json": json.dumps(COMPARISON).encode(),
        "trials.jsonl": runs_of(COMPARISON, "a"),
    }
    for other, whole in files.items():
        (tmp_path / other).write_bytes(whole)

    def read() -> None:
        found = Comparison.read(tmp_path)
        said = compared(found.head, found.trials)
        to_json(said)
        show_document(said, SCREEN)
        page([], said)

    try_all(tmp_path / name, files[name], of_lines if name == "trials.jsonl" else of_json, read)


@pytest.mark.parametrize("name", ["characterisation.json", "trials.jsonl"])
def test_a_damaged_characterisation_is_named_or_read_without_the_damaged_lines(
    tmp_path: Path, name: str
) -> None:
    whole = json.loads((ROOT / "fixtures" / "documents" / "characterisation.json").read_text())
    journal = b""
    for number, question in enumerate(whole["questions"]):
        question |= {"application": question["subject"], "subject": f"subject {number}"}
        if "comparison" in question:
            journal += runs_of(question["comparison"], question["subject"])
        elif "reason" in question:
            question["unanswerable"] = question["reason"]
    files = {"characterisation.json": json.dumps(whole).encode(), "trials.jsonl": journal}
    here = tmp_path / "studies" / "characterise" / "c"
    here.mkdir(parents=True)
    for file, content in files.items():
        (here / file).write_bytes(content)

    def read() -> None:
        found = Characterisation.read(here).characterised()
        to_json(found)
        show_document(found, SCREEN)
        page([], found)

    try_all(here / name, files[name], of_lines if name.endswith("l") else of_json, read)


@pytest.mark.parametrize("name", ["series.json", "trials.jsonl"])
def test_a_damaged_series_is_named_or_read_without_the_damaged_cases(
    tmp_path: Path, name: str
) -> None:
    whole = json.loads((ROOT / "fixtures" / "documents" / "bench-result.json").read_text())
    cases = b"".join(json.dumps(case).encode() + b"\n" for case in whole["cases"])
    files = {"series.json": json.dumps(whole["series"]).encode(), "trials.jsonl": cases}
    for file, content in files.items():
        (tmp_path / file).write_bytes(content)

    def read() -> None:
        results = series.Results.read(tmp_path)
        show_document(bench_result(results), SCREEN)
        is_good(results)

    try_all(tmp_path / name, files[name], of_lines if name.endswith("l") else of_json, read)


def test_a_damaged_manifest_or_result_is_named(tmp_path: Path) -> None:
    whole = (EXAMPLES / "dataset.json").read_bytes()
    file = tmp_path / datasets.MANIFEST
    try_all(file, whole, of_json, lambda: int(datasets.manifest(tmp_path)["bytes"]))
    made = {"generator": "tpch", "version": "1", "parameters": {"scale": "1.0"},
            "bytes": 1, "files": [{"path": "a", "bytes": 1}]}  # fmt: skip
    (tmp_path / "tpch").mkdir()
    file = tmp_path / "tpch" / datasets.MANIFEST

    def is_refused() -> None:
        with pytest.raises(UserError):
            datasets.ensure(tpch.TpchTables(1.0), tmp_path / "tpch")

    try_all(file, json.dumps(made).encode(), of_json, is_refused)
    whole = (EXAMPLES / "workload-result.json").read_bytes()
    result = tmp_path / "result.json"
    try_all(result, whole, of_json, lambda: read_document(result, JobResult, "run it again"))


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


def test_an_answer_of_java_that_is_cut_off_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = (EXAMPLES / "topology.json").read_bytes()
    file = tmp_path / "answer"
    monkeypatch.setattr(jvm, "command", lambda *_, **__: ["cat", str(file)])
    try_all(file, whole, of_json, lambda: jvm.call("topology"))
    for script, said in (
        ("kill -9 $$", "killed by signal 9"),
        ("echo no >&2; exit 1", "no; check free memory"),
    ):
        monkeypatch.setattr(jvm, "command", lambda *_, s=script, **__: ["sh", "-c", s])
        with pytest.raises(UserError, match=said):
            jvm.call("topology")
