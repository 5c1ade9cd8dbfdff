"""The tuner, and plain searches, where a table of completion times answers instead of Spark.

All begin at the executors x cores nearest to the plan's. The user's own configuration, which is the
second trial of a tune, is in no table and is left out; everything else is `search.next_step` with
the defaults of `hearth tune`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from synthetic_tables import Site, Table

from hearth.studies.models import search
from hearth.studies.models.space import Cell, Configuration, MachineSize
from hearth.studies.models.surrogate import PriorRuns

#: So many runs of the result are worth any trial.
_ENDLESS = 10**9

#: A run of a search: the index that was tried, and the one that is recommended after it.
Run = tuple[int, int]


@dataclass(frozen=True)
class Score:
    """Runs until one is within 10 % and 5 % of the table's best, and regret after 5 and 8 runs.

    Regret: the time of what is recommended then, over the best, less 1.
    """

    runs_to_10: int
    runs_to_5: int
    regret_after_5: float
    regret_after_8: float

    @staticmethod
    def of(table: Table, runs: Sequence[Run], longer: Sequence[Run]) -> "Score":
        """Score a search. runs: as users make them; longer: the same, on until one is found."""
        best = min(table.seconds)
        lost = [seconds / best - 1 for seconds in table.seconds]

        def first(within: float) -> int:
            found = (at for at, (tried, _) in enumerate(longer, 1) if lost[tried] <= within)
            return next(found, len(table.cells))

        def after(number: int) -> float:
            return lost[runs[min(number, len(runs)) - 1][1]]

        return Score(first(0.10), first(0.05), after(5), after(8))


def searched(table: Table, site: Site, *known: PriorRuns) -> Score:
    """How `hearth tune` does where runs of other workloads are known."""
    first = proposal(table, site)
    ways = configurations(table.cells)
    task = search.Task(site.machine, ways, first, first, search.BUDGET, search.FOR_RUNS, known)
    runs = list(trials(task, table))
    if is_found(table, runs):
        return Score.of(table, runs, runs)
    endless = replace(task, budget=len(ways) + search.BUDGET, runs=_ENDLESS)
    return Score.of(table, runs, list(until_found(table, trials(endless, table))))


def proposal(table: Table, site: Site) -> int:
    """The index of the configuration nearest to the plan's, by doublings."""

    def away(at: int) -> float:
        cell = table.cells[at]
        pairs = zip((cell.workers, cell.cores_per_worker), site.proposal, strict=True)
        return sum(abs(math.log2(one / other)) for one, other in pairs)

    return min(range(len(table.cells)), key=away)


def configurations(cells: Sequence[Cell]) -> tuple[Configuration, ...]:
    return tuple(
        Configuration("local-numa", one.workers, one.cores_per_worker,
                      round(one.memory_per_worker_gb * 1024), "node", "") for one in cells
    )  # fmt: skip


def as_prior(table: Table, machine: MachineSize) -> PriorRuns:
    """A table as what is known of another workload."""
    ways = configurations(table.cells)
    choices = tuple(way.choices for way in ways)
    return PriorRuns(machine, tuple(way.cell for way in ways), np.log(table.seconds), choices)


def trials(task: search.Task, table: Table) -> Iterator[Run]:
    """The trials of the search until it stops."""
    made: list[search.SearchTrial] = []
    step = search.next_step(task, made)
    while not isinstance(step, search.Stop):
        seconds, limit = table.seconds[step.index], math.inf
        if step.role == "search" and step.before is not None:
            of_best = [one.seconds for one in made if one.index == step.before.best and one.seconds]
            limit = search.EARLY_STOP_FACTOR * max(of_best)
        made.append(search.SearchTrial(step.index, min(seconds, limit), seconds > limit))
        tried, step = step.index, search.next_step(task, made)
        now = step.before if isinstance(step, search.SearchStep) else search.outlook(task, made)
        assert now is not None, "the first trial is never stopped"
        yield tried, now.best


def is_found(table: Table, runs: Sequence[Run]) -> bool:
    """Whether a configuration within 5 % of the best was tried."""
    return any(table.seconds[tried] <= 1.05 * min(table.seconds) for tried, _ in runs)


def until_found(table: Table, runs: Iterator[Run]) -> Iterator[Run]:
    for run in runs:
        yield run
        if is_found(table, [run]):
            return


def plainly(table: Table, site: Site, seed: int, *, near: bool) -> Score:
    """How a plain search does."""
    runs: list[Run] = []
    for run in plain_search(table, proposal(table, site), seed, near=near):
        runs.append(run)
        if len(runs) >= 8 and is_found(table, runs):
            break
    return Score.of(table, runs, runs)


def plain_search(table: Table, first: int, seed: int, *, near: bool) -> Iterator[Run]:
    """The first configuration, then others at random; the fastest so far is recommended.

    near: neighbours of the fastest so far alone, while one is left.
    """
    order = np.random.default_rng(seed).permutation(len(table.cells)).tolist()
    at = best = first
    while True:
        order.remove(at)
        best = min(best, at, key=lambda one: table.seconds[one])
        yield at, best
        if not order:
            return
        close = _neighbours(table.cells, best) if near else order
        at = next((one for one in order if one in close), order[0])


def _neighbours(cells: Sequence[Cell], of: int) -> set[int]:
    """The cells at most one step from one of them, among the executors and cores there."""
    near = set(range(len(cells)))
    for values in ([one.workers for one in cells], [one.cores_per_worker for one in cells]):
        steps = sorted(set(values))
        at = steps.index(values[of])
        near &= {each for each in near if values[each] in steps[max(at - 1, 0) : at + 2]}
    return near
