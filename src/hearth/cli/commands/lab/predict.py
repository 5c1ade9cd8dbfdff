"""Predict how long a recorded run would have taken with other executors and cores.

hearth schedules the tasks of one run (a record, or the event log of any Spark application) on the
other task slots, with their waves, skew and the driver's own time; a model says how much slower or
faster each task becomes. Without --executors and --cores, all partitionings of the machine are
listed, fastest first. Intervals are 90 %; docs/tuning.md gives the measured error.

--bind and --nodes predict another binding, or a part of the machine. The gain from binding comes
from published speedups; where it cannot be known, such as on one node, the reason is given.

examples:
  hearth lab predict --from last
  hearth lab predict --from last --executors 4 --cores 6
  hearth lab predict --from last --bind node --nodes 2
  hearth lab predict --from log.zstd --machine "2 packages, 4 nodes of 64 GB, 8 cores" --json
"""

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass

from hearth.analysis.document import Analysis
from hearth.base.absent import Absent
from hearth.base.errors import UserError
from hearth.base.progress import working
from hearth.base.sizes import parse_mb
from hearth.cli.answer import print_document
from hearth.cli.options import from_namespace, json_help
from hearth.machine import paths
from hearth.machine.jvm import topology
from hearth.machine.plan import BINDINGS
from hearth.report.terminal.predict import show_prediction, which_run
from hearth.report.terminal.screen import Screen
from hearth.report.terminal.sources import read_run
from hearth.studies.characterise.questions import steps
from hearth.studies.models.binding import Binding, Nodes, check_fits, most_cores
from hearth.studies.models.placement import Placed, placed, ran
from hearth.studies.models.prediction import (
    PredictedPartitioning,
    PredictedPartitionings,
    PredictedPlace,
    PredictedRun,
)
from hearth.studies.models.schedule_simulation import (
    CONFIDENCE,
    RecordedWork,
    predict,
    prediction_warnings,
    work_of,
)
from hearth.studies.models.space import Cell, MachineSize

_MOST = 1 << 16


@dataclass(frozen=True)
class PredictRequest:
    """What to predict for; each field is the option of that name."""

    executors: int | None
    cores: int | None
    memory: str | None
    bind: Binding | None
    nodes: int | None
    machine: str | None


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "--from", dest="run", metavar="RUN", required=True,
        help="a run's id or directory, 'last', or a Spark event log",
    )  # fmt: skip
    parser.add_argument(
        "--executors", type=int, metavar="N", help="number of executors to predict for"
    )
    parser.add_argument("--cores", type=int, metavar="N", help="task slots of each executor")
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        help="heap of each executor (default: the run's total heap, divided evenly)",
    )
    parser.add_argument(
        "--bind", choices=BINDINGS,
        help="binding to predict for (default: as in the run, where that is known)",
    )  # fmt: skip
    parser.add_argument(
        "--nodes",
        type=int,
        metavar="N",
        help="number of NUMA nodes to predict for (default: as in the run)",
    )
    parser.add_argument(
        "--machine",
        metavar="CAPTURE|SPEC",
        help="the machine of the run (default: this machine)",
    )
    parser.add_argument("--json", action="store_true", help=json_help("prediction"))


def run(options: Namespace) -> int:
    """Predict and show."""
    request = from_namespace(PredictRequest, options)
    with working("reading the run, and predicting"):
        prediction = _partitionings(options.run, request, options.debug)
    if options.json:
        print_document(prediction)
        return 0

    print("\n".join(show_prediction(prediction, Screen.of())))
    return 0


def _partitionings(source: str, request: PredictRequest, debug: bool) -> PredictedPartitionings:
    for name in ("executors", "cores", "nodes"):
        value = getattr(request, name)
        if value is not None and not 1 <= value <= _MOST:
            raise UserError(f"--{name}: {value} is not between 1 and {_MOST}: use e.g. 4")
    analysis = read_run(source, paths.state_home())
    machine, nodes, notes = _machine(request.machine, analysis, debug)
    work = _work(analysis, machine)
    moved = _placed(request, analysis, machine, nodes)
    cells = _cells(request, work, moved, nodes)
    predictions = predict(work, machine, cells, moved.move)
    rows = [
        PredictedPartitioning(
            one.cell.workers, one.cell.cores_per_worker, one.cell.memory_per_worker_gb,
            one.low, one.value, one.high,
        )
        for one in sorted(predictions, key=lambda one: one.value)
    ]  # fmt: skip
    run = PredictedRun(
        id=analysis.record.id,
        application=analysis.record.application,
        seconds=work.wall_s,
        executors=work.cell.workers,
        cores=work.cell.cores_per_worker,
        stages=len(work.stages),
        tasks=sum(len(stage.tasks) * stage.each for stage in work.stages),
        scheduling_error_s=work.error_s,
        started=analysis.record.started,
    )
    more = [*notes, *moved.notes, *prediction_warnings(work)]
    return PredictedPartitionings(run, PredictedPlace.of(moved), CONFIDENCE, rows, more)


