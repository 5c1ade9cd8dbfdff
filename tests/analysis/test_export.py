"""Exported tables hold what the analysis and the samples hold."""

import csv
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hearth.analysis import export as exporting
from hearth.analysis.analysis import analyse_event_log
from hearth.analysis.export import export
from hearth.base.absent import known
from hearth.base.errors import UserError
from support import ROOT, eventually

LOG = ROOT / "fixtures" / "eventlogs" / "skew.jsonl"


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_tasks_stages_and_samples_come_out_whole(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "BATCH_ROWS", 7)
    samples = tmp_path / "record" / "samples"
    samples.mkdir(parents=True)
    rows = [{"t": i / 2, "pid": 1, "nodes": {"0": {"anon_kb": i}}} for i in range(20)]
    rows[15]["late"] = "x"
    (samples / "memory.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    analysis = analyse_event_log(LOG)
    files = export(analysis, tmp_path / "record", tmp_path / "out", form)
    assert {file.name.partition(".")[0] for file in files} == {
        "tasks", "stages", "executors", "samples-memory"
    }  # fmt: skip
    tables = {file.name.partition(".")[0]: read(file) for file in files}
    assert [int(row["task"]) for row in tables["tasks"]] == known([analysis.tasks_sample])[0].task
    assert {row["executor"] for row in tables["tasks"]} == {"driver"}
    runs = [stage.time.run for stage in known([analysis.stages])[0]]
    assert [int(row["time.run"]) for row in tables["stages"]] == runs
    memory = tables["samples-memory"]
    assert [int(row["nodes.0.anon_kb"]) for row in memory] == list(range(20))
    assert json.loads(memory[15]["more"]) == {"late": "x"}


def read(file: Path) -> list[dict[str, object]]:
    """The rows of an exported table."""
    if file.suffix == ".csv":
        with file.open(newline="") as text:
            return list(csv.DictReader(text))
    import pyarrow.parquet

    return pyarrow.parquet.read_table(file).to_pylist()


_SLOW = """
import sys, time
from pathlib import Path
from hearth.analysis import export
def rows(_):
    yield {"task": 1}
    yield {"task": 2}
    print("half", flush=True)
    time.sleep(600)
export.BATCH_ROWS, export._task_rows = 1, rows
from hearth.analysis.analysis import analyse_event_log
export.export(analyse_event_log(Path(sys.argv[1])), None, Path(sys.argv[2]))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_an_export_that_is_ended_leaves_no_part_of_a_table(
    tmp_path: Path, number: signal.Signals
) -> None:
    out = tmp_path / "out"
    words = ["env", "--default-signal=INT", sys.executable, "-c", _SLOW, str(LOG), str(out)]
    pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(words, stdout=pipe, stderr=quiet, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        assert [*out.glob("**/tasks.parquet")]
        process.send_signal(number)
    eventually("nothing is left", lambda: not [*out.iterdir()])


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="'xls' is not a format"):
        export(analyse_event_log(LOG), None, tmp_path, "xls")
