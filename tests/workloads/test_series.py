"""A series: its order, its file, what goes on and what is refused, its table."""

import json
from pathlib import Path
from typing import Any

import pytest

from hearth.base.codec import to_json, typed
from hearth.base.errors import UserError
from hearth.report.kinds import show_document
from hearth.report.terminal.screen import Screen
from hearth.studies.bench import study as running
from hearth.studies.bench.result import bench_result, is_good
from hearth.studies.bench.study import Results, Series, SeriesHead
from hearth.studies.engine.store import Opening
from hearth.studies.engine.trial import Trial, Turn
from hearth.workloads import cases
from hearth.workloads.catalogue import Catalogue, Job
from hearth.workloads.logs import reason
from hearth.workloads.masters import check_master, split_masters
from hearth.workloads.runner import RunError
from hearth.workloads.suites import SuiteEntry, named, suite
from support import ROOT, Command, as_text, validate

MACHINE = {"name": "box", "kernel": "6.1", "cpus": "0-1", "memory_nodes": "0", "nodes": 1}


def job(name: str, family: str = "core") -> Job:
    return Job(name, family, "s", "s", "p", (), (), None)


OFFER = Catalogue((job("alpha"), job("beta"), job("k-means", "ml")), ())


def series(**changes: Any) -> Series:
    """Two jobs under two masters, three times, one warm-up."""
    settings: dict[str, Any] = {
        "name": "jobs",
        "entries": [SuiteEntry(OFFER.jobs[0]), SuiteEntry(OFFER.jobs[1], {"maps": "4"})],
        "masters": ["local[2]", "local-numa[2x1]"],
        "repeat": 3,
        "warmup": 1,
        "size_bytes": None,
        "seed": 1,
    }
    return Series(**{**settings, **changes})


def case(label: str, master: str, repetition: int, seconds: float, **changes: Any) -> Trial:
    result = {
        "seconds": seconds,
        "spark": {"master": master},
        "verdict": {"status": "checked", "detail": "equal"},
        **changes,
    }
    return typed(
        {
            "turn": {"subject": label, "arm": master, "repetition": repetition},
            "seconds": seconds,
            "result": result,
        },
        Trial,
    )


def failed(label: str, master: str, repetition: int, why: str) -> Trial:
    return Trial(Turn(label, master, repetition), failure=why)


def results(tmp_path: Path, *found: Trial, **changes: Any) -> Results:
    kept = Results.begin(tmp_path, series(**changes), MACHINE)
    for trial in found:
        kept.keep(trial)
    return kept


def resumed(kept: Results, *, machine: dict[str, Any] = MACHINE, **changes: Any) -> Results:
    opening = Opening(resume=kept.head.id)
    return Results.begin(kept.state_home, series(**changes), machine, opening)


def shown(kept: Results) -> str:
    return "\n".join(show_document(bench_result(kept), Screen(200)))


