"""Rules about stages: each on what it is for, and on what it must not speak of."""

from dataclasses import replace
from typing import Any

import pytest

from findings_page import page
from hearth.analysis.advice import STAGE_RULES
from hearth.analysis.analysis import analyse_event_log
from hearth.analysis.document import ReadBytes, StageWidth
from hearth.analysis.sqlplan import read_plan, resolved
from support import ROOT, check_golden

_MB = 1 << 20
STAGE = analyse_event_log(ROOT / "fixtures/eventlogs/skew.jsonl").stages[0]  # type: ignore[index]


def _stage(tasks: int, longest_ms: float, median_ms: float, read: int, input_bytes: int) -> Any:
    return replace(
        STAGE,
        tasks=tasks,
        duration=replace(STAGE.duration, p50=median_ms, max=longest_ms),
        read_bytes=ReadBytes(read, read),
        bytes=replace(STAGE.bytes, input=input_bytes),
    )


#: By rule: a stage in which it finds something, words of it.
_STAGES = {
    "unsplit-input": (_stage(1, 9000, 9000, 900 * _MB, 900 * _MB), "900 MB of input"),
    "large-partition": (_stage(64, 9000, 9000, 6 << 30, 0), "read a partition of 6.0 GB"),
    "one-task": (_stage(1, 9000, 9000, 900 * _MB, 0), "a single task did all the work, 9.0 s"),
    "small-tasks": (_stage(4000, 60, 12, 1000, 0), "4000 tasks take 12 ms each"),
    "width": (
        replace(
            _stage(64, 3000, 2000, 0, 0),
            widths=[StageWidth(1.0, 8, 4, None), StageWidth(2.0, 8, 4, "they wait")],
        ),
        "8 tasks ran at once in an executor of 4 slots: they wait",
    ),
}


@pytest.mark.parametrize("rule", STAGE_RULES, ids=lambda rule: rule.id)
def test_a_rule_about_stages_speaks_of_what_it_is_for_only(rule: Any) -> None:
    bad, words = _STAGES[rule.id]
    said = rule.says(bad, 8)
    assert said is not None and words in said
    assert [other.id for other in STAGE_RULES if other.says(bad, 8)] == [rule.id]
    assert rule.says(_stage(64, 3000, 2000, 128 * _MB, 64 * 128 * _MB), 8) is None


def test_one_task_on_one_slot_leaves_nothing_idle() -> None:
    (rule,) = [rule for rule in STAGE_RULES if rule.id == "one-task"]
    assert rule.says(_STAGES["one-task"][0], 1) is None


def test_parts_of_a_plan_that_are_compiled_together_are_named_by_their_operators() -> None:
    tree: dict[str, Any] = {"nodeName": "Scan parquet ", "children": []}
    for name in ("Project", "HashAggregate", "WholeStageCodegen (1)"):
        tree = {"nodeName": name, "children": [tree]}
    plan = read_plan(tree)
    assert [(node.depth, node.name) for node in plan] == [
        (0, "WholeStageCodegen (1)"), (1, "HashAggregate"), (2, "Project"), (3, "Scan parquet"),
    ]  # fmt: skip
    assert resolved(["WholeStageCodegen (1)", "Exchange"], plan) == [
        "Scan parquet", "HashAggregate", "Exchange",
    ]  # fmt: skip
    assert resolved(["WholeStageCodegen (9)"], plan) == ["WholeStageCodegen (9)"]


def test_the_page_of_the_documentation_has_every_rule() -> None:
    check_golden("findings.md", page(), ROOT / "docs")
