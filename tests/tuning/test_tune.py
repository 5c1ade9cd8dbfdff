"""`hearth tune --replay`: the tuner on tables, and what is said of a table that cannot be used."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from hearth.cli import main
from hearth.tuning.mechanism import RANGES
from hearth.tuning.methods import RandomSearch, Told, Tuner, absent_samplers
from hearth.tuning.replay import (
    Score,
    Settings,
    machine_of,
    related_to,
    replay,
    search,
    shown_rows,
    tuner,
)
from hearth.tuning.space import Cell, Machine
from hearth.tuning.surrogate import Belief, Known
from hearth.tuning.table import COLUMNS, Table, read_tables
from support import Command
from test_contract import validate

MACHINE = Machine(threads=32, cores=16, memory_gb=128)
HEAD = ",".join(COLUMNS)
CELLS = tuple(
    Cell(workers, cores, 120 / workers)
    for workers in (1, 2, 4, 8, 16, 32)
    for cores in (1, 2, 4, 8, 16, 32)
    if workers * cores <= 32
)
_NOTHING_BESIDE = dict.fromkeys(
    ("hill climbing from hearth's first", "hill climbing", "random", "tpe", "gp"), "not asked for"
)


def bowl(name: str, workers: float, cores: float) -> Table:
    """Times that know nothing of the tuner's model: the best is where it is said."""
    seconds = [
        100 * math.exp(0.15 * math.log2(one.workers / workers) ** 2
                       + 0.15 * math.log2(one.cores_per_worker / cores) ** 2)
        for one in CELLS
    ]  # fmt: skip
    return Table(name, CELLS, tuple(seconds))


def found(table: Table, related: Sequence[Table], machine: Machine = MACHINE) -> Score:
    return search(table, tuner(related, machine, Settings(0, 0, 1), RANGES, table), 0.0, 0)


def test_a_related_table_leads_to_the_best_in_few_runs() -> None:
    table, other = bowl("a", 4, 4), bowl("b", 8, 4)
    score = found(table, [other])
    assert score.evaluations[1] <= 3
    assert score.regret[2] <= 0.05
    by_chance = [search(table, RandomSearch(CELLS, seed), 0.0, seed) for seed in range(50)]
    mean = float(np.mean([one.evaluations[1] for one in by_chance]))
    assert mean > 3 * score.evaluations[1]


def test_a_related_table_that_says_the_opposite_costs_few_runs() -> None:
    table = bowl("a", 8, 2)
    opposite = Table("b", CELLS, tuple(10_000 / value for value in table.seconds))
    assert found(table, [opposite]).evaluations[0] <= 8


def test_without_a_related_table_it_is_still_sooner_than_by_chance() -> None:
    for workers, cores in ((4, 4), (8, 2), (2, 8), (4, 2)):
        table = bowl("a", workers, cores)
        by_chance = [search(table, RandomSearch(CELLS, seed), 0.0, seed) for seed in range(50)]
        mean = float(np.mean([one.evaluations[0] for one in by_chance]))
        assert found(table, []).evaluations[0] < mean, (workers, cores)


def test_a_forecast_is_surer_where_it_has_measured_and_near_it() -> None:
    belief = Belief(Known(MACHINE, CELLS))
    at = CELLS.index(Cell(4, 4, 30))
    near, far = CELLS.index(Cell(4, 8, 30)), CELLS.index(Cell(32, 1, 120 / 32))
    before, after = belief.after([], []), belief.after([at], [math.log(250.0)])
    assert math.exp(after.mean[at]) == pytest.approx(250, rel=0.01)
    assert after.deviation[at] < 0.01 < after.deviation[near] < after.deviation[far]
    assert (after.deviation < before.deviation).all()


def test_a_lucky_run_is_not_recommended_for_its_luck() -> None:
    cells = CELLS
    belief = Belief(Known(MACHINE, cells), noise=0.2)
    told = Tuner(cells, belief)
    often, lucky = cells.index(Cell(8, 4, 15)), cells.index(Cell(1, 1, 120))
    told.tell(lucky, 99.0)
    for seconds in (100.0, 101.0, 100.0, 99.5):
        told.tell(often, seconds)
    assert told.recommended() == often


class Scripted(Told):
    """Asks in the table's order."""

    def ask(self) -> int:
        return len(self.tried)


def test_evaluations_and_regret_are_counted_as_they_are_described() -> None:
    table = Table("a", CELLS[:9], (200, 150, 109, 120, 104, 100, 101, 102, 103))
    score = search(table, Scripted(table.cells), 0.0, 0)
    assert score.evaluations == (3, 5)
    assert score.regret == pytest.approx((1.0, 0.09, 0.04, 0.0))