def test_a_series_is_listed_shown_and_deleted_by_its_id(hearth: Command, tmp_path: Path) -> None:
    kept = results(tmp_path / "state", name="osu")
    for master, seconds in (("local[2]", 2.0), ("local-numa[2x1]", 1.5)):
        kept.keep(case("alpha", master, 0, seconds))
    number = kept.head.id
    listed = hearth("runs", "--kind", "series").stdout
    assert number in listed and "series: local[2], loc" in listed
    for named in (number[-4:], number, str(kept.directory)):
        assert "beta --maps 4" in hearth("report", named).stdout
    document = json.loads(hearth("report", number, "--json").stdout)
    validate("report", document)
    validate("bench-result", document["series"])
    done = hearth("report", number, "--html", "page.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert "alpha: seconds of each run" in page and "alpha under" not in page
    assert "beta --maps 4 under local[2]: not available: not run" in as_text(page)
    assert hearth("runs", "delete", "--yes", number).stdout == f"{number}  bench\ndeleted 1\n"
    assert not kept.directory.exists()


def test_only_what_is_missing_is_run_and_a_failure_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = series(repeat=1, warmup=0)
    kept = Results.begin(tmp_path, wanted, MACHINE)
    kept.keep(case("alpha", "local[2]", 0, 1.0))
    kept.keep(failed("alpha", "local-numa[2x1]", 0, "no luck"))
    ran: list[tuple[str, str]] = []

    def run(_: Catalogue, one: cases.Case, master: str) -> cases.Finished:
        ran.append((one.job.name, master))
        if one.job.name == "beta":
            raise RunError("ended with 1: OutOfMemoryError", [])
        return cases.Finished(dict(case("", master, 0, 3.0).result or {}), None)

    monkeypatch.setattr(cases, "run", run)
    running.run(OFFER, wanted, kept)
    assert sorted(ran) == [
        ("alpha", "local-numa[2x1]"),
        ("beta", "local-numa[2x1]"),
        ("beta", "local[2]"),
    ]
    again = Results.read(kept.directory)
    assert len(again.last) == 4
    assert [t.failure for t in again.last if t.turn.subject == "beta --maps 4"] == [
        "ended with 1: OutOfMemoryError"
    ] * 2
    assert not is_good(again)


@pytest.mark.parametrize(
    ("changes", "machine", "words"),
    [
        ({"repeat": 4}, {}, "repeat 3, not 4"),
        ({"seed": 2}, {}, "seed 1, not 2"),
        ({"conf": {"a": "b"}}, {}, "conf {}, not {'a': 'b'}"),
        ({"masters": ["local[2]"]}, {}, "masters 'local[2] local-numa[2x1]', not 'local[2]'"),
        ({"entries": [SuiteEntry(OFFER.jobs[0])]}, {}, "jobs 'alpha beta --maps 4', not 'alpha'"),
        ({"name": "batch"}, {}, "suite jobs, not batch"),
        ({}, {"name": "elsewhere"}, "machine name box, not elsewhere"),
        ({}, {"kernel": "6.2"}, "machine kernel 6.1, not 6.2"),
    ],
)
def test_results_of_something_else_are_refused_by_what_differs(
    tmp_path: Path, changes: dict[str, Any], machine: dict[str, Any], words: str
) -> None:
    kept = results(tmp_path, case("alpha", "local[2]", 0, 1.0))
    before = kept.journal.file.read_bytes()
    with pytest.raises(UserError) as caught:
        resumed(kept, machine={**MACHINE, **machine}, **changes)
    assert words in str(caught.value)
    assert kept.journal.file.read_bytes() == before


def constructed(tmp_path: Path) -> Results:
    """Known times; the second master takes half as long; warm-ups would spoil it."""
    found = []
    for number, seconds in enumerate((2.0, 4.0, 6.0)):
        found.append(case("alpha", "local[2]", number, seconds))
        found.append(case("alpha", "local-numa[2x1]", number, seconds / 2))
    found.append(case("alpha", "local[2]", -1, 1000.0))
    found.append(case("beta --maps 4", "local[2]", 0, 5.0))
    wrong = {"status": "wrong", "detail": "3 keys differ"}
    found.append(case("beta --maps 4", "local[2]", 1, 7.0, verdict=wrong))
    found.append(failed("beta --maps 4", "local[2]", 2, "ended with 137: killed"))
    return results(tmp_path, *found)


def test_the_table_shows_what_was_measured_and_what_was_not(tmp_path: Path) -> None:
    kept = constructed(tmp_path)
    lines = [line.split() for line in shown(kept).splitlines()]
    assert ["alpha", "local[2]", "4.00", "2.00-6.00", "-", "-", "checked"] in lines
    assert "1.00-3.00   0.50  [0.50, 0.50]  checked" in shown(kept)
    assert "wrong: 3 keys differ; 1 failed: ended with 137: killed" in shown(kept)
    assert ["beta", "--maps", "4", "local-numa[2x1]", "-", "-", "-", "-", "not", "run"] in lines
    assert "median of 2 to 3 runs of each, 1 warm-up run of each dropped" in shown(kept)
    assert not is_good(kept)


def test_a_single_run_says_that_it_has_no_spread(tmp_path: Path) -> None:
    kept = results(tmp_path, case("alpha", "local[2]", 0, 1.0), repeat=1, warmup=0)
    assert "one run" in shown(kept) and "--repeat 10" in shown(kept)


def streaming(events: int, kept_up: bool, **changes: Any) -> dict[str, Any]:
    return {
        "events_processed": events,
        "unsent": 0,
        "processing_ms": {"median": 100.0, "p95": 300.0},
        "scheduling_delay_ms": {"max": 20, "last": 1},
        "kept_up": kept_up,
        **changes,
    }


def test_a_stream_that_fell_behind_once_did_not_keep_up(tmp_path: Path) -> None:
    absent = {"absent": "no batch is after the ramp-up"}
    kept = results(
        tmp_path,
        case("alpha", "local[2]", 0, 1.0, streaming=streaming(5000, True)),
        case("alpha", "local[2]", 1, 1.0, streaming=streaming(4000, False, unsent=7)),
        case("alpha", "local-numa[2x1]", 0, 1.0,
             streaming=streaming(9, True, processing_ms=absent, scheduling_delay_ms=absent)),
    )  # fmt: skip
    assert "4,000       7  100 ms  300 ms  20 ms  no" in shown(kept)
    assert "none" in shown(kept), "a figure that was not measured is none, never zero"


def test_the_worked_example_is_what_its_own_cases_give(tmp_path: Path) -> None:
    example = json.loads((ROOT / "fixtures" / "documents" / "bench-result.json").read_text())
    kept = Results(tmp_path, typed(example["series"], SeriesHead))
    kept.trials = [typed(trial, Trial) for trial in example["cases"]]
    assert to_json(bench_result(kept)) == example


def test_masters_are_separated_by_commas_outside_brackets() -> None:
    assert split_masters("local[2,3], local-numa[2x1],local-cluster[2,1,1024]") == [
        "local[2,3]",
        "local-numa[2x1]",
        "local-cluster[2,1,1024]",
    ]


@pytest.mark.parametrize("text", ["", "local[2],", "local[2],,yarn", "local[2],local[2]", "lokal"])
def test_masters_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"^--master"):
        split_masters(text)


