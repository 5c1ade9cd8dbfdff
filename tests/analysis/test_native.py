"""What a report says of a native engine to a run without one."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from hearth.analysis.analysis import analyse_event_log
from hearth.analysis.document import Analysis, Stage
from hearth.analysis.native import engine_advice
from support import ROOT, says


def analysed() -> Analysis:
    return analyse_event_log(ROOT / "fixtures" / "eventlogs" / "skew.jsonl")


def of_parquet(*names: str, version: str = "4.1.4") -> Analysis:
    """A run all of whose stages are of a query that scans in one of them."""
    run = analysed()
    assert isinstance(run.stages, list)
    first, *others = [replace(stage, sql=0) for stage in run.stages]
    stages: list[Stage] = [replace(first, operators=[*names]), *others]
    return replace(run, record=replace(run.record, spark_version=version), stages=stages)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: of_parquet("Scan parquet"), True),
        (lambda: of_parquet("Scan parquet spark_catalog.default.sales"), True),
        (lambda: of_parquet("Scan csv"), False),
        (lambda: of_parquet("CometNativeScan parquet"), False),
        (lambda: of_parquet("Scan parquet", "CometExchange"), False),
        (lambda: of_parquet("Scan parquet", version="4.3.0"), False),
        (analysed, False),
    ],
    ids=["parquet", "table", "csv", "comet", "partly-comet", "spark-without", "no-sql"],
)
def test_a_run_that_was_sql_over_parquet_is_told_of_an_engine_that_its_spark_can_have(
    made: Callable[[], Analysis], *, said: bool
) -> None:
    words = engine_advice(made()) or ""
    assert says(words, "100% … over Parquet … of the time with Comet … --engine comet") is said
    assert bool(words) is said
