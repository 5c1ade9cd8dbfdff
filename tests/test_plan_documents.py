"""Plans and plan requests that the project keeps are what their schemas describe."""

import json
from pathlib import Path

import jsonschema
import pytest

from hearth.base.codec import typed
from hearth.machine.plan import Plan
from hearth.report.terminal.plan import partitions
from hearth.report.terminal.screen import Screen
from support import ROOT, validate

GOLDEN = sorted((ROOT / "fixtures" / "plans").glob("*.json"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_agreed_plan_is_what_its_schema_describes(path: Path) -> None:
    validate("plan", json.loads(path.read_text()))


def test_schema_refuses_a_plan_with_an_executor_without_memory() -> None:
    plan = json.loads((ROOT / "contract" / "examples" / "plan.json").read_text())
    del plan["executors"][0]["heap_mb"]
    with pytest.raises(jsonschema.ValidationError, match="heap_mb"):
        validate("plan", plan)


def test_the_collector_that_a_user_chose_is_shown_though_no_flag_of_the_plan_says_it() -> None:
    plan = json.loads((ROOT / "contract" / "examples" / "plan.json").read_text())
    for executor in plan["executors"]:
        executor["java_options"] = ["-XX:ParallelGCThreads=6"]
    because = {"because": "set in extraJavaOptions", "source": "user"}
    plan["reasons"] = [{"decision": "collector", "value": "ZGC", **because}]
    lines = "\n".join(partitions(typed(plan, Plan), Screen.of()))
    assert lines.count("Z x6") == 2  # rows: executors that are alike share one
