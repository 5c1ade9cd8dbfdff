"""`import hearth`: each call as a user types it, and docs/guide.md#python-api."""

import ast
import inspect
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import hearth
from analysis.made_record import make_record
from support import ROOT


def test_the_page_of_the_api_names_all_that_is_public() -> None:
    page = (ROOT / "docs" / "guide.md").read_text().partition("## Python API")[2]
    assert [name for name in hearth.__all__ if f"`{name}`" not in page] == []


def test_every_public_name_is_there_and_no_other() -> None:
    assert all(getattr(hearth, name) is not None for name in hearth.__all__)
    assert dir(hearth) == sorted(hearth.__all__)
    with pytest.raises(AttributeError, match="'hearth' has no attribute 'planner_of_mars'"):
        hearth.planner_of_mars  # noqa: B018


@pytest.mark.command
def test_this_machine_and_a_described_one_are_read() -> None:
    here = hearth.topology()
    assert here.usable_cpus and here.source == "live"
    there = hearth.topology("2 packages, 4 nodes of 128 GB, 6 cores x 8 threads")
    assert len(there.usable_cpus) == 192
    assert "<td>128 GB</td>" in there._repr_html_()


@pytest.mark.command
def test_a_plan_is_typed_and_shows_itself_in_a_notebook() -> None:
    machine = "2 packages, 4 nodes of 128 GB, 6 cores x 8 threads"
    plan = hearth.plan(input="200g", workload="sql", machine=machine, conf={"spark.a": "1"})
    assert isinstance(plan, hearth.Plan)
    assert plan.mode == "partitioned" and len(plan.executors) >= 4
    assert plan.workload.input_bytes == 200 << 30
    shown = plan._repr_html_()
    assert shown.count("<table>") == 2 and plan.executors[0].cpus in shown
    assert hearth.plan(input="200g").executors


@pytest.mark.command
def test_what_does_not_fit_is_a_user_error_with_the_value_and_the_limit() -> None:
    with pytest.raises(hearth.UserError, match=r"--executors: 70000 is too many"):
        hearth.plan(executors=70000)
    with pytest.raises(hearth.UserError, match=r"no_such_job\.py.*no such file"):
        hearth.compare("no_such_job.py")


def test_the_stages_of_the_last_run_are_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pandas = pytest.importorskip("pandas")
    monkeypatch.setenv("HEARTH_STATE", str(tmp_path))
    with pytest.raises(hearth.UserError, match="no run is recorded"):
        hearth.load_run()
    (tmp_path / "records").mkdir()
    record = tmp_path / "records" / "20261121-090000-app-0001"
    make_record(record)
    run = hearth.load_run("last")
    assert run.id == record.name and run.state == "killed" and run.wall_s is None
    with pytest.raises(hearth.UserError, match="the stages of 20261121-090000-app-0001 are not"):
        _ = run.stages
    log = sorted((ROOT / "fixtures" / "eventlogs").glob("*.jsonl"))[0]
    shutil.copy(log, record / "eventlog" / log.name)
    run = hearth.load_run(run.id)
    assert f"<caption>{run.id}: killed, -</caption>" in run._repr_html_()
    frame = run.stages.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["time.run"]) == [stage.time.run for stage in run.stages]
    assert len(run.stages) == len(run.analysis.stages) > 0
    assert "<th>time.gc</th>" in run.stages._repr_html_()
    assert [one.id for one in run.executors][-1] in list(run.executors.to_pandas()["id"])


def test_the_ratio_of_paired_times_has_an_interval() -> None:
    ratio = hearth.paired_ratio([5.0, 5.5, 5.2], [10.0, 11.2, 10.3])
    assert isinstance(ratio, hearth.Ratio)
    assert ratio.value == pytest.approx(0.5, abs=0.01)
    assert ratio.is_certain


def shown_calls() -> Iterator[tuple[str, ast.Call]]:
    """Each call of the API in a Python block of the documentation."""
    for page_of_docs in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for block in re.findall(r"^```python\n(.*?)^```", page_of_docs.read_text(), re.M | re.S):
            if block.partition("(")[0] in hearth.__all__:
                continue  # a signature
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("hearth."):
                    yield page_of_docs.name, node


@pytest.mark.parametrize(("document", "call"), list(shown_calls()))
def test_a_call_that_a_document_shows_is_one_that_the_api_takes(
    document: str, call: ast.Call
) -> None:
    function = getattr(hearth, ast.unparse(call.func).removeprefix("hearth."))
    keywords = {word.arg: ast.unparse(word.value) for word in call.keywords if word.arg}
    inspect.signature(function).bind(*map(ast.unparse, call.args), **keywords)
