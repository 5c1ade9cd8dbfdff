"""What a report says of a native engine: what it ran, and what one would bring."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hearth.analysis.analysis import analyse_event_log
from hearth.analysis.document import Analysis, Stage
from hearth.analysis.eventlog import read_event_log
from hearth.analysis.native import engine_use, engine_words
from support import ROOT, says

_UI = "org.apache.spark.sql.execution.ui.SparkListenerSQL"
HASH = "HashAggregate [COMET: no buffer of Spark's]"
PYTHON = "   +-  BatchEvalPython [COMET: BatchEvalPython is not supported]"


def explained(*lines: str, ran: int, of: int) -> str:
    tree = "\n".join(["== Extended Information (Comet) ==", *lines])
    return f"{tree}\n\nComet accelerated {ran} out of {of} eligible operators (9%). Final plan.\n"


def event(name: str, query: int, description: str) -> dict[str, Any]:
    plan = {"nodeName": "Sort", "children": []}
    return {"Event": _UI + name, "executionId": query, "description": "q", "time": 1000,
            "physicalPlanDescription": description, "sparkPlanInfo": plan}  # fmt: skip


def test_comets_own_account_of_the_last_plan_of_each_query_is_added_up(tmp_path: Path) -> None:
    first = explained(HASH, PYTHON, ran=1, of=9)
    last = explained(HASH, PYTHON, ran=4, of=6)
    events = [
        event("ExecutionStart", 0, first),
        event("AdaptiveExecutionUpdate", 0, last),
        event("ExecutionStart", 1, explained(f" {HASH}", ran=12, of=14)),
        event("ExecutionStart", 2, "== Physical Plan ==\nExecute CreateViewCommand\n"),
    ]
    (tmp_path / "log").write_text(
        "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in events)
    )
    use = engine_use(read_event_log(tmp_path / "log"))
    assert use is not None
    assert (use.native, use.operators) == (16, 20)
    assert use.left == {
        "HashAggregate": "no buffer of Spark's",
        "BatchEvalPython": "BatchEvalPython is not supported",
    }
    run = replace(analysed(), engine=use)
    assert engine_words(run) == (
        "Comet ran 16 of 20 SQL operators; not HashAggregate (no buffer of Spark's), "
        "BatchEvalPython (BatchEvalPython is not supported)"
    )


def analysed() -> Analysis:
    return analyse_event_log(ROOT / "fixtures" / "eventlogs" / "skew.jsonl")


def of_parquet(name: str, version: str = "4.1.4") -> Analysis:
    """A run all of whose stages are of a query that scans in one of them."""
    run = analysed()
    assert isinstance(run.stages, list)
    first, *others = [replace(stage, sql=0) for stage in run.stages]
    stages: list[Stage] = [replace(first, operators=[name]), *others]
    return replace(run, record=replace(run.record, spark_version=version), stages=stages)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: of_parquet("Scan parquet"), True),
        (lambda: of_parquet("Scan parquet spark_catalog.default.sales"), True),
        (lambda: of_parquet("Scan csv"), False),
        (lambda: of_parquet("CometNativeScan parquet"), False),
        (lambda: of_parquet("Scan parquet", version="4.3.0"), False),
        (analysed, False),
    ],
    ids=["parquet", "table", "csv", "comet", "spark-without", "no-sql"],
)
def test_a_run_that_was_sql_over_parquet_is_told_of_an_engine_that_its_spark_can_have(
    made: Callable[[], Analysis], *, said: bool
) -> None:
    words = engine_words(made()) or ""
    assert says(words, "100% … over Parquet … of the time with Comet … --engine comet") is said
    assert bool(words) is said