def _work(analysis: Analysis, machine: MachineSize) -> RecordedWork:
    """Return the work of the run; raise UserError that says which run cannot be used, and why."""
    try:
        return work_of(analysis, machine)
    except UserError as error:
        run = analysis.record
        which = which_run(run.id, run.application, run.started)
        why = str(error).removeprefix("--from: ")
        raise UserError(f"--from: {which} cannot be used: {why}") from None


def _machine(
    source: str | None, analysis: Analysis, debug: bool
) -> tuple[MachineSize, Nodes, list[str]]:
    """Return the machine and the nodes of the run, and what was assumed about them."""
    if source is not None:
        named = topology(source, debug)
        return MachineSize.of(named), Nodes.of(named, allowed=False), []
    this_machine = topology(debug=debug)
    nodes, there = Nodes.of(this_machine, allowed=True), analysis.machine
    if isinstance(there, Absent):
        return MachineSize.allowed(this_machine), nodes, [
            "the run does not say where it was: taken to be this machine (--machine names another)"
        ]  # fmt: skip
    if there.cpus is not None and there.cpus != this_machine.cpus:
        raise UserError(
            f"--from: the run's machine has CPUs {there.cpus}, this one has {this_machine.cpus}: "
            "give the run's machine with --machine"
        )
    return MachineSize.allowed(this_machine), nodes, []


def _placed(
    request: PredictRequest, analysis: Analysis, machine: MachineSize, nodes: Nodes
) -> Placed:
    """Return where the run was, and where it is predicted for."""
    if request.nodes is not None and request.nodes > nodes.number:
        raise UserError(
            f"--nodes: {request.nodes} is more than the machine's {nodes.number}: use "
            "fewer, or give another machine with --machine"
        )
    return placed(ran(analysis, nodes), request.bind, request.nodes, machine, nodes)


def _cells(request: PredictRequest, work: RecordedWork, moved: Placed, nodes: Nodes) -> list[Cell]:
    machine = moved.move.machine
    heaps_gb = work.cell.workers * work.cell.memory_per_worker_gb * moved.move.share
    fixed = None if request.memory is None else parse_mb(request.memory, "--memory") / 1024
    many = steps(machine.threads) if request.executors is None else [request.executors]
    cores = steps(machine.threads) if request.cores is None else [request.cores]
    both = request.executors is not None and request.cores is not None
    if request.cores is not None and request.bind is not None:
        check_fits(request.cores, request.bind, nodes)
    widest = machine.threads if request.bind is None else most_cores(request.bind, nodes)
    cells = [
        Cell(n, c, heaps_gb / n if fixed is None else fixed)
        for n in many
        for c in cores
        if n * c <= machine.threads and c <= widest and (both or 4 * n * c >= machine.threads)
    ]
    if not cells:
        shape = f"{request.executors or 'any'} x {request.cores or 'any'}"
        raise UserError(
            f"--executors, --cores: {shape} does not use between a quarter and all of the "
            f"{machine.threads} hardware threads: use fewer or more"
        )
    return cells if request.memory is None else _fitting(cells, machine.memory_gb, request.memory)


def _fitting(cells: list[Cell], memory_gb: float, heap: str) -> list[Cell]:
    """Return the cells whose heaps, of the given size, fit into the machine's memory."""
    fitting = [cell for cell in cells if cell.workers * cell.memory_per_worker_gb <= memory_gb]
    if not fitting:
        fewest = min(cell.workers for cell in cells)
        raise UserError(
            f"--memory: {fewest} x {heap} is more than the machine's {memory_gb:.0f} GB: "
            f"use at most {memory_gb / fewest:.1f} GB each"
        )
    return fitting
