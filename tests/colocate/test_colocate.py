"""`hearth colocate` as a black box, on real Spark."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hearth.base.ids import parse_ids, show_ids
from hearth.machine import paths as places
from support import ROOT, command, environment, eventually, hearth, running, validate

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("two_cpus")]

APPS = ROOT / "tests" / "local_numa" / "apps"
ONCE = ("--repeat", "1", "--warmup", "0", "--arms", "split,serial")
#: Without Spark: what is run, and fails or waits, need not be a Spark application.
WAITS = """import os, time
open(f"began-{os.getpid()}", "w")
while not os.path.exists("go"):
    time.sleep(0.1)
"""
LIMIT_S = 400.0


def cpus(split: str) -> list[set[int]]:
    """Of this machine, as the two shares of a split have them."""
    from hearth.machine.jvm import topology
    from hearth.studies.colocate.partition import Units

    units = Units.of(topology())
    return [set(share) for share in units.shares([int(word) for word in split.split("-")])]


PAIR = (str(APPS / "tiny.py"), "--", str(APPS / "pause.py"), "1", "2")


@pytest.fixture(scope="module")
def colocated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], str]:
    """The state, the document and the errors of two applications on a share each."""
    state = tmp_path_factory.mktemp("colocated") / "state"
    done = hearth(state, "colocate", "--split", "1-1", *ONCE, "--json", *PAIR)
    assert done.returncode == 0, done.stderr
    return state, json.loads(done.stdout), done.stderr


def test_two_applications_ran_at_the_same_time_each_on_its_own_cpus(colocated) -> None:
    state, document, _ = colocated
    validate("colocation", document)
    assert [one["name"] for one in document["applications"]] == ["tiny.py", "pause.py"]
    (journal,) = state.glob("studies/colocate/*/trials.jsonl")
    rounds = {one["turn"]["arm"]: one for one in map(json.loads, journal.read_text().splitlines())}
    assert rounds.keys() == {"split", "serial"}
    both = sorted(rounds["split"]["runs"], key=lambda run: run["member"])
    assert max(run["start_s"] for run in both) < min(run["end_s"] for run in both)
    first, second = sorted(rounds["serial"]["runs"], key=lambda run: run["member"])
    assert first["end_s"] <= second["start_s"]
    for run, share in zip(both, cpus("1-1"), strict=True):
        kept = state / "records" / run["trial"]["record"]
        machine = json.loads((kept / "machine.json").read_text())
        assert set(parse_ids(machine["allowed"]["cpus"])) == share, "what the kernel allowed it"
        plan = json.loads((kept / "record.json").read_text())["plan"]
        assert set(parse_ids(plan["executors"][0]["cpus"])) == share
    heaps = [heap(state, run["trial"]["record"]) for run in both]
    alone = [heap(state, run["trial"]["record"]) for run in (first, second)]
    assert max(heaps) < min(alone), "memory is divided too"


def heap(state: Path, record: str) -> int:
    plan = json.loads((state / "records" / record / "record.json").read_text())["plan"]
    return sum(executor["heap_mb"] for executor in plan["executors"])


def test_it_is_listed_shown_again_and_has_nothing_left_to_run(colocated) -> None:
    state, document, _ = colocated
    listed = hearth(state, "runs")
    assert document["id"] in listed.stdout and "colocation: split, serial" in listed.stdout
    shown = hearth(state, "report", document["id"])
    assert document["sentence"].split(";")[0] in " ".join(shown.stdout.split())
    again = ("colocate", "--resume", document["id"], "--json", "--split", "1-1", *ONCE)
    resumed = hearth(state, *again, *PAIR)
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout) == document
    other = hearth(state, *again, *PAIR[:-1], "3")
    assert other.returncode == 2 and f"--resume: {document['id']} has applications" in other.stderr


def test_records_of_each_alone_predict_the_splits(colocated) -> None:
    state, _, _ = colocated
    heads = {f.parent.name: json.loads(f.read_text()) for f in state.glob("records/*/record.json")}
    alone = {head["application"]: name for name, head in heads.items() if head["arm"] == "serial"}
    runs = [word for name in ("tiny", "pause") for word in ("--from", alone[name])]
    done = hearth(state, "colocate", "--dry-run", "--json", *runs, *PAIR)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    validate("colocation", said)
    assert [one["units"] for one in said["prediction"]["splits"]][:1] == [[1, 1]]
    for one in said["prediction"]["splits"][0]["applications"]:
        slow = one["slowdown"]
        assert 0.5 < slow["low"] < slow["value"] < slow["high"] < 5
    there = ("--machine", "2 packages, 4 nodes of 64 GB, 8 cores")
    far = hearth(state, "colocate", "--dry-run", "--json", *there, *runs, *PAIR)
    splits = json.loads(far.stdout)["prediction"]["splits"]
    assert sorted(one["units"] for one in splits) == [[1, 3], [2, 2], [3, 1]]


def test_the_dry_run_lists_each_way_with_the_memory_of_the_shares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.py").write_text("")
    starts, java = tmp_path / "starts", tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f'#!/bin/sh\necho "$@" >>{starts}\nexec {places.java()} "$@"\n')
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(java.parents[1]))
    done = hearth(
        tmp_path / "state", "colocate", "--dry-run", "--split", "1-1",
        "one.py", "--", "--executors", "1", "one.py",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [line.split("hearth profile") for line in done.stdout.splitlines() if "one.py" in line]
    ways = [(*left.split()[:2], right) for left, right in rows[-8:]]
    assert [name for name, _, _ in ways] == [
        way for way in ("split", "unbound", "whole", "serial") for _ in range(2)
    ]
    first, second = (show_ids(share) for share in cpus("1-1"))
    assert [where for _, where, _ in ways[:2]] == [first, second]
    assert len({where for _, where, _ in ways[2:]}) == 1, "all CPUs"
    words = [right for _, _, right in ways]
    (heap_mb,) = {re.findall(r"--memory (\d+)m", words[0])[0], re.findall(
        r"spark.driver.memory=(\d+)m", words[2])[0]}  # fmt: skip
    assert int(heap_mb) > 300
    assert "--executors 1 --bind none --memory" in words[3] and "--bind none" in words[5]
    assert "local-numa[1x1]" in words[3] and "neighbours=ignore" in words[3]
    assert f"ActiveProcessorCount={len(cpus('1-1')[0])} " in words[2], "the share's configuration"
    assert "--memory" not in words[6] + words[7], "alone, each has all of it"
    asked = [line for line in starts.read_text().splitlines() if line.endswith("cli.Main plan")]
    assert len(asked) == 6, "one start of the JVM for each plan, whichever ways share it"


@pytest.fixture(scope="module")
def one_fails(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], str]:
    """The state, the document and the output of a colocation in which an application fails.

    That one is given a secret.
    """
    home = tmp_path_factory.mktemp("fails")
    (home / "fails.py").write_text("raise SystemExit('no input there')")
    (home / "works.py").write_text("import time; time.sleep(3)")
    secret = ("--conf", "spark.shop.password=hunter2", "fails.py", "--token", "hunter2")
    words = ("colocate", "--split", "1-1", *ONCE, "--json", *secret, "--", "works.py")
    done = subprocess.run(
        command(*words), env=environment(home / "state"), cwd=home, text=True,
        capture_output=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    return home / "state", json.loads(done.stdout), done.stdout + done.stderr


def test_one_that_fails_is_told_and_the_other_ends_in_its_own_time(one_fails) -> None:
    _, document, said = one_fails
    bad, good = document["arms"][0]["members"]
    assert len(bad["failures"]) == 1 and "ended with 1" in bad["failures"][0]
    assert (good["runs"], good["failures"], good["seconds"]) == (1, [], [])
    assert "split, run 1: failed: fails.py: ended with 1" in said
    assert "every arm failed" in document["sentence"]


def test_no_secret_of_an_application_is_shown_or_kept(one_fails) -> None:
    state, document, said = one_fails
    assert "hunter2" not in said and "fails.py" in said
    assert "*********(redacted)" in document["applications"][0]["command"]
    files = [file for file in state.rglob("*") if file.is_file()]
    assert any(file.name == "trials.jsonl" for file in files)
    assert [str(file) for file in files if b"hunter2" in file.read_bytes()] == []


def places_of(root: Path) -> dict[str, Path]:
    """Where a colocation leaves files and leases while it runs."""
    places = {name: root / name for name in ("TMPDIR", "SPARK_LOCAL_DIRS", "HEARTH_LEASES")}
    for place in places.values():
        place.mkdir()
    return places


def nothing_is_left(own: dict[str, str]) -> None:
    assert held(own) == []
    assert [*Path(own["TMPDIR"]).iterdir(), *Path(own["SPARK_LOCAL_DIRS"]).iterdir()] == []


def test_after_ctrl_c_nothing_is_left_and_it_says_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text(WAITS)
    words = ["colocate", "--split", "1-1", *ONCE, "--json", "waits.py", "--", "waits.py"]
    own = environment(tmp_path / "state", **{k: str(v) for k, v in places_of(tmp_path).items()})
    with subprocess.Popen(
        ["env", "--default-signal=INT", *command(*words)], env=own, cwd=tmp_path, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            eventually("both run", lambda: len(list(tmp_path.glob("began-*"))) == 2, LIMIT_S)
            assert len(held(own)) == 2
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=LIMIT_S)
        finally:
            process.kill()
    assert process.returncode == 130
    eventually("both have ended", lambda: not running(str(tmp_path), "waits.py"), LIMIT_S)
    nothing_is_left(own)
    assert len([one for one in said.splitlines() if "--resume" in one]) == 1


def test_killed_it_leaves_no_process_lease_or_temporary_file(tmp_path: Path) -> None:
    mark = f"pause-{os.getpid()}"
    pause = (str(APPS / "pause.py"), "600", "4", mark)
    words = ["colocate", "--split", "1-1", *ONCE, *pause, "--", *pause]
    own = environment(tmp_path / "state", **{k: str(v) for k, v in places_of(tmp_path).items()})
    with subprocess.Popen(
        command(*words), env=own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            logs = (tmp_path / "state").glob
            eventually("both run", lambda: len({*logs("records/*/eventlog/*")}) == 2, LIMIT_S)
            assert len(running(mark)) >= 2 and len(held(own)) == 2
            assert any(Path(own["SPARK_LOCAL_DIRS"]).iterdir())
            process.kill()
            process.wait(timeout=LIMIT_S)
        finally:
            process.kill()
    eventually("nothing runs any more", lambda: not running(mark), LIMIT_S)
    nothing_is_left(own)


def held(environment: dict[str, str]) -> list[dict[str, Any]]:
    """The leases in the registry of this environment."""
    words = command("status", "--leases", "--json")
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)["leases"]
    return found
