"""Plans and plan requests that the project keeps are what their schemas describe."""

import json
from pathlib import Path

import jsonschema
import pytest

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
