"""A disk that is full, or a directory that cannot be written: the application does not notice."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hearth.analysis.analysis import analyse
from hearth.base.errors import UserError
from hearth.machine.paths import spark_home
from hearth.record.schema import Launched
from hearth.record.store import RecordWriter, list_records, new_directory, read_record
from hearth.spark.run_files import write_plan
from hearth.studies.compare.result import ComparisonSettings
from hearth.studies.compare.study import Comparison
from hearth.studies.engine.arms import Arm
from hearth.studies.engine.trial import Trial, Turn
from support import Command, command, confs, driver_settings, environment, json_lines, require

#: Fills the disk with hearth's state, works on, and ends with a code of its own.
APPLICATION = """
import os, sys
from pathlib import Path
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
try:
    Path(os.environ["HEARTH_STATE"], "fill").write_bytes(bytes(1 << 20))
except OSError as full:
    print(full.strerror, flush=True)
print("rows", spark.range(0, 20000, 1, 4).selectExpr("id % 7 as k").groupBy("k").count().count())
spark.stop()
sys.exit(7)
"""


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of 300 KB."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "none", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        require("root", "a disk cannot be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def fill(place: Path) -> Path:
    """Leaves no room on a disk; the file that does so."""
    file = place / "fill"
    with pytest.raises(OSError, match="No space left"):
        file.write_bytes(bytes(1 << 20))
    return file


@pytest.mark.spark
def test_a_profile_whose_disk_fills_ends_with_the_applications_code_and_a_readable_record(
    tmp_path: Path, small: Path
) -> None:
    (tmp_path / "job.py").write_text(APPLICATION)
    words = ["--master", "local[2]", "--conf", "spark.ui.enabled=false"]
    words += [*confs(driver_settings(spark_home(), None)), str(tmp_path / "job.py")]
    done = subprocess.run(
        command("profile", *words), env=environment(small, PYSPARK_PYTHON=sys.executable),
        cwd=tmp_path, text=True, capture_output=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 7, done.stderr[-2000:]
    assert done.stdout.split("\n")[:2] == ["No space left on device", "rows 7"]
    assert done.stderr.count("hearth: the record is incomplete: ") == 1
    (record,), problems = list_records(small)
    assert problems == []
    assert (record.state, record.end and record.end.exit_code) == ("failed", 7)
    analysis = analyse(record.directory)
    warnings = [warning.what for warning in analysis.warnings]
    assert any("parts of the record could not be written" in warning for warning in warnings)


def test_of_a_record_on_a_full_disk_the_end_is_kept_and_what_is_lost_is_said(small: Path) -> None:
    writer = RecordWriter.create(new_directory(small, "job"), "job", Launched(master="local[2]"))
    for number in range(100):
        writer.append("samples/process.jsonl", {"number": number})
    fill(small)
    while not writer.lost:
        writer.append("samples/process.jsonl", {"number": -1})
    writer.append("samples/system.jsonl", {"number": -1})
    writer.finish("finished", 0, 3.0)
    record = read_record(writer.directory)
    assert (record.state, record.wall_s) == ("finished", 3.0)
    rows = json_lines(writer.directory / "samples" / "process.jsonl")
    assert [row["number"] for row in rows[:100]] == list(range(100))
    (warning,) = json_lines(writer.directory / "warnings.jsonl")
    assert "could not be written: No space left on device" in warning["what"]
    assert analyse(writer.directory).record.state == "finished"
    assert not list(small.rglob("*.analysis.*"))


def test_rows_after_one_that_did_not_fit_are_whole(small: Path) -> None:
    writer = RecordWriter.create(new_directory(small, "job"), "job", Launched(master="local[2]"))
    full = fill(small)
    while not writer.lost:  # the last one fits in part
        writer.append("samples/process.jsonl", {"pad": "x" * 300})
    full.unlink()
    writer.append("samples/process.jsonl", {"after": 1})
    rows = json_lines(writer.directory / "samples" / "process.jsonl")
    assert rows[-1]["after"] == 1


def test_a_record_is_not_begun_where_its_end_would_not_fit(small: Path) -> None:
    os.truncate(fill(small), 270 << 10)
    with pytest.raises(UserError, match=r"the record cannot be written .* No space left"):
        RecordWriter.create(new_directory(small, "job"), "job", Launched(master="local[2]"))


def test_runs_of_a_comparison_count_that_a_full_disk_does_not_take(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ComparisonSettings(warmup=0, seed=1)
    kept = Comparison.begin(small, "job", [Arm("native"), Arm("bound")], settings)
    run = Trial(Turn("job", "native", 0), seconds=1.0, plan="x" * 300)
    full = fill(small)
    for _ in range(20):
        kept.keep(run)
    assert "could not take this result: No space left on device" in capsys.readouterr().err
    full.unlink()
    kept.keep(replace(run, turn=Turn("job", "bound", 0)))
    assert len(kept.trials) == 21
    again = Comparison.read(kept.directory).trials
    assert again[-1].arm == "bound"
    assert capsys.readouterr().err == ""
    fill(small)
    with pytest.raises(UserError, match=r"cannot be written: No space left .* HEARTH_STATE"):
        Comparison.begin(small, "x" * 99, [Arm("native")], replace(settings, timed="x" * 9000))


def test_a_plan_that_the_state_directory_does_not_take_lies_in_a_private_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    file = write_plan({"a": 1}, Path("/proc/hearth"))
    assert json.loads(file.read_text())["a"] == 1
    assert file.is_relative_to(tmp_path)
    assert file.parent.stat().st_mode & 0o777 == 0o700
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "cannot write the plan to '/proc/hearth/plans'" in said
    os.utime(file.parent, (1, 1))
    write_plan({"a": 2}, Path("/proc/hearth"))
    assert not file.exists()
    monkeypatch.setattr("tempfile.tempdir", "/proc/none")
    with pytest.raises(UserError, match="nor to '/proc/none'"):
        write_plan({"a": 1}, Path("/proc/hearth"))


def test_commands_work_without_a_place_for_state_or_cache(hearth: Command, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    nowhere = {"HEARTH_STATE": "/proc/hearth", "XDG_CACHE_HOME": "/proc/hearth"}
    nowhere["TMPDIR"] = str(tmp_path / "tmp")
    for words in (["runs"], ["status", "--all"], ["lab", "run", "--list"], ["topology"]):
        done = hearth(*words, environment=nowhere)
        assert done.returncode == 0, (words, done.stderr)
    (tmp_path / "job.py").touch()
    fixed = ["--executors", "1", "--cores", "1", "--memory", "600m"]
    done = hearth("submit", "--dry-run", *fixed, "job.py", environment=nowhere)
    assert done.returncode == 0, done.stderr
    assert f"spark.hearth.plan={tmp_path}/tmp/hearth-run-" in done.stdout
    refused = hearth("profile", "--master", "local[2]", "job.py", environment=nowhere)
    assert refused.returncode == 2
    assert "the record cannot be written to '/proc/hearth/records'" in refused.stderr


def test_an_output_that_takes_no_more_is_one_line(hearth: Command) -> None:
    with Path("/dev/full").open("w") as full:
        done = hearth("runs", stdout=full, capture_output=False, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr.startswith("hearth: No space left on device: free space")
    assert done.stderr.count("\n") == 1
