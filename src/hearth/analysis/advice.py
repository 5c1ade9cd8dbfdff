"""Rules about stages, as data: what is looked for, its limit, what to do.

Each limit is our judgement of what deserves attention, unless a source is named.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from hearth.analysis.document import Stage
from hearth.analysis.next_steps import FEWER_PARTITIONS, MORE_PARTITIONS, Step, plainly
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
