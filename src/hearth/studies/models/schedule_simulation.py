"""Simulate how long a recorded run would have taken with other executors and cores.

A list scheduling of its tasks on other slots, stage after stage as the record has them, so that
waves, skew and the time that the driver takes stay. How much longer or shorter a task takes beside
more or fewer others is the mechanism's (`performance_model.slot_work`), for each of many imagined
applications; time in garbage collection grows or shrinks with the heap for each of them. What a
task waits (for shuffle blocks, for the scheduler) stays as it was. The spread over imagined
applications, and the error that predictions were seen to have, are the interval.
"""

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hearth.analysis.document import Analysis, Stage, TasksSample
from hearth.analysis.findings import OTHER_LOAD_SHARE, other_load
from hearth.analysis.saturation import own_bandwidth_share
from hearth.base.absent import Absent, Measured
from hearth.base.errors import UserError
from hearth.base.sizes import parse_mb
from hearth.studies.models import performance_model
from hearth.studies.models.performance_model import Array, ModelEvidence
from hearth.studies.models.space import Cell, MachineSize

#: Of the logarithm of the time of a run that is predicted: what the method itself is off by, beside
#: the spread over imagined applications; and what other programs add, by their share of the CPUs.
#: Both are set by runs that were measured (docs/tuning.md).
MODEL_ERROR, LOAD_ERROR = 0.15, 0.5
#: One side of the 90 % interval of a normal value.
_REACH = 1.645
CONFIDENCE = 0.9
#: Imagined applications, and at most so many tasks scheduled in all.
_DRAWS, _MOST_SCHEDULED = 128, 2_000_000


@dataclass(frozen=True)
class StageWork:
    """One stage of a run: seconds of its tasks in launch order, and what it waits for.

    after: places of the stages that were over when it was submitted; lag_s: from the end of the
    last of them (or the start of the run) to its submission. collecting, waiting: shares of the
    tasks' time. each: how many tasks each one stands for.
    """

    id: int
    tasks: tuple[float, ...]
    after: tuple[int, ...]
    lag_s: float
    collecting: float
    waiting: float
    each: int = 1


@dataclass(frozen=True)
class RecordedWork:
    """A run: its stages, what comes after the last, and how it was partitioned.

    wall_s: as measured. tail_s: from the end of its last stage. error_s: what the scheduling of its
    own partitioning is short of what was measured. other_load: the share of the machine's CPUs that
    other programs used meanwhile; None where it was not sampled. bandwidth: of what memory sustains
    the share that was used.
    """

    stages: tuple[StageWork, ...]
    cell: Cell
    wall_s: float
    tail_s: float = 0.0
    error_s: float = 0.0
    other_load: float | None = None
    bandwidth: Measured[float] | None = None


@dataclass(frozen=True)
class Prediction:
    """Seconds of a run under a partitioning: low, expected, high."""

    cell: Cell
    low: float
    value: float
    high: float


def work_of(analysis: Analysis, machine: MachineSize) -> RecordedWork:
    """Return the work in a record or an event log; raise UserError if it does not suffice.

    The heap that is not known is taken to be the machine's memory, shared by the executors.
    """
    if isinstance(analysis.stages, Absent) or isinstance(analysis.tasks_sample, Absent):
        raise UserError("--from: it has no event log, so nothing is known of its tasks: "
                        "record the run with 'hearth profile'")  # fmt: skip
    if analysis.record.state != "finished":
        raise UserError(f"--from: it is {analysis.record.state}: name one that has finished")
    ran, end_s = _stages(analysis.stages, analysis.tasks_sample)
    if not ran:
        raise UserError("--from: none of its tasks succeeded: name another run")
    cell = _cell(analysis, machine)
    wall = analysis.record.wall_s
    stages = tuple(ran)
    error_s = end_s - scheduled(stages, cell.slots)
    load, bandwidth = other_load(analysis), own_bandwidth_share(analysis)
    return RecordedWork(stages, cell, wall, wall - end_s, error_s, load, bandwidth)


