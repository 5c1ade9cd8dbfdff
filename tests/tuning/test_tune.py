"""`benchmarks/replay.py`: the tuner on tables, and what is said of a table that cannot be used."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from replay import Score, Site, main, plain_search, plainly, related_to, searched
from synthetic_tables import ROUGH, opposite, rotated, rough, tables
from tables import COLUMNS, Table, read_tables

from hearth.cli.main import command_parser
from hearth.studies.models import search
from hearth.studies.models.space import Cell, Configuration, MachineSize
from hearth.studies.models.surrogate import PriorRuns, forecast

MACHINE = MachineSize(threads=32, cores=16, memory_gb=128)
HEAD = ",".join(COLUMNS)
CELLS = tuple(
    Cell(workers, cores, 120 / workers)
    for workers in (1, 2, 4, 8, 16, 32)
    for cores in (1, 2, 4, 8, 16, 32)
    if workers * cores <= 32
)
#: The plan is two doublings away from a best at 4x4.
SITE = Site(MACHINE, 8, 2)


WAYS = tuple(
    Configuration("local-numa", one.workers, one.cores_per_worker,
                  round(one.memory_per_worker_gb * 1024), "node", "") for one in CELLS
)  # fmt: skip


def bowl(name: str, workers: float, cores: float, cells: tuple[Cell, ...] = CELLS) -> Table:
    """Times that know nothing of the tuner's model: the best is where it is said."""
    seconds = [
        100 * math.exp(0.15 * math.log2(one.workers / workers) ** 2
                       + 0.15 * math.log2(one.cores_per_worker / cores) ** 2)
        for one in cells
    ]  # fmt: skip
    return Table(name, cells, tuple(seconds))


def by_chance(table: Table, at: int) -> float:
    """Mean runs of a random order to within 10 % (0) or 5 % (1)."""
    runs = [list(plain_search(table, seed % len(CELLS), seed, near=False)) for seed in range(50)]
    return float(np.mean([Score.of(table, one, one).evaluations[at] for one in runs]))


def test_a_related_table_leads_to_the_best_in_few_runs() -> None:
    table, other = bowl("a", 4, 4), bowl("b", 8, 4)
    score, alone = searched(table, [other], SITE), searched(table, [], SITE)
    assert score.evaluations[1] <= alone.evaluations[1]
    assert score.regret[2] <= 0.05
    assert by_chance(table, 1) > 2 * score.evaluations[1]


def test_without_a_related_table_it_is_still_sooner_than_by_chance() -> None:
    for workers, cores in ((4, 4), (8, 2), (2, 8), (4, 2)):
        table = bowl("a", workers, cores)
        score = searched(table, [], Site(MACHINE, 16, 2))
        assert score.evaluations[0] < by_chance(table, 0), (workers, cores)


def test_another_table_counts_once_it_predicts_what_was_measured_and_never_if_it_misleads() -> None:
    table = bowl("a", 4, 4)
    target, logs = PriorRuns(MACHINE, CELLS), np.log(table.seconds)
    alike = PriorRuns(MACHINE, CELLS, np.log(bowl("b", 4, 8).seconds))
    misleading = PriorRuns(MACHINE, CELLS, np.log(opposite(table).seconds))
    tried = [CELLS.index(Cell(n, c, 120 / n)) for n, c in ((8, 2), (2, 8), (4, 4), (16, 1))]
    for known in (alike, misleading):
        first = forecast(target, [known], tried[:1], logs[tried[:1]])
        alone = forecast(target, [], tried[:1], logs[tried[:1]])
        assert first.mean == pytest.approx(alone.mean)
    after = forecast(target, [alike, misleading], tried, logs[tried])
    assert after.used == (True, False)
    only = forecast(target, [misleading], tried, logs[tried])
    assert only.mean == pytest.approx(forecast(target, [], tried, logs[tried]).mean)


