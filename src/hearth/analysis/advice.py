"""Rules about stages and physical plans, as data: what is looked for, its limit, what to do.

Each limit is our judgement of what deserves attention, unless a source is named.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from hearth.analysis.document import PlanOperator, Stage
from hearth.analysis.next_steps import FEWER_PARTITIONS, MORE_PARTITIONS, Step, plainly, turning
from hearth.base.sizes import counted

_MB, _GB = 1 << 20, 1 << 30
#: Four times what Spark reads of a file in a task (spark.sql.files.maxPartitionBytes, 128 MB).
UNSPLIT_BYTES = 512 * _MB
#: What a task reads in one partition: a core's share of memory is smaller on most machines.
LARGE_PARTITION_BYTES = 5 * _GB
#: A stage with one task is worth a word if that took so long, in milliseconds.
ONE_TASK_MS = 2000
#: So many tasks whose median is so short spend more on being scheduled than on work.
SMALL_TASKS, SMALL_TASK_MS = 500, 50
#: Files of a scan or a write: so many, of so few bytes each.
SMALL_FILES, SMALL_FILE_BYTES = 100, 3 * _MB
#: A scan of a partitioned table without a condition on its partitions is worth a word from here on.
FULL_SCAN_BYTES = _GB
#: An eighth of what Spark can broadcast at all (8 GB, BroadcastExchangeExec.scala).
BROADCAST_BYTES = _GB
#: A side of a join that Spark broadcasts by itself where it knows the size (10 MB by default).
BROADCASTABLE_BYTES, LARGER_SIDE = 10 * _MB, 10
#: One that is worth the memory of each executor beside a side of this size.
WORTH_BROADCAST_BYTES, LARGE_SIDE_BYTES = 100 * _MB, 10 * _GB
#: Rows that a join without equal keys puts out.
CROSS_ROWS = 100_000_000
#: A change of few rows that writes this many again, so many for each that it changes.
COPIED_ROWS, COPIED_PER_CHANGED = 1_000_000, 10
#: A change that replaces this share of a table's files, of so many.
REPLACED_SHARE, REPLACED_FILES = 0.6, 10
#: Characters of a filter's condition.
LONG_FILTER = 1000

Severity = Literal["warning", "note"]


@dataclass(frozen=True)
class StageRule:
    """A rule about a stage; says: what is wrong with it, given the task slots of the machine.

    when: what it looks for, as the documentation says it. gains: at most so many seconds.
    """

    id: str
    severity: Severity
    when: str
    says: Callable[[Stage, int], str | None]
    evidence: tuple[str, ...]
    steps: tuple[Step, ...]
    gains: Callable[[Stage, int], float | None] = lambda _stage, _slots: None


@dataclass(frozen=True)
class PlanRule:
    """A rule about a query's plan; problems: the operator's place, and what is wrong with it.

    when: as for stages.
    """

    id: str
    severity: Severity
    when: str
    problems: Callable[[Sequence[PlanOperator]], Iterator[tuple[int, str]]]
    steps: tuple[Step, ...]


def _unsplit(stage: Stage, _slots: int) -> str | None:
    most = stage.read_bytes.max or 0
    if stage.bytes.input < most or most < UNSPLIT_BYTES:
        return None
    return f"one task read {most / _MB:.0f} MB of input: its files cannot be split"


def _one_task(stage: Stage, slots: int) -> str | None:
    longest = stage.duration.max or 0
    if stage.tasks != 1 or slots < 2 or longest < ONE_TASK_MS or _unsplit(stage, slots):
        return None
    others = counted(slots - 1, "other slot")
    return f"a single task did all the work, {longest / 1000:.1f} s, while {others} waited"


def _if_spread(stage: Stage, slots: int) -> float:
    """Return the seconds that the longest task takes less if all slots share its work evenly."""
    return round((stage.duration.max or 0) / 1000 * (1 - 1 / slots), 2)


def _small_tasks(stage: Stage, _slots: int) -> str | None:
    median = stage.duration.p50
    if stage.tasks < SMALL_TASKS or median is None or median > SMALL_TASK_MS:
        return None
    return f"{stage.tasks} tasks take {median:.0f} ms each (median), mostly scheduling overhead"


def _large_partition(stage: Stage, _slots: int) -> str | None:
    most = stage.read_bytes.max or 0
    if most < LARGE_PARTITION_BYTES or _unsplit(stage, _slots):
        return None
    return f"one task read a partition of {most / _GB:.1f} GB, which spills or runs out of memory"


def _width(stage: Stage, _slots: int) -> str | None:
    settled = [found for found in stage.widths if found.because]
    if not settled or (last := settled[-1]).tasks == last.planned:
        return None
    return f"{last.tasks} tasks ran at once in an executor of {last.planned} slots: {last.because}"


STAGE_RULES = (
    StageRule(
        "unsplit-input", "warning",
        f"one task read {UNSPLIT_BYTES // _MB} MB of input or more: its files cannot be split",
        _unsplit, ("read_bytes/max", "bytes/input"),
        (Step("write the input in a format that can be split (Parquet, ORC, or text without gzip)"),
         Step("repartition after reading")),
        _if_spread,
    ),
    StageRule(
        "large-partition", "warning",
        f"one task read {LARGE_PARTITION_BYTES // _GB} GB or more of what stages before it wrote",
        _large_partition, ("read_bytes/max",),
        (MORE_PARTITIONS, Step("repartition before this stage"), Step("split a heavy key")),
    ),
    StageRule(
        "one-task", "warning",
        f"a single task took {ONE_TASK_MS / 1000:g} s or longer, and there are more slots",
        _one_task, ("tasks", "duration/max"),
        plainly(
            "look for a window without PARTITION BY, coalesce(1), a limit, or input in one file"
        ),
        _if_spread,
    ),
    StageRule(
        "small-tasks", "note",
        f"{SMALL_TASKS} tasks or more took {SMALL_TASK_MS} ms or less (median)",
        _small_tasks, ("tasks", "duration/p50"),
        (FEWER_PARTITIONS, Step("coalesce before this stage"), Step("read larger files")),
    ),
    StageRule(
        "width", "note",
        "another number of tasks at once than the plan's did more (`spark.hearth.width`)",
        _width, ("widths",),
        plainly("fix it where all stages are alike: --cores"),
    ),
)  # fmt: skip


def _named(plan: Sequence[PlanOperator], *names: str) -> Iterator[tuple[int, PlanOperator]]:
    for at, operator in enumerate(plan):
        if operator.name.startswith(names):
            yield at, operator


#: What counts files and their bytes: Spark's own sources, and Iceberg's scans and commits
#: (spark/source/metrics of Iceberg; of commits since February 2026).
_FILES_READ = (
    ("number of files read", "size of files read"),
    ("number of result data files", "total data file size (bytes)"),
)
_FILES_WRITTEN = (
    ("number of written files", "written output"),
    ("number of added data files", "total size of added files (bytes)"),
)


def _small_files(plan: Sequence[PlanOperator]) -> Iterator[tuple[int, str]]:
    for at, scan in _named(plan, "Scan", "BatchScan"):
        yield from _if_small(at, scan, _FILES_READ, "reads")


def _full_scan(plan: Sequence[PlanOperator]) -> Iterator[tuple[int, str]]:
    for at, scan in _named(plan, "Scan"):
        partitions = scan.metrics.get("number of partitions read", 0)
        size = scan.metrics.get("size of files read", 0)
        if scan.unpruned and partitions > 1 and size >= FULL_SCAN_BYTES:
            yield at, f"{scan.name} reads all {partitions:,.0f} partitions, {size / _GB:.1f} GB"


def _small_written(plan: Sequence[PlanOperator]) -> Iterator[tuple[int, str]]:
    for at, write in enumerate(plan):
        yield from _if_small(at, write, _FILES_WRITTEN, "writes")


def _if_small(
    at: int, operator: PlanOperator, counters: Sequence[tuple[str, str]], verb: str
) -> Iterator[tuple[int, str]]:
    for number, size in counters:
        files, size_bytes = operator.metrics.get(number), operator.metrics.get(size)
        if files is None or size_bytes is None or files < SMALL_FILES:
            continue
        if size_bytes / files < SMALL_FILE_BYTES:
            mean = size_bytes / files / _MB
            yield at, f"{operator.name} {verb} {files:,.0f} files of {mean:.2f} MB on average"


def _replaced_table(plan: Sequence[PlanOperator]) -> Iterator[tuple[int, str]]:
    """Yield tables of which a change replaces many files, by Iceberg's counts of its commit."""
    for at, write in _named(plan, "ReplaceData"):
        counted = write.metrics
        removed = counted.get("number of removed data files", 0)
        after = counted.get("number of total data files", 0)
        before = after - counted.get("number of added data files", 0) + removed
        if removed >= REPLACED_FILES and removed > REPLACED_SHARE * before:
            yield at, f"a change replaces {removed:,.0f} of the {before:,.0f} files of a table"