def test_a_table_is_never_known_to_itself(tmp_path: Path) -> None:
    table, other = bowl("a", 4, 4), bowl("b", 8, 2)
    again = Table("a", table.cells[3:9], table.seconds[3:9])
    elsewhere = Table("a", table.cells, tuple(value * 1.5 for value in table.seconds))
    assert related_to(table, [table, again, other, elsewhere]) == [other, elsewhere]


def test_hidden_rows_differ_by_seed_and_the_best_is_that_of_the_rest() -> None:
    table = bowl("a", 4, 4)
    shown = [shown_rows(table, 0.3, seed) for seed in range(4)]
    assert {len(one.cells) for one in shown} == {round(0.7 * len(CELLS))}
    assert len({one.cells for one in shown}) == 4
    hidden = next(one for seed in range(99) if (one := shown_rows(table, 0.3, seed))
                  and min(one.seconds) > min(table.seconds))  # fmt: skip
    assert search(hidden, Scripted(hidden.cells), 0.0, 0).evaluations[0] <= len(hidden.cells)


def test_a_table_of_another_size_is_taken_to_be_from_another_machine() -> None:
    assert machine_of(bowl("a", 4, 4), MACHINE) is MACHINE
    large = Machine(192, 24, 1024)
    assert machine_of(bowl("a", 4, 4), large) == Machine(32, 4, 120)


def test_tables_of_another_machine_help_too() -> None:
    cells = tuple(Cell(w, c, 960 / w) for w in (6, 12, 24, 48, 96) for c in (1, 2, 4, 8))
    large = Machine(192, 24, 1024)
    there = Table("a", cells, tuple(
        100 * math.exp(0.15 * math.log2(one.workers / 12) ** 2
                       + 0.15 * math.log2(one.cores_per_worker / 2) ** 2) for one in cells
    ))  # fmt: skip
    assert found(there, [bowl("b", 8, 2)], large).evaluations[0] <= 4


@pytest.fixture(scope="module")
def published() -> Callable[[Path], list[Table]]:
    def read(shared: Path) -> list[Table]:
        files = ("table4_svm.csv", "table6_pagerank.csv")
        return [one for file in files for one in read_tables(shared / "data" / "power8" / file)]

    return read


POWER8 = Machine(threads=192, cores=24, memory_gb=1024)


@pytest.mark.parametrize(
    ("drop", "known", "ten", "five"),
    [(0.0, True, 2.0, 4.0), (0.3, True, 2.0, 4.2), (0.0, False, 3.5, 5.5)],
    ids=["others known", "30 % hidden", "no related table"],
)
def test_on_the_published_tables_it_needs_as_few_runs_as_promised(
    shared: Path,
    published: Callable[[Path], list[Table]],
    drop: float,
    known: bool,
    ten: float,
    five: float,
) -> None:
    tables = published(shared)
    settings = Settings(drop, 0.0, 8)
    scores = []
    for table in tables:
        for seed in range(4 if drop else 1):
            shown = shown_rows(table, drop, seed)
            related = related_to(table, tables) if known else []
            own = tuner(related, POWER8, settings, RANGES, shown)
            scores.append(search(shown, own, 0.0, seed))
    assert np.mean([score.evaluations[0] for score in scores]) <= ten
    assert np.mean([score.evaluations[1] for score in scores]) <= five
    if known and not drop:
        assert max(score.evaluations[0] for score in scores) <= 4
        assert np.mean([score.regret[2] for score in scores]) <= 0.025
        assert np.mean([score.regret[3] for score in scores]) <= 0.015


def test_a_sampler_that_is_not_installed_is_absent_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert set(absent_samplers()) == {"tpe", "gp"}
    document = replay(
        [bowl("a", 4, 4)], [], MACHINE, Settings(0, 0, 2), {**_NOTHING_BESIDE, **absent_samplers()}
    )
    assert set(document["mean"]) == {"hearth"}
    assert "pip install" in document["absent"]["tpe"]


def csv(file: Path, *tables: Table) -> Path:
    rows = [
        f"{one.workload},{cell.workers},{cell.cores_per_worker},{cell.slots},"
        f"{cell.memory_per_worker_gb},{seconds}"
        for one in tables
        for cell, seconds in zip(one.cells, one.seconds, strict=True)
    ]
    file.write_text("\n".join([HEAD, *rows]) + "\n")
    return file