def test_misleading_tables_cost_at_most_one_run_and_two_percent_on_held_out_tables() -> None:
    """Bounds on means over tables that nothing was chosen by (synthetic_tables.py)."""
    alone, misled = [], []
    for seed in range(2000, 2012):
        there, several = tables(seed)
        site, table = Site(there.machine, *there.proposal), several[seed % 3]
        alone.append(searched(table, [], site))
        misled.append(searched(table, [opposite(table), rotated(table)], site))

    def mean(scores: list[Score], figure: Callable[[Score], float]) -> float:
        return float(np.mean([figure(one) for one in scores]))

    runs = [mean(of, lambda score: score.evaluations[1]) for of in (alone, misled)]
    assert runs[1] <= runs[0] + 1
    regret = [mean(of, lambda score: score.regret[2]) for of in (alone, misled)]
    assert regret[1] <= regret[0] + 0.02


def test_on_rough_tables_it_is_never_worse_than_a_search_of_neighbours_and_best_on_the_whole() -> (
    None
):
    """Runs to within 5 %, and regret after eight, of 16 tables that nothing was chosen by.

    Not worse: the mean difference is within its standard error.
    """
    means = []
    for kind in ROUGH:
        scores = []
        for seed in range(4000, 4016):
            there, table = rough(kind, seed)
            site = Site(there.machine, *there.proposal)
            ways = [[searched(table, [], site)]] + [
                [plainly(table, site, draw, near=near) for draw in range(6)]
                for near in (True, False)
            ]
            scores.append([np.mean([(one.evaluations[1], one.regret[3]) for one in way], axis=0)
                           for way in ways])  # fmt: skip
        each = np.array(scores)
        means.append(each.mean(axis=0))
        worse = each[:, 0] - each[:, 1]
        assert (worse.mean(axis=0) <= worse.std(axis=0) / 4).all(), (kind, means[-1])
    own, *others = np.mean(means, axis=0)
    assert all((own < 0.95 * other).all() for other in others), (own, others)


def test_a_forecast_is_surer_where_it_has_measured_and_near_it() -> None:
    known = PriorRuns(MACHINE, CELLS)
    at = CELLS.index(Cell(4, 4, 30))
    near, far = CELLS.index(Cell(4, 8, 30)), CELLS.index(Cell(32, 1, 120 / 32))
    before, after = forecast(known), forecast(known, [], [at], [math.log(250.0)])
    assert math.exp(after.mean[at]) == pytest.approx(250, rel=0.01)
    assert after.deviation[at] < 0.01 < after.deviation[near] < after.deviation[far]
    assert (after.deviation < before.deviation).all()


def test_a_lucky_run_is_not_recommended_for_its_luck() -> None:
    often, lucky = CELLS.index(Cell(8, 4, 15)), CELLS.index(Cell(1, 1, 120))
    seconds = [(lucky, 99.0), *((often, one) for one in (130.0, 70.0, 131.0, 69.5))]
    task = search.Task(MACHINE, WAYS, often, often, 8, 100)
    now = search.outlook(task, [search.SearchTrial(at, value) for at, value in seconds])
    assert now is not None and now.best == often


def test_a_replay_makes_the_trials_that_a_tune_with_the_defaults_makes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table, other = bowl("a", 4, 4), bowl("b", 8, 4)
    shown = searched(table, [other], SITE).chosen
    known = PriorRuns(MACHINE, CELLS, np.log(other.seconds), tuple(one.choices for one in WAYS))
    first = SITE.proposal(table)
    _, parser = command_parser("tune")
    budget, runs = parser.get_default("budget"), parser.get_default("for_runs")
    task = search.Task(MACHINE, WAYS, first, first, budget, runs, (known,))
    made: list[search.SearchTrial] = []
    while isinstance(step := search.next_step(task, made), search.SearchStep):
        made.append(search.SearchTrial(step.index, table.seconds[step.index]))
    assert shown == tuple(CELLS[one.index].shown for one in made)
    assert (budget, runs) == (search.BUDGET, search.FOR_RUNS)


