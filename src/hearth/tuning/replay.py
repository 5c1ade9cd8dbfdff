"""Table replay: the tuner asks, a table answers; beside it, other ways to search.

Evaluations are counted from the first; a configuration counts as found when its time in the table
is within 10 % (5 %) of the table's best. Regret after n: the time in the table of what the method
would recommend then, over the best, less 1. Where rows are hidden, the best is that of the rest.
"""

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hearth.tuning import mechanism
from hearth.tuning.methods import HillClimbing, Method, OptunaSampler, RandomSearch, Tuner
from hearth.tuning.space import Machine
from hearth.tuning.surrogate import Belief, Known
from hearth.tuning.table import Table

WITHIN = (0.10, 0.05)
REGRET_AFTER = (1, 3, 5, 8)
#: A suggestion of Optuna's GP sampler takes 0.1 s or so: more seeds would take hours.
_GP_SEEDS = 20
#: Priors with jittered ranges, and seeds of hidden rows and noise for each of them.
_JITTERS = 8
_SEEDS_OF_JITTER = 10

#: Makes a method for the rows that are shown, from a seed.
Choice = Callable[[Table, int], Method]


@dataclass(frozen=True)
class Settings:
    """drop: share of rows hidden at random; noise: standard deviation of the logarithm of times."""

    drop: float
    noise: float
    seeds: int

    @property
    def is_random(self) -> bool:
        """Whether a seed changes what is shown."""
        return self.drop > 0 or self.noise > 0


@dataclass(frozen=True)
class Score:
    """One search: evaluations until within 10 % and 5 %, regret after 1, 3, 5, 8, first choices."""

    evaluations: tuple[int, ...]
    regret: tuple[float, ...]
    chosen: tuple[str, ...]


def search(table: Table, method: Method, noise: float, seed: int) -> Score:
    """Asks until 8 are run and one is within 5 %, or all are run."""
    draw = np.random.default_rng(seed)
    best = min(table.seconds)
    lost: list[float] = []
    regret: list[float] = []
    chosen: list[int] = []
    while len(chosen) < len(table.cells):
        index = method.ask()
        chosen.append(index)
        method.tell(index, table.seconds[index] * math.exp(noise * draw.standard_normal()))
        lost.append(table.seconds[index] / best - 1)
        regret.append(table.seconds[method.recommended()] / best - 1)
        if len(chosen) >= REGRET_AFTER[-1] and min(lost) <= WITHIN[-1]:
            break
    return Score(
        tuple(next(at for at, one in enumerate(lost, 1) if one <= share) for share in WITHIN),
        tuple(regret[min(after, len(regret)) - 1] for after in REGRET_AFTER),
        tuple(table.cells[index].shown for index in chosen[: REGRET_AFTER[-1]]),
    )


def shown_rows(table: Table, drop: float, seed: int) -> Table:
    """The table without a share of its rows, chosen at random; at least two stay."""
    number = max(round(len(table.cells) * (1 - drop)), 2)
    kept = np.random.default_rng([seed, 1]).permutation(len(table.cells))[:number]
    return table.only(sorted(kept.tolist()))


def machine_of(table: Table, machine: Machine) -> Machine:
    """The machine that a related table is from: this one, or one like it of the table's size.

    A table does not name its machine. One whose most task slots are more than this machine's
    hardware threads, or fewer than half, is taken to fill a machine of the same threads a core.
    """
    most = max(cell.slots for cell in table.cells)
    if machine.threads / 2 <= most <= machine.threads:
        return machine
    memory = max(cell.workers * cell.memory_per_worker_gb for cell in table.cells)
    cores = max(round(most * machine.cores / machine.threads), 1)
    return Machine(most, cores, memory)


def related_to(table: Table, others: Sequence[Table]) -> list[Table]:
    """The tables that may be known before: none that holds rows of this one."""
    return [other for other in others if other is not table and not table.shares_rows_with(other)]