def prediction_warnings(work: RecordedWork) -> list[str]:
    """Return what makes a prediction from this run doubtful."""
    warnings = []
    if isinstance(work.bandwidth, Absent):
        warnings.append(f"how near memory was to its limit is not in it: {work.bandwidth.reason}")
    if work.other_load is None:
        warnings.append("it is not known what other programs used meanwhile")
    elif work.other_load > OTHER_LOAD_SHARE:
        warnings.append(
            f"other programs used {work.other_load:.0%} of the CPUs meanwhile, which widens the "
            "interval: record a run on a machine that does nothing else"
        )
    return warnings


def _cell(analysis: Analysis, machine: MachineSize) -> Cell:
    """Return how the run was partitioned; the driver counts where it has the only slots."""
    held = [one for one in analysis.executors if one.tasks and one.cores]
    if not held:
        raise UserError("--from: the slots of its executors are not on record: name another run")
    memory = [gb for one in held if (gb := _heap_gb(one.heap_setting)) is not None]
    share = machine.memory_gb / len(held)
    cores = round(sum(one.cores or 0 for one in held) / len(held))
    return Cell(len(held), max(cores, 1), min(memory) if memory else share)


def _heap_gb(setting: str | None) -> float | None:
    try:
        return None if setting is None else parse_mb(setting, "heap") / 1024
    except UserError:
        return None


def _stages(stages: Sequence[Stage], sample: TasksSample) -> tuple[list[StageWork], float]:
    """Return the stages that ran, in the order of their submission, and the end of the last."""
    rows: dict[tuple[int, int], list[tuple[float, float]]] = {}
    columns = (sample.stage, sample.attempt, sample.start_s, sample.end_s, sample.state)
    for stage, attempt, start, end, state in zip(*columns, strict=True):
        if state == "success":
            rows.setdefault((stage, attempt), []).append((start, end))
    ran = [one for one in stages if (one.id, one.attempt) in rows]
    spans = [_span(one, rows[one.id, one.attempt]) for one in ran]
    order = sorted(range(len(ran)), key=lambda at: spans[at])
    works: list[StageWork] = []
    for number, at in enumerate(order):
        begun = spans[at][0]
        after = tuple(p for p in range(number) if spans[order[p]][1] <= begun)
        last = max((spans[order[p]][1] for p in after), default=0.0)
        tasks = tuple(max(e - s, 0.0) for s, e in sorted(rows[ran[at].id, ran[at].attempt]))
        works.append(
            StageWork(ran[at].id, tasks, after, max(begun - last, 0.0), *_shares(ran[at]),
                      sample.stride)
        )  # fmt: skip
    return works, max((end for _, end in spans), default=0.0)