@pytest.mark.parametrize(
    "master",
    ["local", "local[*]", "local[4]", "local[*,2]", "local-numa", "local-numa[4]",
     "local-numa[2x3]", "spark://host:7077", "yarn", "k8s://https://host"],
)  # fmt: skip
def test_every_master_of_sparks_and_hearths_is_taken(master: str) -> None:
    assert check_master(master) == master


@pytest.mark.parametrize("master", ["local[x]", "local-numa[0x]", "local-numa[a]", "mesos://a", ""])
def test_an_unknown_master_is_refused(master: str) -> None:
    with pytest.raises(UserError, match="--master"):
        check_master(master)


def test_a_suite_lacking_a_job_names_it() -> None:
    assert [entry.label for entry in suite("batch", OFFER)] == ["alpha", "beta", "k-means"]
    with pytest.raises(UserError, match="'group-by' is not a job"):
        suite("osu", OFFER)
    with pytest.raises(UserError, match="no job of the suite streaming"):
        suite("streaming", OFFER)
    with pytest.raises(UserError, match="'alpa' is not a job: did you mean alpha"):
        named("beta,alpa", OFFER)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["INFO x", "workloads: --size is missing"], "--size is missing"),
        (["hearth: plan does not fit"], "plan does not fit"),
        (["Exception in thread main: A", "Caused by: B: disk is full", " at x"],
         "Caused by: B: disk is full"),
        (["java.lang.OutOfMemoryError: Java heap space", "Caused by: C"],
         "java.lang.OutOfMemoryError: Java heap space"),
        (["py4j.protocol.Py4JJavaError: An error occurred", ": a.b.IllegalStateException: small",
          "\tat a.b.C"], "a.b.IllegalStateException: small"),
        (["12:00 ERROR X: Error starting", "ValueError: no column a", "hearth: record r1"],
         "ValueError: no column a"),
        (["strange"], "strange"),
        (["strange", "hearth: record r1"], "strange"),
        ([], "there is no output"),
        (["26/11/23 17:24:30 INFO SparkContext: begun", "no input named /data/x",
          "26/11/23 17:24:30 INFO SparkContext: Successfully stopped"], "no input named /data/x"),
        (["17:24:30.123 INFO SparkContext: stopped"], "17:24:30.123 INFO SparkContext: stopped"),
    ],
)  # fmt: skip
def test_the_reason_of_a_failure_is_the_line_that_says_most(
    lines: list[str], expected: str
) -> None:
    assert reason(lines) == expected
