"""How many runs `hearth tune` needs where a table of measured times answers, and plain searches.

    .venv/bin/python benchmarks/replay.py times.csv --machine "2 packages, 4 nodes of 256 GB, 6 cores x 8 threads"
    .venv/bin/python benchmarks/replay.py a.csv b.csv --machine big.tar.gz --drop 0.3 --seeds 50
    .venv/bin/python benchmarks/replay.py a.csv --prior b.csv --machine big.tar.gz --noise 0.05 --json

A table is a CSV file with the columns
workload,workers,cores_per_worker,total_cores,memory_per_worker_gb,seconds.

The first trial is the executors x cores nearest to the plan's. The user's own configuration, which
is the second trial of a tune, is in no table and is left out; everything else is `search.next_step`
with the defaults of `hearth tune`: the budget, when it stops, the repeats at the end, and trials
that are stopped because they cannot be the best. The plain searches begin there too: `neighbours`
tries those of the fastest so far in a random order, `random` all.

A configuration counts as found when its time in the table is within 10 % (5 %) of the table's best;
runs are counted from the first. A search that did not find one is counted on with no limit to its
budget. Regret after n runs: the time in the table of what is recommended then, over the best, less
1. Where rows are hidden, the best is that of the rest.
"""  # noqa: E501

import argparse
import json
import math
import os
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

# The matrices are small: a library's threads only get in each other's way.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from results import table as printed
from tables import Table, read_tables

from hearth import UserError, plan, topology
from hearth.studies.models import search
from hearth.studies.models.space import Cell, Configuration, MachineSize
from hearth.studies.models.surrogate import PriorRuns

WITHIN = (0.10, 0.05)
REGRET_AFTER = (1, 3, 5, 8)
#: So many runs of the result are worth any trial.
_ENDLESS = 10**9
_MOST_SEEDS = 10_000

#: A run of a search: the index that was tried, and the one that is recommended after it.
Run = tuple[int, int]


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
class Site:
    """Where a table was measured, and the executors and cores that are planned there."""

    machine: MachineSize
    executors: int
    cores: int

    def proposal(self, table: Table) -> int:
        """Return the index of the configuration nearest to the plan's, by doublings."""

        def away(at: int) -> float:
            cell = table.cells[at]
            pairs = ((cell.workers, self.executors), (cell.cores_per_worker, self.cores))
            return sum(abs(math.log2(one / other)) for one, other in pairs)

        return min(range(len(table.cells)), key=away)


def planned(machine: str) -> Site:
    """Return the site that `--machine` names, with hearth's plan for it. Raises UserError."""
    executors = plan(machine=machine).executors
    return Site(MachineSize.of(topology(machine)), len(executors), executors[0].task_slots)


@dataclass(frozen=True)
class Score:
    """One search: runs until within 10 % and 5 %, regret after 1, 3, 5, 8, first choices."""

    evaluations: tuple[int, ...]
    regret: tuple[float, ...]
    chosen: tuple[str, ...]

    @staticmethod
    def of(table: Table, runs: Sequence[Run], longer: Sequence[Run]) -> "Score":
        """Score a search. runs: as users make them; longer: the same, on until one is found."""
        best = min(table.seconds)
        lost = [table.seconds[tried] / best - 1 for tried, _ in longer]
        regret = [table.seconds[recommended] / best - 1 for _, recommended in runs]
        return Score(
            tuple(
                next((at for at, one in enumerate(lost, 1) if one <= share), len(table.cells))
                for share in WITHIN
            ),
            tuple(regret[min(after, len(regret)) - 1] for after in REGRET_AFTER),
            tuple(table.cells[tried].shown for tried, _ in runs[: REGRET_AFTER[-1]]),
        )


def searched(
    table: Table, related: Sequence[Table], site: Site, noise: float = 0.0, seed: int = 0
) -> Score:
    """Return how `hearth tune` does on a table where the related ones are known."""
    ways = tuple(map(_way, table.cells))
    first = site.proposal(table)
    known = tuple(_known(other, machine_of(other, site.machine)) for other in related)
    limits = (search.BUDGET, search.FOR_RUNS)
    task = search.Task(site.machine, ways, first, first, *limits, known)
    runs = list(trials(task, table, noise, seed))
    if is_found(table, runs):
        return Score.of(table, runs, runs)
    endless = replace(task, budget=len(ways) + search.BUDGET, runs=_ENDLESS)
    return Score.of(table, runs, list(until_found(table, trials(endless, table, noise, seed))))