def _span(stage: Stage, rows: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return submission and completion; by its tasks where they are not on record."""
    first, last = min(s for s, _ in rows), max(e for _, e in rows)
    begun = stage.submitted_s if stage.submitted_s is not None else first
    return begun, stage.completed_s if stage.completed_s is not None else last


def _shares(stage: Stage) -> tuple[float, float]:
    """Return the shares of the tasks' time that were spent collecting, and waiting."""
    time, whole = stage.time, max(stage.time.duration, 1)
    waiting = time.scheduler_delay + time.shuffle_read_wait + time.getting_result
    collecting = min(time.gc / whole, 0.95)
    return collecting, min(waiting / whole, 1.0 - collecting)


def scheduled(
    stages: Sequence[StageWork], slots: int, factors: Mapping[int, float] | None = None
) -> float:
    """Return when the last stage ends if each task, in launch order, takes the first free slot.

    factors: how many times as long the tasks of a stage (its place) take.
    """
    free = [0.0] * slots
    ends: list[float] = []
    for number, stage in enumerate(stages):
        factor = 1.0 if factors is None else factors[number]
        ready = max((ends[p] for p in stage.after), default=0.0) + stage.lag_s
        end = ready
        for seconds in stage.tasks:
            done = max(heapq.heappop(free), ready) + seconds * factor * stage.each
            heapq.heappush(free, done)
            end = max(end, done)
        ends.append(end)
    return max(ends, default=0.0)


@dataclass(frozen=True)
class Move:
    """A move to another part of the machine: what changes besides the partitioning.

    machine: the part that the run moves to. share: how much larger that is. slower, nearer: of the
    logarithm of the tasks' time and of the run's, each with its deviation.
    """

    machine: MachineSize
    share: float = 1.0
    slower: tuple[float, float] = (0.0, 0.0)
    nearer: tuple[float, float] = (0.0, 0.0)


def predict(
    work: RecordedWork, machine: MachineSize, cells: Sequence[Cell], move: Move | None = None
) -> list[Prediction]:
    """Return the time of the run under each partitioning, on all of the machine or where it moves.

    How much slower tasks get on more of the machine is the move's; how much slower in another
    partitioning there, the mechanism's.
    """
    to = move or Move(machine)
    tasks = sum(len(stage.tasks) for stage in work.stages) * len(cells)
    draws = max(16, min(_DRAWS, 1 << (max(_MOST_SCHEDULED // max(tasks, 1), 1).bit_length() - 1)))
    drawn = performance_model.draw(draws, 1)
    used = None if isinstance(work.bandwidth, Absent) else work.bandwidth
    # As many bytes as the run moved, at all that memory sustains there.
    least_s = (used or 0.0) * work.wall_s * machine.cores / to.machine.cores
    evidence = ModelEvidence(_collecting(work), bandwidth=used)
    weights = performance_model.agreeing(drawn, machine, {work.cell: evidence})
    slot_work = performance_model.slot_work(drawn, to.machine, [part(work.cell, to.share), *cells])
    # Live data is the application's, wherever it runs.
    collected = performance_model.collecting(drawn, machine, [work.cell, *cells])
    return [
        _of_cell(work, cell, weights, slot_work[:, at] / slot_work[:, 0],
                 collected[:, at] / collected[:, 0], to, least_s)
        for at, cell in enumerate(cells, start=1)
    ]  # fmt: skip


def part(whole: Cell, share: float) -> Cell:
    """Return a share of executors; of less than one, fewer slots of it."""
    slots = max(round(whole.slots * share), 1)
    workers = min(max(round(whole.workers * share), 1), slots)
    memory = whole.workers * whole.memory_per_worker_gb * share / workers
    return Cell(workers, max(slots // workers, 1), memory)


def _collecting(work: RecordedWork) -> float:
    """Return the time collecting garbage, relative to the rest of its tasks' time."""
    whole = sum(sum(stage.tasks) * stage.each for stage in work.stages)
    gc = sum(sum(stage.tasks) * stage.each * stage.collecting for stage in work.stages)
    return gc / max(whole - gc, 1e-9)


def _of_cell(
    work: RecordedWork,
    cell: Cell,
    weights: Array,
    slower: Array,
    collected: Array,
    to: Move,
    least_s: float,
) -> Prediction:
    logs = []
    slower = slower * math.exp(to.slower[0])
    for slow, gc in zip(slower.tolist(), collected.tolist(), strict=True):
        factors = {
            number: stage.waiting
            + (1 - stage.waiting - stage.collecting) * slow
            + stage.collecting * slow * gc
            for number, stage in enumerate(work.stages)
        }
        whole = scheduled(work.stages, cell.slots, factors) + work.tail_s + work.error_s
        logs.append(math.log(max(whole, 1e-3)))
    times = np.array(logs)
    middle = float(weights @ times)
    error = math.hypot(
        MODEL_ERROR, LOAD_ERROR * (work.other_load or 0.0), to.slower[1], to.nearer[1]
    )
    spread = math.sqrt(float(weights @ (times - middle) ** 2) + error**2)
    middle += to.nearer[0]
    ends = (middle - _REACH * spread, middle, middle + _REACH * spread)
    return Prediction(cell, *(max(math.exp(one), least_s) for one in ends))
