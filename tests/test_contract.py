"""The JSON documents at the seam hold what contract/ says of them."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from hearth.analysis.analysis import analyse_event_log
from hearth.base.codec import to_json, typed
from hearth.base.errors import UserError
from hearth.cli.commands import schema as schema_command
from hearth.cli.main import main
from hearth.machine.applications import ApplicationDocument
from hearth.machine.jvm import plans
from hearth.machine.plan import Plan, PlanRequest, RecordedBandwidth
from hearth.machine.topology import Topology
from hearth.record.schema import SustainedBandwidth
from hearth.report.terminal.plan import show_plan
from hearth.report.terminal.screen import Screen
from hearth.report.terminal.topology import show_topology
from hearth.workloads.shapes import JobResult, Manifest
from support import ROOT, Command, validate, validator

EXAMPLES = ROOT / "contract" / "examples"
NAMES = {file.stem for file in EXAMPLES.glob("*.json")}
#: The documents at the seam that Python's classes describe.
READ = sorted(NAMES & {*schema_command.DOCUMENTS})
#: What Python reads of those that the JVM alone writes.
PARTS: dict[str, Any] = {
    "bandwidth": SustainedBandwidth,
    "dataset": Manifest,
    "run": ApplicationDocument,
    "workload-result": JobResult,
}
BIG = "2 packages, 4 nodes of 128 GB, 6 cores x 8 threads"


@pytest.mark.parametrize("name", [*READ, "binding"])
def test_a_schema_accepts_its_worked_example(name: str) -> None:
    Draft202012Validator.check_schema(validator(name).schema)
    document = json.loads((EXAMPLES / f"{name}.json").read_text())
    validate(name, document)
    assert re.fullmatch(rf"hearth/{name}/[1-9]", document["schema"])


@pytest.mark.parametrize("machine", [[], ["--machine", BIG]])
def test_the_topology_document_holds_to_its_contract(hearth: Command, machine: list[str]) -> None:
    validate("topology", json.loads(hearth("topology", "--json", *machine).stdout))


@pytest.mark.parametrize(
    "machine",
    ["", BIG, "1 node of 16 GB, 4 cores", "1 node of 64 GB, 8 cores, 1 memory-only node of 9 GB"],
)
def test_the_plan_document_holds_to_its_contract(hearth: Command, machine: str) -> None:
    words = ["--machine", machine] if machine else []
    validate("plan", json.loads(hearth("plan", "--json", *words).stdout))


def test_schema_refuses_a_plan_with_an_executor_without_memory() -> None:
    plan = json.loads((EXAMPLES / "plan.json").read_text())
    del plan["executors"][0]["heap_mb"]
    with pytest.raises(ValidationError, match="heap_mb"):
        validate("plan", plan)


@pytest.mark.parametrize("log", sorted((ROOT / "fixtures" / "eventlogs").glob("*.jsonl")))
def test_the_analysis_of_an_event_log_holds_to_its_contract(log: Path) -> None:
    validate("analysis", json.loads(json.dumps(to_json(analyse_event_log(log)))))


def test_the_planner_reads_every_field_of_a_request() -> None:
    fixed = PlanRequest(BIG, executors=2, cores=3, memory="4g", occupied="0-3,8")
    run = RecordedBandwidth(2.5, 40.0)
    full = replace(fixed, input="200g", workload="sql", conf={"spark.a": "b"}, bandwidth=run)
    made = plans([{**request.document(), "with_topology": True} for request in (full, fixed)])
    assert [plan.master for plan in made if isinstance(plan, Plan)] == ["local-numa[2x3]"] * 2


def test_a_capture_of_this_machine_is_planned_for_like_this_machine(
    hearth: Command, tmp_path: Path
) -> None:
    file = tmp_path / "here.tar.gz"
    assert hearth("topology", "--capture", str(file)).returncode == 0
    here = json.loads(hearth("topology", "--json").stdout)
    captured = json.loads(hearth("topology", "--json", "--machine", str(file)).stdout)
    for key in ("cpus", "packages", "caches", "cores"):
        assert captured[key] == here[key]
    assert hearth("plan", "--machine", str(file)).returncode == 0


def test_every_shared_capture_is_shown_and_planned_for(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    captures = sorted((shared / "data" / "machines").glob("*.tar.*"))
    assert captures
    requests = [PlanRequest(str(capture)).document() for capture in captures]
    made = plans([{**request, "with_topology": True} for request in requests])
    for number, (capture, plan) in enumerate(zip(captures, made, strict=True)):
        assert not isinstance(plan, UserError), f"{capture.name}: {plan}"
        monkeypatch.setenv("COLUMNS", ("60", "200")[number % 2])
        machine = typed(plan.topology, Topology)
        shown = show_topology(machine, Screen.of())
        assert "allowed to this process" in "\n".join(shown), capture.name
        assert show_plan(plan, machine, Screen.of()), capture.name


@pytest.mark.parametrize("name", READ)
def test_a_worked_example_is_read_and_written_again(name: str) -> None:
    example = json.loads((EXAMPLES / f"{name}.json").read_text())
    validate(name, to_json(typed(example, schema_command.DOCUMENTS[name])))


@pytest.mark.parametrize("name", PARTS)
def test_a_worked_example_of_the_jvms_is_read_without_loss(name: str) -> None:
    example = json.loads((EXAMPLES / f"{name}.json").read_text())
    assert to_json(typed(example, PARTS[name])) == example


def test_a_plan_that_is_handed_on_loses_nothing() -> None:
    example = json.loads((EXAMPLES / "plan.json").read_text())
    assert to_json(typed(example, Plan)) == example


def test_every_document_that_a_command_prints_has_a_schema_that_can_be_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["schema"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == [*schema_command.DOCUMENTS]
    for name in listed:
        assert main(["schema", name]) == 0
        Draft202012Validator.check_schema(json.loads(capsys.readouterr().out))