def _copied_rows(plan: Sequence[PlanOperator]) -> Iterator[tuple[int, str]]:
    for at, operator in enumerate(plan):
        copied, changed = _rows_copied(plan, operator)
        if copied >= COPIED_ROWS and changed and copied >= COPIED_PER_CHANGED * changed:
            yield at, f"{copied:,.0f} rows are rewritten to change {changed:,.0f}"


#: What a change does to rows: of MERGE from Spark 4.1 on (MergeRowsExec.scala), of UPDATE and
#: DELETE from 4.2 on (RowLevelWriteExec, WriteToDataSourceV2Exec.scala).
_COPIED = {
    "MergeRows": (
        "number of target rows copied unmodified because they did not match any action",
        *(f"number of target rows {what}" for what in ("inserted", "updated", "deleted")),
    ),
    "ReplaceData": (
        "number of copied rows", *(f"number of {what} rows" for what in ("updated", "deleted")),
    ),
}  # fmt: skip


def _rows_copied(plan: Sequence[PlanOperator], operator: PlanOperator) -> tuple[float, float]:
    """Return the rows that are only written again, and those that are changed; 0 if unknown."""
    counted = operator.metrics
    copied, *changed = _COPIED.get(operator.name, ("",))
    if copied in counted:
        return counted[copied], sum(counted.get(name, 0) for name in changed)
    if operator.name != "ReplaceData" or any(other.name == "MergeRows" for other in plan):
        return 0, 0
    # Before, Iceberg's commit alone: a DELETE leaves out rows of the files that it replaces; of an
    # UPDATE the number of changed rows is not known.
    added = counted.get("number of added records", 0)
    return added, max(counted.get("number of removed records", 0) - added, 0)


