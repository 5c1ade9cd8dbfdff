"""The JSON documents at the seam hold what contract/ says of them."""

import json
import re
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from jsonschema import Draft202012Validator

from hearth.analysis.analysis import analyse_event_log
from hearth.analysis.document import Analysis
from hearth.base.absent import Absent
from hearth.base.codec import to_json, typed
from hearth.base.errors import UserError
from hearth.machine.placement import Placement
from hearth.machine.plan import Plan
from hearth.machine.plan_request import plan_request
from hearth.machine.planner import plans
from hearth.machine.topology import Topology
from hearth.record.schema import Head
from hearth.report.terminal.plan import show_plan
from hearth.report.terminal.screen import Screen
from hearth.report.terminal.topology import show_topology
from support import ROOT, Command, validate, validator

CONTRACT = ROOT / "contract"
NAMES = sorted(file.name.removesuffix(".schema.json") for file in CONTRACT.glob("*.schema.json"))
BIG = "2 packages, 4 nodes of 128 GB, 6 cores x 8 threads"


@pytest.mark.parametrize("name", NAMES)
def test_every_schema_has_one_worked_example_that_it_accepts(name: str) -> None:
    Draft202012Validator.check_schema(validator(name).schema)
    document = json.loads((CONTRACT / "examples" / f"{name}.json").read_text())
    validate(name, document)
    assert re.fullmatch(rf"hearth/{name}/[1-9]", document["schema"])


@pytest.mark.parametrize("machine", [[], ["--machine", BIG]])
def test_the_topology_document_holds_to_its_contract(hearth: Command, machine: list[str]) -> None:
    validate("topology", json.loads(hearth("topology", "--json", *machine).stdout))


@pytest.mark.parametrize("machine", [[], ["--machine", BIG]])
def test_the_plan_document_holds_to_its_contract(hearth: Command, machine: list[str]) -> None:
    validate("plan", json.loads(hearth("plan", "--json", *machine).stdout))


@pytest.mark.parametrize("log", sorted((ROOT / "fixtures" / "eventlogs").glob("*.jsonl")))
def test_the_analysis_of_an_event_log_holds_to_its_contract(log: Path) -> None:
    validate("analysis", json.loads(json.dumps(to_json(analyse_event_log(log)))))


def test_the_plan_request_holds_to_its_contract() -> None:
    options = Namespace(executors=2, cores=3, memory="4g", input="200g", workload="sql")
    options.occupied = "0-3,8"
    validate("plan-request", plan_request(options, {"spark.a": "b"}, BIG))
    empty = Namespace(executors=None, cores=None, memory=None, input=None, workload=None)
    validate("plan-request", plan_request(empty, {}, None))


def test_a_capture_of_this_machine_is_planned_for_like_this_machine(
    hearth: Command, tmp_path: Path
) -> None:
    file = tmp_path / "here.tar.gz"
    assert hearth("gather", "--output", str(file)).returncode == 0
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
    nothing = Namespace(executors=None, cores=None, memory=None, input=None, workload=None)
    requests = [plan_request(nothing, {}, str(capture)) for capture in captures]
    made = plans([{**request, "with_topology": True} for request in requests])
    for number, (capture, plan) in enumerate(zip(captures, made, strict=True)):
        assert not isinstance(plan, UserError), f"{capture.name}: {plan}"
        monkeypatch.setenv("COLUMNS", ("60", "200")[number % 2])
        machine = typed(plan.more["topology"], Topology)
        shown = show_topology(machine, Screen.of())
        assert "allowed to this process" in "\n".join(shown), capture.name
        assert show_plan(plan, machine, Screen.of()), capture.name


def fitting(shape: Any, schema: Any, definitions: Any, place: str = "") -> Iterator[str]:
    """The places at which dataclasses and a schema name other fields."""
    schema = definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    inner = [part for part in get_args(shape) if part not in (type(None), Absent)]
    if "anyOf" in schema:
        (measured,) = [s for s in schema["anyOf"] if s.get("$ref") != "#/$defs/absent"]
        yield from fitting(inner[0], measured, definitions, place)
    elif is_dataclass(shape):
        hints = get_type_hints(shape)
        if schema.get("additionalProperties") is False:
            names = set(schema["properties"])
            if not set(hints) == names == set(schema["required"]):
                yield f"{place}: {sorted(set(hints) ^ names)}"
        for name, part in schema.get("properties", {}).items():
            if name in hints:
                yield from fitting(hints[name], part, definitions, f"{place}/{name}")
    elif get_origin(shape) is list and "items" in schema:
        yield from fitting(inner[0], schema["items"], definitions, f"{place}/0")
    elif get_origin(shape) is dict and isinstance(schema.get("additionalProperties"), dict):
        of_each = schema["additionalProperties"]
        yield from fitting(inner[-1], of_each, definitions, f"{place}/*")


def test_the_analysis_names_its_fields_as_its_contract_does() -> None:
    schema = json.loads((ROOT / "contract" / "analysis.schema.json").read_text())
    assert list(fitting(Analysis, schema, schema["$defs"])) == []
    example = json.loads((ROOT / "contract" / "examples" / "analysis.json").read_text())
    assert to_json(typed(example, Analysis)) == example


def test_a_record_is_read_by_the_names_of_its_contract() -> None:
    schema = json.loads((ROOT / "contract" / "record.schema.json").read_text())
    known = {each.name for each in fields(Head)}
    assert known <= set(schema["properties"])
    needed = {each.name for each in fields(Head) if each.default is each.default_factory}
    assert needed <= set(schema["required"])
    example = json.loads((ROOT / "contract" / "examples" / "record.json").read_text())
    assert typed(example, Head).clock.wall_ns == example["clock"]["wall_ns"]


def reading(shape: Any, schema: Any, definitions: Any, place: str = "") -> Iterator[str]:
    """Fields that a dataclass reads and a contract has not, or needs and it does not promise."""
    schema = definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    inner = [part for part in get_args(shape) if part is not type(None)]
    if is_dataclass(shape):
        hints = get_type_hints(shape)
        for each in fields(shape):
            name = each.name.removesuffix("_")
            if name == "more":
                continue
            if name not in schema["properties"]:
                yield f"{place}/{name}: it is not in the contract"
                continue
            needed = each.default is MISSING and each.default_factory is MISSING
            if needed and name not in schema["required"]:
                yield f"{place}/{name}: it may be missing"
            yield from reading(
                hints[each.name], schema["properties"][name], definitions, f"{place}/{name}"
            )
    elif get_origin(shape) is list:
        yield from reading(inner[0], schema["items"], definitions, f"{place}/0")
    elif inner and is_dataclass(inner[0]):
        yield from reading(inner[0], schema, definitions, place)


@pytest.mark.parametrize(
    ("name", "kind"), [("topology", Topology), ("plan", Plan), ("placement", Placement)]
)
def test_what_people_are_shown_is_read_by_the_names_of_its_contract(name: str, kind: Any) -> None:
    schema = json.loads((ROOT / "contract" / f"{name}.schema.json").read_text())
    assert list(reading(kind, schema, schema.get("$defs", {}))) == []
    example = json.loads((ROOT / "contract" / "examples" / f"{name}.json").read_text())
    assert typed(example, kind)


def test_a_plan_that_is_handed_on_loses_nothing() -> None:
    example = json.loads((ROOT / "contract" / "examples" / "plan.json").read_text())
    assert to_json(typed(example, Plan)) == example
