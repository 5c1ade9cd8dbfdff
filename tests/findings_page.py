"""docs/findings.md, from the rules themselves."""

from hearth.analysis.advice import PLAN_RULES, STAGE_RULES
from hearth.analysis.findings import SKEW, SKEWED_JOIN
from hearth.analysis.next_steps import in_words
from support import filled

_HEAD = """# Findings about stages and plans

`hearth profile`, `hearth report` and `hearth runs show` say what of a run cost time. Beside what
the samples show (time without a task, garbage collection, remote memory, waiting, idle slots:
[profiling](profiling.md)) they apply these rules to its stages and to the physical plans of its
queries. Where two of them would turn a setting both ways, the one with less to gain leaves that
step out. A rule about a plan needs the event log of a query that ended; Iceberg counts its commits
there since February 2026, Spark the rows that a MERGE copies from 4.1 on, and an UPDATE or a DELETE
from 4.2 on. Each finding names its stage or query, and the place in the document (`--json`) that it
rests on. The limits are our judgement, unless [advice.py](../src/hearth/analysis/advice.py) names a
source.
"""

#: DataFlint's alerts, by its own names, as it had them in May 2026, and what finds the same here.
_ALERTS = (
    ("partitionSkew", "`skew-N`, with its cause"),
    ("smallTasks", "`small-tasks`"),
    ("maxPartitionToBig", "`large-partition`, `unsplit-input`: by what a task reads; what one "
     "writes is not kept by task"),
    ("idleCoresTooHigh", "`idle-slots`; of the machine: `idle-machine`"),
    ("executorMemoryTooHigh", "`gc-share` and `spill`: a full heap costs time only where it is "
     "collected or spilled"),
    ("executorMemoryTooLow", "`memory-unused-N`"),
    ("driverMemoryTooHigh", "not here: a log has the driver's heap only with "
     "`spark.eventLog.logStageExecutorMetrics`"),
    ("readSmallFiles", "`small-files`, of Iceberg too"),
    ("writeSmallFilesPartitioned, writeSmallUnpartitionedFiles, writeSmallFiles (Iceberg)",
     "`small-written-files`"),
    ("inefficientIcebergReplaceTable", "`copied-rows`, by the rows that Spark counts"),
    ("replacedMostOfIcebergTable", "`replaced-table`"),
    ("fullScanPartitionedTable", "`full-scan`, of each file source"),
    ("fullScanLiquidClusteringTable, fullScanZIndexTable", "not here: a log does not name "
     "Delta's columns of clusters"),
    ("largeBroadcast", "`large-broadcast`"),
    ("broadcastSmallTable", "`could-broadcast`"),
    ("largeCrossJoinScan", "`cross-join`, by the rows that come out; only DataFlint's plugin "
     "counts what is compared"),
    ("longFilterCondition", "`long-filter`"),
)  # fmt: skip
_DATAFLINT = """
## DataFlint's alerts

What [DataFlint](https://github.com/dataflint/spark) warns of (May 2026), and what says the same
here.

| DataFlint | here |
|---|---|
"""


def page() -> str:
    """Return the text of the page."""
    join = (
        f"the longest task of a stage with a join took {SKEW:g} times the median or longer, and "
        "read more data"
    )
    return "".join([
        _HEAD, "\n## Stages\n\n", *(_item(r.id, r.when, in_words(r.steps)) for r in STAGE_RULES),
        _item("skew-N", join, in_words(SKEWED_JOIN)),
        "\n## Plans of queries\n\n", *(_item(r.id, r.when, in_words(r.steps)) for r in PLAN_RULES),
        _DATAFLINT, *(f"| {theirs} | {here} |\n" for theirs, here in _ALERTS),
    ])  # fmt: skip


def _item(name: str, when: str, next_step: str) -> str:
    return filled(f"- **`{name}`**: {when}. *What to do*: {next_step}.", "  ") + "\n"
