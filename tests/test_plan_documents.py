"""Plans and plan requests that the project keeps are what their schemas describe."""

import json
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = sorted((ROOT / "fixtures" / "plans").glob("*.json"))


def validator(name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads((ROOT / "contract" / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("name", ["plan", "plan-request"])
def test_worked_example_is_what_its_schema_describes(name: str) -> None:
    validator(name).validate(
        json.loads((ROOT / "contract" / "examples" / f"{name}.json").read_text())
    )


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_agreed_plan_is_what_its_schema_describes(path: Path) -> None:
    validator("plan").validate(json.loads(path.read_text()))


def test_schema_refuses_a_plan_with_an_executor_without_memory() -> None:
    plan = json.loads((ROOT / "contract" / "examples" / "plan.json").read_text())
    del plan["executors"][0]["heap_mb"]
    with pytest.raises(jsonschema.ValidationError, match="heap_mb"):
        validator("plan").validate(plan)