def test_runs_and_regret_are_counted_as_they_are_described() -> None:
    table = Table("a", CELLS[:9], (200, 150, 109, 120, 104, 100, 101, 102, 103))
    best_so_far = (0, 1, 2, 2, 4, 5, 5, 5, 5)
    runs = list(enumerate(best_so_far))
    score = Score.of(table, runs, runs)
    assert score.evaluations == (3, 5)
    assert score.regret == pytest.approx((1.0, 0.09, 0.04, 0.0))
    early = Score.of(table, runs[:2], runs)
    assert early.evaluations == (3, 5), "counted on where the search had stopped"
    assert early.regret == pytest.approx((1.0, 0.5, 0.5, 0.5))


def test_a_table_is_never_known_to_itself(tmp_path: Path) -> None:
    table, other = bowl("a", 4, 4), bowl("b", 8, 2)
    again = Table("a", table.cells[3:9], table.seconds[3:9])
    elsewhere = Table("a", table.cells, tuple(value * 1.5 for value in table.seconds))
    assert related_to(table, [table, again, other, elsewhere]) == [other, elsewhere]


def test_tables_of_another_machine_help_too() -> None:
    cells = tuple(Cell(w, c, 960 / w) for w in (6, 12, 24, 48, 96) for c in (1, 2, 4, 8))
    large = MachineSize(192, 24, 1024)
    there, site = bowl("a", 12, 2, cells), Site(large, 24, 4)
    known, alone = searched(there, [bowl("b", 8, 2)], site), searched(there, [], site)
    assert known.evaluations[0] <= alone.evaluations[0]


@pytest.mark.parametrize("known", [True, False], ids=["the other known", "none known"])
def test_the_two_tables_that_it_was_made_with_take_few_runs(shared: Path, known: bool) -> None:
    """A guard against drift, no evidence: plan and ranges were chosen with both tables at hand."""
    files = ("table4_svm.csv", "table6_pagerank.csv")
    both = [one for file in files for one in read_tables(shared / "data" / "power8" / file)]
    site = Site(MachineSize(threads=192, cores=24, memory_gb=1024), 12, 8)
    scores = [searched(one, related_to(one, both) if known else [], site) for one in both]
    assert np.mean([score.evaluations[0] for score in scores]) <= 2
    assert np.mean([score.evaluations[1] for score in scores]) <= 4
    assert np.mean([score.regret[2] for score in scores]) <= 0.025


def csv(file: Path, *tables: Table) -> Path:
    rows = [
        f"{one.workload},{cell.workers},{cell.cores_per_worker},{cell.slots},"
        f"{cell.memory_per_worker_gb},{seconds}"
        for one in tables
        for cell, seconds in zip(one.cells, one.seconds, strict=True)
    ]
    file.write_text("\n".join([HEAD, *rows]) + "\n")
    return file


@pytest.mark.command
def test_one_file_may_hold_several_workloads(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    several = csv(tmp_path / "both.csv", bowl("a", 4, 4), bowl("b", 8, 2))
    prior = csv(tmp_path / "prior.csv", bowl("c", 8, 4))
    machine = "1 package, 2 nodes of 64 GB, 8 cores x 2 threads"
    words = ["--prior", str(prior), "--seeds", "2", "--json", "--machine", machine]
    assert main([str(several), *words]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [one["related"] for one in document["tables"]] == [["b", "c"], ["a", "c"]]
    assert set(document["mean"]) == {"hearth", "neighbours", "random"}
    plan = document["plan"]
    first = document["tables"][0]["methods"]["hearth"]["first_chosen"][0]
    assert first == f"{plan['executors']}x{plan['cores']}"
    assert document["machine"]["threads"] == 32


def test_the_tuner_computes_with_one_thread_and_what_it_tunes_does_not_inherit_that() -> None:
    program = """
import os
from hearth.cli.commands import tune
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