def trials(task: search.Task, table: Table, noise: float, seed: int) -> Iterator[Run]:
    """Yield the trials of the search until it stops."""
    draw = np.random.default_rng(seed)
    made: list[search.SearchTrial] = []
    step = search.next_step(task, made)
    while not isinstance(step, search.Stop):
        seconds = table.seconds[step.index] * math.exp(noise * draw.standard_normal())
        limit = math.inf
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
    enough = (1 + WITHIN[-1]) * min(table.seconds)
    return any(table.seconds[tried] <= enough for tried, _ in runs)


def until_found(table: Table, runs: Iterator[Run]) -> Iterator[Run]:
    """Yield runs up to the first within 5 % of the best."""
    for run in runs:
        yield run
        if is_found(table, [run]):
            return


def _way(cell: Cell) -> Configuration:
    heap_mb = max(round(cell.memory_per_worker_gb * 1024), 1)
    workers, cores = cell.workers, cell.cores_per_worker
    return Configuration(f"local-numa[{cell.shown}]", workers, cores, heap_mb, "node", "")


def _known(table: Table, machine: MachineSize) -> PriorRuns:
    ways = [_way(cell) for cell in table.cells]
    choices = tuple(way.choices for way in ways)
    return PriorRuns(machine, tuple(way.cell for way in ways), np.log(table.seconds), choices)


def plain_search(table: Table, first: int, seed: int, *, near: bool) -> Iterator[Run]:
    """Yield the first configuration, then others at random; the fastest so far is recommended.

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
    """Return the cells at most one step from one of them, among the executors and cores there."""
    near = set(range(len(cells)))
    for values in ([one.workers for one in cells], [one.cores_per_worker for one in cells]):
        steps = sorted(set(values))
        at = steps.index(values[of])
        near &= {each for each in near if values[each] in steps[max(at - 1, 0) : at + 2]}
    return near


def shown_rows(table: Table, drop: float, seed: int) -> Table:
    """Return the table without a share of its rows, chosen at random; at least two stay."""
    number = max(round(len(table.cells) * (1 - drop)), 2)
    indices = np.random.default_rng([seed, 1]).permutation(len(table.cells))[:number]
    return table.only(sorted(indices.tolist()))


def machine_of(table: Table, machine: MachineSize) -> MachineSize:
    """Return the machine that a related table is from: this, or one like it of the table's size.

    A table does not name its machine. One whose most task slots are more than this machine's
    hardware threads, or fewer than half, is taken to fill a machine of the same threads a core.
    """
    most = max(cell.slots for cell in table.cells)
    if machine.threads / 2 <= most <= machine.threads:
        return machine
    memory = max(cell.workers * cell.memory_per_worker_gb for cell in table.cells)
    cores = max(round(most * machine.cores / machine.threads), 1)
    return MachineSize(most, cores, memory)


def related_to(table: Table, others: Sequence[Table]) -> list[Table]:
    """Return the tables that may be known before: none that holds rows of this one."""
    return [other for other in others if other is not table and not table.shares_rows_with(other)]


def replay(
    tables: Sequence[Table],
    prior: Sequence[Table],
    site: Site,
    settings: Settings,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Return the document of a replay: each table left out in turn, the others being known."""
    documents: list[dict[str, Any]] = []
    for table in tables:
        related = related_to(table, [*tables, *prior])
        tell(f"{table.workload}: hearth")
        seeds = range(settings.seeds if settings.is_random else 1)
        own = [
            searched(_shown(table, settings, seed), related, site, settings.noise, seed)
            for seed in seeds
        ]
        results = {"hearth": _summary(own)}
        for name, near in (("neighbours", True), ("random", False)):
            tell(f"{table.workload}: {name}")
            results[name] = _summary(
                [plainly(_shown(table, settings, seed), site, seed, near=near)
                 for seed in range(settings.seeds)]
            )  # fmt: skip
        documents.append(
            {
                "workload": table.workload,
                "configurations": len(table.cells),
                "best": _best(table),
                "related": [other.workload for other in related],
                "methods": results,
            }
        )
    machine = site.machine
    return {
        "schema": "hearth/tune-replay/2",
        "machine": {
            "threads": machine.threads, "cores": machine.cores, "memory_gb": machine.memory_gb,
        },
        "plan": {"executors": site.executors, "cores": site.cores},
        "settings": {"drop": settings.drop, "noise": settings.noise, "seeds": settings.seeds},
        "tables": documents,
        "mean": _mean_of_methods([one["methods"] for one in documents]),
    }  # fmt: skip


def plainly(table: Table, site: Site, seed: int, *, near: bool) -> Score:
    """Return how a plain search does."""
    runs: list[Run] = []
    for run in plain_search(table, site.proposal(table), seed, near=near):
        runs.append(run)
        if len(runs) >= REGRET_AFTER[-1] and is_found(table, runs):
            break
    return Score.of(table, runs, runs)


