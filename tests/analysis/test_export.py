"""Exported tables hold what the analysis and the samples hold."""

import csv
import json
from pathlib import Path

import pytest

from hearth.analysis import export as exporting
from hearth.analysis.analysis import analyse_event_log
from hearth.analysis.export import export
from hearth.model.errors import UserError
from hearth.model.measured import known
from support import ROOT

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


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="'xls' is not a format"):
        export(analyse_event_log(LOG), None, tmp_path, "xls")
