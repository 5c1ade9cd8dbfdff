"""Whether what trials measure besides their time makes the tuner choose better: by simulation.

    .venv/bin/python benchmarks/tuning_evidence.py --seeds 40

Imagined applications whose times and measures follow laws other than the mechanism's (threads by
Amdahl and a power, memory bandwidth as a hard limit, collecting by the heap that is left, executors
that cost by their square), so that the truth is known. Each is searched with the times alone, with the
share of garbage collection, and with all that is measured, told with noise; and once with measures
of another application, which is what misleading evidence does. Times scatter by 5 %. Raw values go to
benchmarks/results/.
"""  # noqa: E501

import argparse
import json
import math
import statistics
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from hearth.report.terminal.screen import Screen, table
from hearth.studies.models.performance_model import ModelEvidence
from hearth.studies.models.search import Outlook, SearchTrial, Stop, Task, next_step, outlook
from hearth.studies.models.space import (
    SHUFFLE_PARTITIONS,
    STORAGE_SHARE,
    Cell,
    Configuration,
    MachineSize,
)

ROOT = Path(__file__).resolve().parents[1]
MACHINES = {
    "2 cores": MachineSize(2, 2, 16.0),
    "16 cores x 2": MachineSize(32, 16, 128.0),
    "24 cores x 8": MachineSize(192, 24, 1024.0),
}
SCATTER, MEASURED_OFF = 0.05, 0.1
BUDGET = 8


def steps(most: int) -> list[int]:
    """As the tuner's space has them."""
    both = {1 << n for n in range(10)} | {3 << n for n in range(9)}
    return sorted(n for n in both if n <= most)


def space(machine: MachineSize) -> list[Configuration]:
    """Executors x cores with a collector each, the user's own last."""
    found = [
        Configuration(f"local-numa[{n}x{c}]", n, c, int(900 * machine.memory_gb / n), "node",
                      collector)
        for n in steps(machine.threads) for c in steps(machine.threads)
        for collector in ("ParallelGC", "G1GC")
        if machine.threads <= 4 * n * c <= 4 * machine.threads
    ]  # fmt: skip
    return [*found, Configuration("local[*]", 0, machine.threads, 1024, "none", "G1GC")]


def with_choices(ways: list[Configuration]) -> list[Configuration]:
    """And one more setting changed in each with the first collector, as the tuner does it."""
    more = [
        replace(way, varied={key: value})
        for way in ways if way.executors and way.collector == "ParallelGC"
        for key, value in (
            (SHUFFLE_PARTITIONS, str(way.slots)), (SHUFFLE_PARTITIONS, str(3 * way.slots)),
            (STORAGE_SHARE, "0.2"),
        )
    ]  # fmt: skip
    return [*ways[:-1], *more, ways[-1]]