def _shown(table: Table, settings: Settings, seed: int) -> Table:
    return shown_rows(table, settings.drop, seed) if settings.drop else table


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


def _mean_of_methods(of_tables: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """For each method: means over tables, each table counting once."""
    return {name: _mean([one[name] for one in of_tables]) for name in of_tables[0]}


def main(words: Sequence[str] | None = None) -> int:
    """Replay, and show what each way to search needed; 2 for what the user can correct."""
    options = _parser().parse_args(words)
    try:
        document = _replayed(options)
    except (UserError, OSError) as error:
        print(f"replay: {error}", file=sys.stderr)
        return 2
    print(json.dumps(document, indent=2) if options.json else "\n".join(page(document)))
    return 0


def page(document: dict[str, Any]) -> list[str]:
    """Return the tables in Markdown: of each workload, and the means over them."""
    heads = ["", "Runs to 10 %", "to 5 %", *(f"Regret after {runs}" for runs in REGRET_AFTER)]

    def methods(results: dict[str, dict[str, Any]]) -> list[str]:
        return [*printed(heads, [[name, *_cells(one)] for name, one in results.items()]), ""]

    lines: list[str] = []
    for one in document["tables"]:
        best, known = one["best"], ", ".join(one["related"]) or "no related table"
        first = " ".join(one["methods"]["hearth"]["first_chosen"])
        lines += [
            f"{one['workload']}: {one['configurations']} configurations, best "
            f"{best['configuration']}, {best['seconds']:g} s; known before: {known}; hearth tries "
            f"(first seed): {first}",
            *("", *methods(one["methods"])),
        ]
    if len(document["tables"]) > 1:
        lines += ["Mean of the tables:", "", *methods(document["mean"])]
    return lines[:-1]


def _cells(result: dict[str, Any]) -> list[str]:
    """Return runs (of several seeds with their spread) and regrets of a method."""
    runs = [result["evaluations_to_10_percent"], result["evaluations_to_5_percent"]]
    spread = "{mean:.2f} ± {deviation:.2f} (at most {most})"
    return [
        *(spread.format(**one) if isinstance(one, dict) else f"{one:.2f}" for one in runs),
        *(f"{regret:.1%}" for regret in result["regret_after"].values()),
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", type=Path, nargs="+", metavar="TABLE.csv")
    parser.add_argument(
        "--machine", required=True, help="the one that was measured: a capture, or a description"
    )
    parser.add_argument(
        "--prior", type=Path, nargs="+", action="extend", default=[], metavar="TABLE.csv",
        help="tables of other workloads or machines that are known before",
    )  # fmt: skip
    drop_help = "hide this share of the rows at random, anew for each seed (default: 0)"
    parser.add_argument("--drop", type=float, default=0.0, metavar="SHARE", help=drop_help)
    noise_help = "scatter the times: standard deviation of their logarithm (default: 0)"
    parser.add_argument("--noise", type=float, default=0.0, metavar="SHARE", help=noise_help)
    parser.add_argument("--seeds", type=int, default=200, metavar="N", help="(default: 200)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def _replayed(options: argparse.Namespace) -> dict[str, Any]:
    _check(options)
    tables = [table for file in options.tables for table in read_tables(file)]
    prior = [table for file in options.prior for table in read_tables(file)]
    names = [table.workload for table in tables]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"workload '{name}' is in two tables: give one of them to --prior, or "
                            "name them apart")  # fmt: skip
    site = planned(options.machine)
    for table in tables:
        _doubt_machine(table, site.machine)
    settings = Settings(options.drop, options.noise, options.seeds)
    return replay(tables, prior, site, settings, lambda text: print(text, file=sys.stderr))


def _check(options: argparse.Namespace) -> None:
    for name, most in (("drop", 0.9), ("noise", 1.0)):
        value = getattr(options, name)
        if not 0 <= value <= most:
            raise UserError(f"--{name}: {value} is not between 0 and {most}: give such as 0.3")
    if not 1 <= options.seeds <= _MOST_SEEDS:
        raise UserError(
            f"--seeds: {options.seeds} is not between 1 and {_MOST_SEEDS}: give such as 200"
        )


def _doubt_machine(table: Table, machine: MachineSize) -> None:
    """Warn of a table of more task slots than hardware threads: likely of another machine."""
    most = max(cell.slots for cell in table.cells)
    if most > machine.threads:
        print(
            f"replay: warning: {table.workload} has {most} task slots, --machine "
            f"{machine.threads} hardware threads: is it the machine that was measured?",
            file=sys.stderr,
        )


if __name__ == "__main__":
    sys.exit(main())