def _large_broadcast(plan: Sequence[PlanOperator]) -> Iterator[tuple[int, str]]:
    for at, operator in _named(plan, "BroadcastExchange"):
        size = operator.metrics.get("data size", 0)
        if size >= BROADCAST_BYTES:
            yield at, f"{size / _GB:.1f} GB are broadcast to every executor"


def _cross_join(plan: Sequence[PlanOperator]) -> Iterator[tuple[int, str]]:
    for at, operator in _named(plan, "CartesianProduct", "BroadcastNestedLoopJoin"):
        rows = operator.metrics.get("number of output rows", 0)
        if rows >= CROSS_ROWS:
            yield at, f"{operator.name} joins without equal keys and outputs {rows:,.0f} rows"


def _could_broadcast(plan: Sequence[PlanOperator]) -> Iterator[tuple[int, str]]:
    for at, join in _named(plan, "SortMergeJoin"):
        sides = _sides(plan, at)
        if len(sides) != 2 or not min(sides):
            continue
        small, large = sorted(sides)
        little = small <= BROADCASTABLE_BYTES and large >= LARGER_SIDE * small
        if little or (small <= WORTH_BROADCAST_BYTES and large >= LARGE_SIDE_BYTES):
            both = f"{small / _MB:.1f} MB with {large / _MB:.1f} MB"
            yield at, f"{join.name} shuffles and sorts both sides, {both}"