class Application:
    """One whose law is drawn: seconds and measures of each configuration."""

    def __init__(self, seed: int, machine: MachineSize) -> None:
        self.machine = machine
        draw = np.random.default_rng(seed)
        self.serial = float(10 ** draw.uniform(-3, -1.2))
        self.within = float(10 ** draw.uniform(-2.6, -1))
        self.second = float(draw.uniform(0.05, 0.6))
        self.reach = float(10 ** draw.uniform(-0.3, 0.7)) * machine.cores
        self.live = float(10 ** draw.uniform(-2.3, -0.4)) * machine.memory_gb
        self.garbage = float(10 ** draw.uniform(-2.2, -0.5))
        self.executor = float(10 ** draw.uniform(-5, -2.6))
        self.g1 = float(draw.normal(0, 0.06))
        choices = np.random.default_rng(seed + 2000)
        self.choices = [float(choices.normal(0, 0.1)) * (choices.random() < 0.5) for _ in range(3)]
        self.tasks = int(machine.threads * draw.uniform(1, 8))
        self.switches = float(10 ** draw.uniform(2, 4))
        self.cell_noise = np.random.default_rng(seed + 1000)
        self.bumps: dict[Cell, float] = {}

    def parts(self, cell: Cell) -> tuple[float, float, float, float, float]:
        """Work, collecting and serial time; busy threads while working; bandwidth used."""
        machine, n, c = self.machine, cell.workers, cell.cores_per_worker
        used = min(n * c, self.tasks, machine.threads)
        a_core = used / machine.cores
        hardware = machine.cores * min(a_core, 1.0) * (1 + self.second * math.log2(max(a_core, 1)))
        blocked = 1 - 1 / (1 + self.within * (c - 1) ** 1.2)
        rate = min(hardware * (1 - blocked), self.reach)
        waves = math.ceil(self.tasks / (n * c)) * n * c / self.tasks
        work = waves**0.6 / rate
        left = max(cell.memory_per_worker_gb * n - self.live, 0.03 * cell.memory_per_worker_gb * n)
        collecting = work * self.garbage * self.live / left * (1 + 0.02 * c)
        alone = self.serial + self.executor * n**2 / machine.cores
        busy = used * (1 - blocked) / waves**0.6
        return work, collecting, alone, busy, rate / self.reach

    def seconds(self, way: Configuration) -> float:
        """Without the scatter of runs."""
        cell = way.cell
        if cell not in self.bumps:
            self.bumps[cell] = float(self.cell_noise.normal(0, 0.03))
        work, collecting, alone, _, _ = self.parts(cell)
        slower = self.bumps[cell] + (self.g1 if way.collector == "G1GC" else 0.0)
        for key, value in way.varied.items():
            number = 2 if key == STORAGE_SHARE else int(int(value) > way.slots)
            slower += self.choices[number]
        return 100 * (work + collecting + alone) * math.exp(slower)

    def evidence(self, way: Configuration, noise: np.random.Generator) -> ModelEvidence:
        """As it would be measured."""
        work, collecting, alone, busy, bandwidth = self.parts(way.cell)
        whole = work + collecting + alone
        blocked = 1 - 1 / (1 + self.within * (way.cores - 1) ** 1.2)
        off = [float(one) for one in np.exp(MEASURED_OFF * noise.standard_normal(4))]
        cpu = (work * busy + collecting * busy + alone) / (whole * self.machine.threads)
        return ModelEvidence(
            collecting / work * off[0], min(cpu * off[1], 1.0),
            bandwidth * work / whole * off[2], self.switches * (0.3 + blocked) * off[3],
        )  # fmt: skip


def told(what: str, seen: ModelEvidence) -> ModelEvidence:
    """Return the part of the evidence that an arm is given."""
    if what in ("times alone", CHOICES):
        return ModelEvidence()
    if what == "garbage collection":
        return ModelEvidence(collecting=seen.collecting)
    if what == "without switches":
        return replace(seen, switching=None)
    return seen


def searched(
    what: str, application: Application, other: Application, seed: int, choices: bool
) -> dict[str, Any]:
    """Regret of what is recommended after each trial, and trials until it is within 10 and 5 %.

    choices: over the best with one more setting changed, whether or not those are searched.
    """
    few = space(application.machine)
    ways = tuple(with_choices(few) if what == CHOICES else few)
    best = min(application.seconds(way) for way in with_choices(few)) if choices else None
    truth = np.array([application.seconds(way) for way in ways])
    noise = np.random.default_rng(seed)
    whose = other if what == "another application's" else application
    proposal = min(range(len(ways) - 1), key=lambda at: abs(ways[at].cores - 8) +
                   abs(ways[at].slots - application.machine.threads))  # fmt: skip
    runs = STOPPING.get(what, 10**6)
    task = Task(application.machine, ways, proposal, len(ways) - 1, BUDGET, runs)
    trials: list[SearchTrial] = []
    regret = []
    while len(trials) < BUDGET:
        step = next_step(task, trials)
        if isinstance(step, Stop):
            break
        value = float(truth[step.index] * math.exp(SCATTER * noise.standard_normal()))
        seen = told(what, whose.evidence(ways[step.index], noise))
        trials.append(SearchTrial(step.index, value, evidence=seen))
        now = outlook(task, trials)
        assert isinstance(now, Outlook)
        regret.append(float(truth[now.best] / (best or truth.min()) - 1))
    made = len(regret)
    regret += [regret[-1]] * (BUDGET - len(regret))
    within = {str(p): next((n for n, r in enumerate(regret, 1) if r <= p / 100), BUDGET + 1)
              for p in (10, 5)}  # fmt: skip
    took = sum(trial.value or 0.0 for trial in trials) / float(truth.min())
    return {"regret": [round(one, 5) for one in regret], "trials_to": within,
            "made": made, "took": round(took, 3)}  # fmt: skip