def test_one_file_may_hold_several_workloads_and_the_document_holds_to_its_contract(
    hearth: Command, tmp_path: Path
) -> None:
    several = csv(tmp_path / "both.csv", bowl("a", 4, 4), bowl("b", 8, 2))
    prior = csv(tmp_path / "prior.csv", bowl("c", 8, 4))
    done = hearth(
        "tune", "--replay", str(several), "--prior", str(prior), "--seeds", "2", "--json",
        "--machine", "1 package, 2 nodes of 64 GB, 8 cores x 2 threads",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    validate("tune-replay", document)
    assert [one["related"] for one in document["tables"]] == [["b", "c"], ["a", "c"]]
    assert {"hearth", "random", "tpe"} <= set(document["mean"])
    assert document["machine"]["threads"] == 32


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("workload,workers\nA,1\n", "no column cores_per_worker, total_cores"),
        ("", "no column workload"),
        (f"{HEAD}\n", "no row"),
        (f"{HEAD}\nA,1,2,2,4,10\n", "A has 1 row"),
        (f"{HEAD}\nA,1,2,2,4,10\nA,1,2,2,4,11\n", "A 1x2 with 4 GB is there twice"),
        (f"{HEAD}\nA,1,2,2,4,-10\n", "seconds -10 is not above 0 and below 1e+12"),
        (f"{HEAD}\nA,1,2,2,4,nan\n", "seconds nan is not above 0 and below 1e+12"),
        (f"{HEAD}\nA,1,2,2,4\n", "seconds is empty"),
        (f"{HEAD}\nA,0,2,0,4,10\n", "workers 0 is not above 0 and below 1e+12"),
        (f"{HEAD}\nA,1,2,2,4,1e300\n", "seconds 1e300 is not above 0 and below 1e+12"),
        (f"{HEAD}\nA,1,2,2,4,ten\n", "seconds 'ten' is no number"),
        (f'{HEAD}\n"A\nB",1,2,2,4,10\n', "workload has characters that cannot be shown"),
        (f"{HEAD}\nA,1.5,2,3,4,10\n", "workers '1.5' is not a whole number"),
        (f"{HEAD}\nA,2,2,5,4,10\n", "total_cores 5 is not workers 2 x cores_per_worker 2"),
        (f"{HEAD}\n,2,2,4,4,10\n", "workload is empty"),
        (f"{HEAD}\nA,1,2,2,4,10,9\n", "the row has more values than there are columns"),
        (f"{HEAD.replace(',', ';')}\nA;1;2;2;4;10\n", "seconds separated by commas"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_with_its_line_and_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    file = tmp_path / "times.csv"
    file.write_text(text)
    assert main(["tune", "--replay", str(file), "--machine", "x"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "times.csv" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--drop", "1"], "--drop: 1.0 is not between 0 and 0.9"),
        (["--noise", "nan"], "--noise: nan is not between 0 and 1.0"),
        (["--seeds", "0"], "--seeds: 0 is not between 1"),
        (["--prior", "no.csv"], "no.csv: No such file"),
    ],
)
def test_an_option_beyond_its_limits_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    file = csv(tmp_path / "times.csv", bowl("a", 4, 4))
    assert main(["tune", "--replay", str(file), "--machine", "x", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_workload_in_two_replayed_tables_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = csv(tmp_path / "times.csv", bowl("a", 4, 4))
    assert main(["tune", "--replay", str(file), str(file), "--machine", "x"]) == 2
    assert "workload 'a' is in two tables" in capsys.readouterr().err


def test_a_table_that_does_not_fit_the_machine_is_doubted(hearth: Command, tmp_path: Path) -> None:
    file = tmp_path / "times.csv"
    file.write_text(f"{HEAD}\nA,1,8,8,4,10\nA,1,16,16,4,9\n")
    words = ("--machine", "1 node of 16 GB, 4 cores", "--seeds", "1")
    done = hearth("tune", "--replay", str(file), *words)
    assert done.returncode == 0
    assert "A has 16 task slots, --machine 4 hardware threads: is it the machine" in done.stderr


def test_an_unknown_machine_is_refused(hearth: Command, tmp_path: Path) -> None:
    file = csv(tmp_path / "times.csv", bowl("a", 4, 4))
    done = hearth("tune", "--replay", str(file), "--machine", "a cray")
    assert done.returncode == 2
    assert "a cray" in done.stderr


def test_the_tuner_computes_with_one_thread_and_what_it_tunes_does_not_inherit_that() -> None:
    program = """
import os
from hearth.commands import tune
tune._load_with_one_thread()
from threadpoolctl import threadpool_info
print({pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"},
      os.environ.get("OMP_NUM_THREADS"))
"""
    limits = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    environment = {name: value for name, value in os.environ.items() if name not in limits}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "{1} None\n"