def replay(
    tables: Sequence[Table],
    prior: Sequence[Table],
    machine: Machine,
    settings: Settings,
    absent: dict[str, str],
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """The document of a replay: each table left out in turn, the others and `prior` known."""
    found: list[dict[str, Any]] = []
    for table in tables:
        related = related_to(table, [*tables, *prior])
        methods = _methods(related, machine, settings, absent)
        results = {}
        for name, (choice, seeds) in methods.items():
            tell(f"{table.workload}: {name}")
            results[name] = _summary(list(_scores(table, choice, settings, range(seeds))))
        tell(f"{table.workload}: jittered priors")
        found.append(
            {
                "workload": table.workload,
                "configurations": len(table.cells),
                "best": _best(table),
                "related": [other.workload for other in related],
                "methods": results,
                "jittered": _jittered(table, related, machine, settings),
            }
        )
    return {
        "schema": "hearth/tune-replay/1",
        "machine": {
            "threads": machine.threads, "cores": machine.cores, "memory_gb": machine.memory_gb,
        },
        "settings": {"drop": settings.drop, "noise": settings.noise, "seeds": settings.seeds},
        "tables": found,
        "mean": mean_of_methods([one["methods"] for one in found]),
        "jittered": _means_of_jitters([one["jittered"] for one in found]),
        "absent": absent,
    }  # fmt: skip


def _methods(
    related: Sequence[Table], machine: Machine, settings: Settings, absent: dict[str, str]
) -> dict[str, tuple[Choice, int]]:
    """Each way to search, and how many seeds it is tried with."""
    own = partial(tuner, related, machine, settings, mechanism.RANGES)
    seeds = settings.seeds
    found: dict[str, tuple[Choice, int]] = {
        "hearth": (own, seeds if settings.is_random else 1),
        "hill climbing from hearth's first": (
            lambda table, seed: HillClimbing(table.cells, seed, own(table, seed).ask()),
            seeds,
        ),
        "hill climbing": (lambda table, seed: HillClimbing(table.cells, seed), seeds),
        "random": (lambda table, seed: RandomSearch(table.cells, seed), seeds),
        "tpe": (lambda table, seed: OptunaSampler(table.cells, "tpe", seed), seeds),
        "gp": (
            lambda table, seed: OptunaSampler(table.cells, "gp", seed),
            min(seeds, _GP_SEEDS),
        ),
    }
    return {name: method for name, method in found.items() if name not in absent}


def tuner(
    related: Sequence[Table],
    machine: Machine,
    settings: Settings,
    ranges: dict[str, tuple[float, float]],
    table: Table,
    _seed: int = 0,
) -> Tuner:
    """hearth's own way to search `table`, knowing the related tables."""
    known = [
        Known(machine_of(other, machine), other.cells, np.log(other.seconds)) for other in related
    ]
    target = Known(machine, table.cells)
    return Tuner(table.cells, Belief(target, known, noise=settings.noise, ranges=ranges))


def _scores(
    table: Table, choice: Choice, settings: Settings, seeds: Sequence[int]
) -> Iterator[Score]:
    for seed in seeds:
        shown = shown_rows(table, settings.drop, seed) if settings.drop else table
        yield search(shown, choice(shown, seed), settings.noise, seed)


def _jittered(
    table: Table, related: Sequence[Table], machine: Machine, settings: Settings
) -> list[dict[str, Any]]:
    """hearth's results under other priors: how much depends on the ranges that were chosen."""
    seeds = range(min(settings.seeds, _SEEDS_OF_JITTER) if settings.is_random else 1)
    return [
        _summary(
            list(
                _scores(
                    table,
                    partial(tuner, related, machine, settings, mechanism.jittered(jitter)),
                    settings,
                    seeds,
                )
            )
        )
        for jitter in range(_JITTERS)
    ]


def _best(table: Table) -> dict[str, Any]:
    at = min(range(len(table.cells)), key=lambda index: table.seconds[index])
    return {"configuration": table.cells[at].shown, "seconds": table.seconds[at]}


def _summary(scores: Sequence[Score]) -> dict[str, Any]:
    """Means over seeds; the spread of evaluations is that between seeds."""
    return {
        "seeds": len(scores),
        **{
            f"evaluations_to_{share:.0%}".replace("%", "_percent"): _spread(
                [score.evaluations[at] for score in scores]
            )
            for at, share in enumerate(WITHIN)
        },
        "regret_after": {
            str(after): statistics.fmean(score.regret[at] for score in scores)
            for at, after in enumerate(REGRET_AFTER)
        },
        "first_chosen": list(scores[0].chosen),
    }


def _spread(values: Sequence[int]) -> dict[str, float]:
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return {"mean": statistics.fmean(values), "deviation": deviation, "most": max(values)}


def _mean(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    keys = ("evaluations_to_10_percent", "evaluations_to_5_percent")
    return {
        **{key: statistics.fmean(one[key]["mean"] for one in results) for key in keys},
        "regret_after": {
            str(after): statistics.fmean(one["regret_after"][str(after)] for one in results)
            for after in REGRET_AFTER
        },
    }


def mean_of_methods(of_tables: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """For each method: means over tables, each table counting once."""
    return {name: _mean([one[name] for one in of_tables]) for name in of_tables[0]}


def _means_of_jitters(of_tables: Sequence[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [_mean(one) for one in zip(*of_tables, strict=True)]
