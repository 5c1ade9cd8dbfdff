"""`hearth lab predict`: a run's time under other partitionings."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from placement_prediction import bound, read_speedups

from hearth.analysis.analysis import analyse_event_log
from hearth.base.errors import UserError
from hearth.cli.main import main
from hearth.studies.models.binding import PUBLISHED as BOUND
from hearth.studies.models.binding import BindingGain, Nodes, change, cost
from hearth.studies.models.placement import RecordedBinding, placed, ran
from hearth.studies.models.scaling import PUBLISHED, Steps
from hearth.studies.models.schedule_simulation import (
    MODEL_ERROR,
    Move,
    RecordedWork,
    StageWork,
    part,
    predict,
    prediction_warnings,
    scheduled,
    work_of,
)
from hearth.studies.models.space import Cell, MachineSize
from support import ROOT, Command, validate

LOGS = ROOT / "fixtures" / "eventlogs"
EIGHT = ["--from", str(LOGS / "skew.jsonl"), "--machine", "1 node of 64 GB, 8 cores"]
MACHINE = MachineSize(threads=16, cores=16, memory_gb=64)


def stage(*tasks: float, after: tuple[int, ...] = (), lag: float = 0.0) -> StageWork:
    return StageWork(0, tasks, after, lag, collecting=0.0, waiting=0.0)


def test_tasks_run_in_waves_and_the_last_wave_may_be_short() -> None:
    nine = [stage(*[10.0] * 9)]
    assert [scheduled(nine, slots) for slots in (1, 3, 8, 9, 16)] == [90, 30, 20, 10, 10]


def test_a_task_that_is_far_longer_than_others_is_not_shortened_by_slots() -> None:
    skewed = [stage(50.0, *[1.0] * 30)]
    assert scheduled(skewed, 16) == 50


def test_stages_wait_for_those_before_them_and_the_driver_takes_its_time() -> None:
    first, beside = stage(10.0, 10.0, lag=5.0), stage(4.0, 4.0, lag=5.0)
    last = stage(10.0, after=(0, 1), lag=3.0)
    assert scheduled([first, beside, last], 4) == 5 + 10 + 3 + 10
    assert scheduled([first, beside, last], 2) == 5 + 10 + 4 + 3 + 10, "they share the slots"


def test_the_runs_own_partitioning_is_predicted_as_it_was_measured() -> None:
    work = work_of(analyse_event_log(LOGS / "skew.jsonl"), MachineSize(2, 2, 8))
    (same,) = predict(work, MachineSize(2, 2, 8), [work.cell])
    assert same.value == pytest.approx(work.wall_s, rel=1e-6)
    assert abs(work.error_s) < 0.02 * work.wall_s
    assert same.low < same.value < same.high


def test_a_run_of_sleeping_tasks_with_one_long_one_is_foretold() -> None:
    """Thirteen tasks that sleep, one of them 2 s, eight times as long as the others."""
    work = work_of(analyse_event_log(LOGS / "skew.jsonl"), MachineSize(2, 2, 8))
    sleeping = max(range(len(work.stages)), key=lambda at: len(work.stages[at].tasks))
    alone = replace(work.stages[sleeping], after=(), lag_s=0.0)
    assert len(alone.tasks) == 13
    assert scheduled([alone], 1) >= 5.0
    assert 2.0 <= scheduled([alone], 13) <= 2.6


def test_more_slots_than_tasks_bring_nothing_and_fewer_cost() -> None:
    work = RecordedWork((stage(*[10.0] * 8, lag=2.0),), Cell(1, 8, 32), 12.0)
    cells = [Cell(1, 4, 32), Cell(1, 8, 32), Cell(2, 8, 16)]
    few, same, many = (one.value for one in predict(work, MACHINE, cells))
    assert same == pytest.approx(12)
    assert 1.5 * same < few < 2.0 * same, "half the slots, and each task has more of the machine"
    assert many >= same


def test_of_a_machine_with_a_known_limit_of_memory_counted_bandwidth_foretells_more() -> None:
    """Imagined: tasks take ten seconds each, or longer where more of them run than saturate it."""
    off: dict[bool, list[float]] = {False: [], True: []}
    for saturated in (3, 5, 8, 12, 20, 40):

        def seconds(slots: int, limit: int = saturated) -> float:
            return 2400 / min(slots, limit)

        tasks = stage(*[seconds(8) / 30] * 240)
        plain = RecordedWork((tasks,), Cell(1, 8, 32), seconds(8), other_load=0.0)
        counted = replace(plain, bandwidth=min(8 / saturated, 1.0))
        for work in (plain, counted):
            for one in predict(work, MACHINE, [Cell(1, 2, 32), Cell(1, 4, 32), Cell(1, 16, 32)]):
                off[work is counted].append(abs(math.log(one.value / seconds(one.cell.slots))))
                least = 0.0 if work is plain else 2400 / saturated
                assert one.low >= least * (1 - 1e-9), "no faster than memory"
    means = {counted: sum(each) / len(each) for counted, each in off.items()}
    assert means[True] < 0.8 * means[False], means


def test_a_run_that_collects_garbage_wants_heap() -> None:
    collecting = StageWork(0, tuple([10.0] * 8), (), 0.0, collecting=0.5, waiting=0.0)
    work = RecordedWork((collecting,), Cell(1, 8, 4), 10.0)
    less, more = (one.value for one in predict(work, MACHINE, [Cell(1, 8, 2), Cell(1, 8, 16)]))
    assert more < 0.8 * work.wall_s < work.wall_s < less


def test_what_tasks_wait_for_stays_as_it_was() -> None:
    waiting = StageWork(0, tuple([10.0] * 8), (), 0.0, collecting=0.0, waiting=1.0)
    work = RecordedWork((waiting,), Cell(1, 8, 32), 10.0)
    (found,) = predict(work, MACHINE, [Cell(16, 1, 2)])
    assert found.value == pytest.approx(10.0)
    assert found.high / found.value == pytest.approx(2.718281828 ** (1.645 * MODEL_ERROR))


def test_other_programs_during_the_run_widen_the_interval_and_are_named() -> None:
    work = RecordedWork((stage(*[10.0] * 8),), Cell(1, 8, 32), 10.0, other_load=0.0)
    busy = replace(work, other_load=0.6)
    quiet, loaded = (predict(one, MACHINE, [Cell(1, 4, 32)])[0] for one in (work, busy))
    assert loaded.value == pytest.approx(quiet.value)
    assert loaded.high / loaded.low > 1.5 * quiet.high / quiet.low
    assert prediction_warnings(work) == []
    assert "other programs used 60%" in prediction_warnings(busy)[0]


def test_an_event_log_that_hearth_never_saw_is_enough(hearth: Command) -> None:
    words = ["--machine", "1 package, 1 node of 16 GB, 8 cores"]
    done = hearth("lab", "predict", "--from", str(LOGS / "skew.jsonl"), *words, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    validate("prediction", document)
    assert document["from"]["tasks"] == 19
    values = [one["value"] for one in document["predictions"]]
    assert values == sorted(values)
    assert {one["executors"] * one["cores"] for one in document["predictions"]} <= set(range(2, 9))
    one = hearth("lab", "predict", "--from", str(LOGS / "skew.jsonl"), *words, "--executors", "2",
                 "--cores", "4", "--memory", "2g", "--json")  # fmt: skip
    (only,) = json.loads(one.stdout)["predictions"]
    assert (only["executors"], only["cores"], only["heap_gb"]) == (2, 4, 2)
    shown = hearth("lab", "predict", "--from", str(LOGS / "skew.jsonl"))
    assert "taken to be this machine" in shown.stdout


def test_a_run_that_is_not_over_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.jsonl"
    lines = (LOGS / "skew.jsonl").read_text().splitlines(keepends=True)
    cut.write_text("".join(lines[: len(lines) // 2]))
    assert main(["lab", "predict", "--from", str(cut)]) == 2
    said = capsys.readouterr().err
    assert "--from: the event log of " in said, "which run it is"
    assert "cannot be used: it is unfinished: name one that has finished" in said


def test_partitionings_whose_heaps_do_not_fit_are_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["lab", "predict", *EIGHT, "--memory", "20g", "--json"]) == 0
    predictions = json.loads(capsys.readouterr().out)["predictions"]
    assert {one["executors"] for one in predictions} == {1, 2, 3}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--from", "nowhere"], "no run 'nowhere' is recorded"),
        (["--from", "x", "--cores", "0"], "--cores: 0 is not between 1 and"),
        ([*EIGHT, "--executors", "99"], "--executors, --cores: 99 x any"),
        (
            [*EIGHT, "--executors", "4", "--memory", "20g"],
            "--memory: 4 x 20g is more than the machine's 64 GB: use at most 16.0 GB each",
        ),
        (["--from", str(LOGS / "skew.jsonl"), "--nodes", "99"], "--nodes: 99 is more than the"),
        (["--from", "x", "--nodes", "0"], "--nodes: 0 is not between 1 and"),
    ],
)
def test_what_cannot_be_predicted_is_refused_by_name(
    capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(["lab", "predict", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


FOUR = Nodes((2, 2), threads_of_node=4, threads_of_package=8)


def test_memory_on_fewer_other_nodes_costs_less() -> None:
    worth = BindingGain.of(list(BOUND.values()))

    def less(before: tuple[str, tuple[int, ...]], after: tuple[str, tuple[int, ...]]) -> float:
        moved = change(cost(*before), cost(*after), worth)  # type: ignore[arg-type]
        return moved[0]

    node, package, none = (
        less(("none", (2, 2)), (to, (2, 2))) for to in ("node", "package", "none")
    )
    assert node < package < none == 0
    assert node == pytest.approx(-worth.mean), "the published machine has as many nodes"
    assert less(("node", (2, 2)), ("none", (2, 2))) == -node
    assert less(("none", (2, 2)), ("none", (1,))) == node, "on one node all memory is local"
    assert node < less(("none", (2,)), ("node", (2,))) < 0
    assert less(("package", (1, 1)), ("node", (1, 1))) == 0, "a package of one node is that node"


def test_what_binding_was_worth_is_foretold_from_other_workloads() -> None:
    rows = bound()
    assert max(abs(row["predicted"] / row["measured"] - 1) for row in rows) < 0.13
    assert sum(row["low"] <= row["measured"] <= row["high"] for row in rows) >= 4


def test_more_nodes_are_foretold_from_other_workloads_within_the_interval(shared: Path) -> None:
    table = read_speedups(shared / "data" / "power8" / "table7_speedups.csv")
    whole = Steps.of(list(table.values()))
    assert whole.loss == pytest.approx(PUBLISHED.loss, abs=1e-3)
    assert (whole.from_one, whole.between) == pytest.approx((0.286, 0.057), abs=1e-3)
    machine, own = MachineSize(192, 24, 1024), Cell(6, 8, 64)
    for workload, times in table.items():
        steps = Steps.of([of for other, of in table.items() if other != workload])
        work = RecordedWork((stage(*[10.0] * 376),), own, 80.0, other_load=0.0)
        for nodes in (3, 4):
            move = Move(machine.share(nodes, 4), nodes / 2, steps.step(2, nodes))
            (one,) = predict(work, machine, [part(own, nodes / 2)], move)
            assert one.low <= 80.0 * times[nodes] / times[2] <= one.high, (workload, nodes)


def test_on_one_node_binding_is_absent_with_the_reason(hearth: Command) -> None:
    words = ["--from", str(LOGS / "skew.jsonl"), "--bind", "node", "--json", "--machine"]
    done = hearth("lab", "predict", *words, "1 package, 1 node of 16 GB, 8 cores")
    document = json.loads(done.stdout)
    validate("prediction", document)
    reason = "the machine has one NUMA node, so all memory is equally near"
    assert document["place"]["effect"] == {"absent": reason}
    assert any(reason in note for note in document["notes"])
    many = hearth("lab", "predict", *words, "2 packages, 4 nodes of 16 GB, 4 cores")
    document = json.loads(many.stdout)
    validate("prediction", document)
    assert document["place"]["from"] == {"binding": "none", "nodes": 4}
    effect = document["place"]["effect"]
    assert effect["low"] < effect["value"] < 1 < effect["high"]
    assert any("taken to be nothing" in note for note in document["notes"])
    assert max(one["cores"] for one in document["predictions"]) <= 4


def test_the_nodes_that_a_run_was_bound_to_are_read_from_its_executors() -> None:
    log = analyse_event_log(LOGS / "skew.jsonl")
    held = [one for one in log.executors if one.tasks]
    bound = [replace(one, nodes=[f"{at}"], policy=f"bind:{at}") for at, one in enumerate(held)]
    assert ran(replace(log, executors=bound), FOUR) == RecordedBinding("node", len(bound))
    wide = [replace(one, nodes=["0", "1"], policy="bind:0-1") for one in held]
    assert ran(replace(log, executors=wide), FOUR) == RecordedBinding("package", 2)
    loose = [replace(one, nodes=["0", "1"], policy="default") for one in held]
    assert ran(replace(log, executors=loose), FOUR) == RecordedBinding("none", 4)
    numa = replace(log, record=replace(log.record, master="local-numa[2x1]"))
    assert ran(numa, FOUR).binding == "node" and "were not seen" in (ran(numa, FOUR).note or "")
    with pytest.raises(UserError, match="from 8 to 2: how work scales was published for up to 4"):
        placed(RecordedBinding("node", 8), None, 2, MACHINE, Nodes((4, 4), 4, 16))