def _sides(plan: Sequence[PlanOperator], join: int) -> list[float]:
    """Return the bytes of the nearest exchange on each side of a join, where they are known."""
    sizes: list[float] = []
    open_side = True
    for operator in plan[join + 1 :]:
        if operator.depth <= plan[join].depth:
            break
        if operator.depth == plan[join].depth + 1:
            open_side = True
        size = operator.metrics.get("data size")
        if open_side and operator.name == "Exchange" and size is not None:
            sizes.append(size)
            open_side = False
    return sizes


def _long_filter(plan: Sequence[PlanOperator]) -> Iterator[tuple[int, str]]:
    for at, operator in _named(plan, "Filter"):
        if operator.length >= LONG_FILTER:
            yield at, f"a filter's condition has {operator.length:,} characters"


PLAN_RULES = (
    PlanRule(
        "small-files", "warning",
        f"a scan read {SMALL_FILES} files or more of less than {SMALL_FILE_BYTES // _MB} MB each "
        "(mean)",
        _small_files,
        plainly(
            "compact the input into files of 128 MB or more: each file costs time to list and open"
        ),
    ),
    PlanRule(
        "full-scan", "note",
        f"a scan read {FULL_SCAN_BYTES // _GB} GB or more of a partitioned table, and no filter "
        "selected partitions",
        _full_scan,
        plainly("filter on the partition columns, unless the whole table is needed"),
    ),
    PlanRule(
        "small-written-files", "note",
        f"a write left {SMALL_FILES} files or more of less than {SMALL_FILE_BYTES // _MB} MB each "
        "(mean)",
        _small_written,
        plainly(
            "repartition by the partition columns before the write, so that each writes one file"
        ),
    ),
    PlanRule(
        "copied-rows", "warning",
        f"a MERGE, UPDATE or DELETE rewrote {COPIED_ROWS:,} rows or more, and "
        f"{COPIED_PER_CHANGED} or more for each row that it changed",
        _copied_rows,
        plainly(
            "keep changes beside the data (Iceberg: merge-on-read in write.merge.mode, "
            "write.update.mode, write.delete.mode), or partition the table by what the condition "
            "names"
        ),
    ),
    PlanRule(
        "replaced-table", "note",
        f"a MERGE, UPDATE or DELETE replaced {REPLACED_FILES} files or more, and more than "
        f"{REPLACED_SHARE:.0%} of an Iceberg table",
        _replaced_table,
        plainly(
            "partition the table so that a change touches few of its files, or overwrite the table"
        ),
    ),
    PlanRule(
        "large-broadcast", "warning",
        f"{BROADCAST_BYTES // _GB} GB or more were broadcast to every executor",
        _large_broadcast,
        (turning("lower spark.sql.autoBroadcastJoinThreshold", "broadcasts", "less"),
         Step("leave out its broadcast hint")),
    ),
    PlanRule(
        "cross-join", "warning",
        f"a join without equal keys output {CROSS_ROWS:,} rows or more",
        _cross_join,
        plainly("join by equal keys, or filter both sides before the join"),
    ),
    PlanRule(
        "could-broadcast", "note",
        f"a join sorted both sides, one of {BROADCASTABLE_BYTES // _MB} MB or less, the other "
        f"{LARGER_SIDE} times as large or more; or one of {WORTH_BROADCAST_BYTES // _MB} MB or "
        f"less, the other of {LARGE_SIDE_BYTES // _GB} GB or more",
        _could_broadcast,
        (Step("broadcast the smaller side: broadcast(df)"),
         turning("raise spark.sql.autoBroadcastJoinThreshold", "broadcasts", "more")),
    ),
    PlanRule(
        "long-filter", "note",
        f"the condition of a filter has {LONG_FILTER:,} characters or more",
        _long_filter,
        plainly("join with a table of the values instead of listing them"),
    ),
)  # fmt: skip
