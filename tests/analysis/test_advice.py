"""Rules about stages and plans: each on what it is for, and on what it must not speak of."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from findings_page import page
from hearth.analysis.advice import PLAN_RULES, STAGE_RULES
from hearth.analysis.analysis import analyse_event_log
from hearth.analysis.document import PlanOperator, ReadBytes, StageWidth
from hearth.analysis.sqlplan import driver_values, read_plan, resolved, stage_values
from support import ROOT, check_golden

_MB = 1 << 20
STAGE = analyse_event_log(ROOT / "fixtures/eventlogs/skew.jsonl").stages[0]  # type: ignore[index]


def op(
    name: str, depth: int = 0, length: int = 10, unpruned: bool = False, **metrics: float
) -> PlanOperator:
    named = {key.replace("_", " "): value for key, value in metrics.items()}
    return PlanOperator(depth, name, length, named, unpruned)


def scan(partitions: int, size: int, unpruned: bool = True) -> PlanOperator:
    counted = {"number_of_partitions_read": partitions, "size_of_files_read": size}
    return op("Scan parquet", unpruned=unpruned, number_of_files_read=partitions, **counted)


def join(left: float, right: float) -> list[PlanOperator]:
    return [op("SortMergeJoin"), op("Sort", 1), op("Exchange", 2, data_size=left),
            op("Sort", 1), op("Exchange", 2, data_size=right)]  # fmt: skip


#: By rule: a plan in which it finds something, words of it, and a plan in which it must not.
_PLANS: dict[str, tuple[list[PlanOperator], str, list[PlanOperator]]] = {
    "small-files": (
        [op("Scan parquet", number_of_files_read=1000, size_of_files_read=100 * _MB)],
        "Scan parquet reads 1,000 files of 0.10 MB on average",
        [op("Scan parquet", number_of_files_read=20, size_of_files_read=2 * _MB)],
    ),
    "full-scan": (
        [scan(40, 8 << 30)],
        "Scan parquet reads all 40 partitions, 8.0 GB",
        [scan(40, 8 << 30, unpruned=False), scan(1, 8 << 30), scan(40, 100 * _MB)],
    ),
    "small-written-files": (
        [op("Execute Insert", number_of_written_files=200, written_output=20 * _MB)],
        "Execute Insert writes 200 files of 0.10 MB",
        [op("Execute Insert", number_of_written_files=200, written_output=200 * 64 * _MB)],
    ),
    "copied-rows": (
        [op("ReplaceData", number_of_copied_rows=5e6, number_of_updated_rows=120)],
        "5,000,000 rows are rewritten to change 120",
        [
            op("ReplaceData", number_of_copied_rows=5e6, number_of_updated_rows=4e6),
            op("ReplaceData", number_of_copied_rows=5000, number_of_updated_rows=1),
        ],
    ),
    "replaced-table": (
        [
            op(
                "ReplaceData",
                number_of_removed_data_files=90,
                number_of_added_data_files=70,
                number_of_total_data_files=80,
            )
        ],
        "a change replaces 90 of the 100 files of a table",
        [
            op("ReplaceData", number_of_removed_data_files=9, number_of_total_data_files=100),
            op(
                "ReplaceData",
                number_of_removed_data_files=1,
                number_of_added_data_files=1,
                number_of_total_data_files=1,
            ),
            op("OverwriteByExpression", number_of_removed_data_files=90),
        ],
    ),
    "large-broadcast": (
        [op("BroadcastExchange", data_size=2 << 30)],
        "2.0 GB are broadcast to every executor",
        [op("BroadcastExchange", data_size=100 * _MB), op("Exchange", data_size=9 << 30)],
    ),
    "cross-join": (
        [op("CartesianProduct", number_of_output_rows=2e9)],
        "CartesianProduct joins without equal keys and outputs 2,000,000,000 rows",
        [op("CartesianProduct", number_of_output_rows=1000), op("SortMergeJoin")],
    ),
    "could-broadcast": (
        join(3 * _MB, 900 * _MB),
        "SortMergeJoin shuffles and sorts both sides, 3.0 MB with 900.0 MB",
        [*join(300 * _MB, 900 * _MB), *join(80 * _MB, 900 * _MB)],
    ),
    "long-filter": (
        [op("Filter", length=5000)],
        "a filter's condition has 5,000 characters",
        [op("Filter", length=300), op("Project", length=5000)],
    ),
}


@pytest.mark.parametrize("rule", PLAN_RULES, ids=lambda rule: rule.id)
def test_a_rule_about_plans_speaks_of_what_it_is_for_only(rule: Any) -> None:
    bad, words, good = _PLANS[rule.id]
    (_, said), *more = rule.problems(bad)
    assert words in said and not more
    assert not list(rule.problems(good))
    for other in PLAN_RULES:
        assert other is rule or not list(other.problems(bad)), other.id


def _of_iceberg(name: str, **metrics: int) -> dict[str, Any]:
    """A node of SparkPlanInfo, its counters known by Iceberg's or Spark's descriptions."""
    numbers = [{"name": key, "accumulatorId": at, "metricType": "sum"}
               for at, key in enumerate(metrics)]  # fmt: skip
    return {"nodeName": name, "simpleString": name, "metadata": {}, "children": [],
            "metrics": numbers}  # fmt: skip


_TARGET = "number of target rows "
_COPIED = f"{_TARGET}copied unmodified because they did not match any action"


@pytest.mark.parametrize(
    ("name", "below", "counted", "found"),
    [
        ("AppendData", None, {"number of added data files": 300,
                              "total size of added files (bytes)": 30 * _MB},
         {"small-written-files": "AppendData writes 300 files of 0.10 MB on average"}),
        ("BatchScan local.db.t", None, {"number of result data files": 500,
                                        "total data file size (bytes)": 50 * _MB},
         {"small-files": "BatchScan local.db.t reads 500 files of 0.10 MB on average"}),
        ("MergeRows", None, {_COPIED: 8_000_000, f"{_TARGET}inserted": 4,
                             f"{_TARGET}updated": 16, f"{_TARGET}deleted": 0},
         {"copied-rows": "8,000,000 rows are rewritten to change 20"}),
        ("ReplaceData", None, {"number of added records": 6_000_000,
                               "number of removed records": 6_000_100},
         {"copied-rows": "6,000,000 rows are rewritten to change 100"}),
        # An UPDATE or a MERGE that Spark does not count: how many rows it changes is not known.
        ("ReplaceData", None, {"number of added records": 6_000_000,
                               "number of removed records": 6_000_000}, {}),
        ("ReplaceData", "MergeRows", {"number of added records": 6_000_000,
                                      "number of removed records": 6_000_100}, {}),
    ],
)  # fmt: skip
def test_what_iceberg_counts_of_a_scan_or_a_commit_is_read_from_a_log(
    tmp_path: Path, name: str, below: str | None, counted: dict[str, int], found: dict[str, str]
) -> None:
    node = _of_iceberg(name, **counted)
    node["children"] = [_of_iceberg(below)] if below else []
    sql = "org.apache.spark.sql.execution.ui."
    more = [
        {"Event": f"{sql}SparkListenerSQLExecutionStart", "executionId": 77, "description": "x",
         "details": "", "physicalPlanDescription": "", "sparkPlanInfo": node, "time": 1},
        {"Event": f"{sql}SparkListenerDriverAccumUpdates", "executionId": 77,
         "accumUpdates": [[at, value] for at, value in enumerate(counted.values())]},
        {"Event": f"{sql}SparkListenerSQLExecutionEnd", "executionId": 77, "time": 2},
    ]  # fmt: skip
    log, whole = tmp_path / "log", (ROOT / "fixtures/eventlogs/skew.jsonl").read_text()
    log.write_text(whole + "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in more))
    said = {finding.id: finding.sentence for finding in analyse_event_log(log).findings}
    of_it = {key.removesuffix("-77"): said[key] for key in said if key.endswith("-77")}
    assert of_it == {key: f"In query 77 {words}." for key, words in found.items()}


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


def test_a_plan_is_read_from_the_root_down_with_what_was_counted() -> None:
    scan = {"nodeName": "Scan parquet ", "simpleString": "FileScan", "children": [],
            "metrics": [{"name": "number of files read", "accumulatorId": 7}]}  # fmt: skip
    tree: dict[str, Any] = scan
    for name in ("Project", "HashAggregate", "WholeStageCodegen (1)"):
        tree = {"nodeName": name, "simpleString": name, "metrics": [], "children": [tree]}
    plan = read_plan(tree)
    assert [(node.depth, node.name) for node in plan] == [
        (0, "WholeStageCodegen (1)"), (1, "HashAggregate"), (2, "Project"), (3, "Scan parquet"),
    ]  # fmt: skip
    assert plan[3].metrics == {"number of files read": 7}
    assert resolved(["WholeStageCodegen (1)", "Exchange"], plan) == [
        "Scan parquet", "HashAggregate", "Exchange",
    ]  # fmt: skip
    assert resolved(["WholeStageCodegen (9)"], plan) == ["WholeStageCodegen (9)"]
    assert driver_values({"accumUpdates": [[7, 1000]]}) == {7: 1000}
    with pytest.raises(ValueError, match="whole number"):
        driver_values({"accumUpdates": [[7, "many"]]})
    shown = [{"ID": 7, "Value": "12", "Metadata": "sql"}, {"ID": 8, "Value": "1"}]
    assert stage_values(shown) == {7: 12}


@pytest.mark.parametrize(
    ("conditions", "metric", "unpruned"),
    [("[]", "number of partitions read", True), ("[]", "number of files read", False),
     ("[isnotnull(day#2), (day#2 = 3)]", "number of partitions read", False)],
)  # fmt: skip
def test_a_scan_of_a_partitioned_table_without_a_condition_on_its_partitions_is_seen(
    conditions: str, metric: str, unpruned: bool
) -> None:
    scanned = {"nodeName": "Scan parquet ", "simpleString": "FileScan", "children": [],
               "metadata": {"PartitionFilters": conditions},
               "metrics": [{"name": metric, "accumulatorId": 7}]}  # fmt: skip
    assert [node.unpruned for node in read_plan(scanned)] == [unpruned]


def test_the_page_of_the_documentation_has_every_rule() -> None:
    check_golden("findings.md", page(), ROOT / "docs")