CHOICES = "times alone, more settings"
#: What is told, and for how many runs of the result a trial must be worth its time.
STOPPING = {"all, for 100 runs": 100, "all, for 10 runs": 10}
ARMS = ("times alone", "garbage collection", "without switches", "all", "another application's")


def arms_of(options: argparse.Namespace) -> tuple[str, ...]:
    """Return what is held against what; the first is the baseline."""
    if options.choices:
        return ARMS[0], CHOICES
    return ("all", *STOPPING) if options.stopping else ARMS


def main() -> None:
    """Simulate, show and keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=40, help="applications of each machine")
    parser.add_argument(
        "--choices", action="store_true", help="instead: whether more settings in the space pay"
    )
    parser.add_argument(
        "--stopping", action="store_true", help="instead: what ending early saves and costs"
    )
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    options = parser.parse_args()
    stamp = datetime.now(UTC).strftime("%Y-%m-%d-%H%M")
    what = "choices" if options.choices else "stopping" if options.stopping else "evidence"
    file = ROOT / "benchmarks" / "results" / f"tuning-{what}-{stamp}.jsonl"
    rows: list[dict[str, Any]] = []
    with file.open("w") as out:
        for name, machine in MACHINES.items():
            for seed in range(options.first, options.first + options.seeds):
                other = Application(seed + 5000, machine)
                for what in arms_of(options):
                    one = Application(seed, machine)
                    found = searched(what, one, other, seed, options.choices)
                    rows.append({"machine": name, "seed": seed, "told": what, **found})
                    out.write(json.dumps(rows[-1]) + "\n")
                    out.flush()
    show(rows, arms_of(options))


def show(rows: list[dict[str, Any]], arms: tuple[str, ...]) -> None:
    """Means, and the difference of each arm from the times alone, pair by pair."""
    lines = []
    for name in [*MACHINES, "all"]:
        for what in arms:
            of = {(r["machine"], r["seed"]): r for r in rows
                  if r["told"] == what and name in (r["machine"], "all")}  # fmt: skip
            base = {(r["machine"], r["seed"]): r for r in rows if r["told"] == arms[0]}
            if not of:
                continue
            changes = [r["regret"][4] - base[key]["regret"][4] for key, r in of.items()]
            low, high = _interval(changes)
            lines.append(
                [name, what, *(f"{statistics.fmean(r['regret'][n - 1] for r in of.values()):.1%}"
                               for n in (3, 5, 8)),
                 *(f"{statistics.fmean(r['trials_to'][p] for r in of.values()):.2f}"
                   for p in ("10", "5")),
                 f"{statistics.fmean(changes):+.2%} [{low:+.2%}, {high:+.2%}]",
                 *(f"{statistics.fmean(r.get(k, 0) for r in of.values()):.1f}"
                   for k in ("made", "took"))]
            )  # fmt: skip
    head = ["machine", "told", "regret after 3", "5", "8", "trials to 10 %", "5 %",
            "change after 5, 95 %", "trials made", "their time / the best's"]  # fmt: skip
    print("\n".join(table(Screen.of(), head, lines)))


def _interval(values: list[float]) -> tuple[float, float]:
    """Of the mean, by Student's t."""
    from scipy.stats import t

    if len(values) < 2:
        return math.nan, math.nan
    reach = float(t.ppf(0.975, len(values) - 1)) * statistics.stdev(values) / len(values) ** 0.5
    middle = statistics.fmean(values)
    return middle - reach, middle + reach


if __name__ == "__main__":
    main()
