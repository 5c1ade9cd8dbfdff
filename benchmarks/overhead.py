"""What `hearth profile` costs: every job of the batch suite with all probes, and without.

    .venv/bin/python benchmarks/overhead.py --repeat 2
    .venv/bin/python benchmarks/overhead.py --times 4

Each job runs in pairs under one master, in random order within a pair (seeded), its answer checked,
after one short pair that is dropped. Compared are the job's own phases, so that what profile does
before and after (reading the machine, closing the record), which the wall time shows, does not hide
in the ratio; and the CPU seconds of everything that was started, which depend less on other work.
Reported: the ratio of all seconds with profile to all without, with a bootstrap interval over the
pairs, and the median of the pairs' ratios. Raw values go to benchmarks/results/ as each run ends.
"""

import argparse
import json
import os
import platform
import random
import resource
import signal
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hearth.bench import cases, catalogue, datasets, suites
from hearth.bench.subjects import PROFILE
from hearth.planner import places

ROOT = Path(__file__).resolve().parents[1]
ARMS: dict[str, tuple[str, ...]] = {"plain": (), "profile": (*PROFILE, "profile")}
WARM_UP = "sort-by"
Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=2, help="pairs of each job")
    parser.add_argument("--master", default="local[*]", help="of every run")
    parser.add_argument("--times", type=int, default=1, help="the default sizes of the data")
    parser.add_argument("--jobs", help="these alone, separated by commas; default: the suite")
    parser.add_argument("--seed", type=int, default=1, help="of the order")
    parser.add_argument("--output", type=Path, help="raw results (default: benchmarks/results/)")
    options = parser.parse_args()
    name = f"overhead-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
    output = options.output or ROOT / "benchmarks" / "results" / name
    output.parent.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leaves no temporary directory
    with tempfile.TemporaryDirectory(prefix="hearth-overhead-") as state:
        os.environ["HEARTH_STATE"] = state
        rows = measure(options, output)
    report(rows)
    print(f"\nRaw results: {output}")


def measure(options: argparse.Namespace, output: Path) -> list[Row]:
    offer = catalogue.load()
    entries = suites.named(options.jobs, offer) if options.jobs else suites.suite("batch", offer)
    warm_up = suites.Entry(offer.job(WARM_UP))
    draw = random.Random(options.seed)
    planned = [(-1, warm_up)]
    for number in range(options.repeat):
        planned += [(number, entry) for entry in draw.sample(entries, len(entries))]
    rows: list[Row] = []
    for pair, (number, entry) in enumerate(planned):
        for arm in draw.sample(list(ARMS), len(ARMS)):
            row = {"arm": arm, "job": entry.job.name, "repetition": number, "pair": pair}
            row |= one_run(offer, entry, options, arm)
            with output.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            rows.append(row)
            place = f"{pair}/{len(planned) - 1}"
            print(f"  {place:6} {row['job']:22} {arm:8} {row['seconds']:7.2f} s", flush=True)
    return [row for row in rows if row["repetition"] >= 0]


def one_run(
    offer: catalogue.Catalogue, entry: suites.Entry, options: argparse.Namespace, arm: str
) -> dict[str, Any]:
    sizes = [datasets.default_bytes(item.generator) for item in entry.job.inputs]
    size = options.times * max(sizes) if sizes else None  # some make their data by parameters
    case = cases.Case(entry.job, dict(entry.parameters), size)
    # Made before anything is measured: a generator is a child too.
    datasets.ensure_all(datasets.wanted_by(offer, case.job, case.parameters, size, case.seed))
    load = os.getloadavg()[0]
    begin, cpu_s = time.monotonic(), children_cpu_s()
    done = cases.run(offer, case, options.master, program=ARMS[arm])
    row = {
        "size_bytes": size,
        "seconds": done.document["seconds"],
        "wall_s": done.document["wall_s"],
        "cpu_s": round(children_cpu_s() - cpu_s, 3),
        "checked_s": round(time.monotonic() - begin, 3),
        "answer": done.document["verdict"]["status"],
        "master": done.document["spark"]["master"],
        "load": load,
        "cpus": os.cpu_count(),
        "kernel": platform.release(),
    }
    return row | (sampler_cpu_s(done.record) if done.record else {})


def children_cpu_s() -> float:
    """Of all processes that were started and have ended: Spark, and what profile runs beside it."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def sampler_cpu_s(record: str) -> dict[str, float]:
    """CPU seconds of the sampling process, as its record tells."""
    costs = places.state_home() / "records" / record / "samples" / "cost.jsonl"
    rows = map(json.loads, costs.read_text().splitlines())
    return {"sampler_cpu_s": {row["probe"]: row["cpu_s"] for row in rows}["sampler"]}


def report(rows: list[Row]) -> None:
    pairs: dict[int, dict[str, Row]] = {}
    for row in rows:
        pairs.setdefault(row["pair"], {})[row["arm"]] = row
    whole = list(pairs.values())
    compared = {"seconds": "the jobs' own phases", "wall_s": "from start to end", "cpu_s": "CPU"}
    for name, what in compared.items():
        seconds = [(pair["profile"][name], pair["plain"][name]) for pair in whole]
        low, high = bootstrap(seconds)
        totals = [sum(side) for side in zip(*seconds, strict=True)]
        middle = statistics.median(mine / base for mine, base in seconds)
        print(
            f"{what}: profile {totals[0]:.1f} s, plain {totals[1]:.1f} s; ratio "
            f"{totals[0] / totals[1]:.3f} [{low:.3f}, {high:.3f}]; median of pairs {middle:.3f}"
        )
    cpu = sum(pair["profile"]["sampler_cpu_s"] for pair in whole)
    wall = sum(pair["profile"]["wall_s"] for pair in whole)
    print(f"CPU of the sampling process: {cpu / wall:.2%} of one CPU")
    print(f"{len(whole)} pairs on {os.cpu_count()} CPUs; answers: {sorted(answers(rows))}")


def answers(rows: list[Row]) -> set[str]:
    return {row["answer"] for row in rows}


def bootstrap(pairs: list[tuple[float, float]], draws: int = 2000) -> tuple[float, float]:
    """The 95 % percentile interval of the ratio of sums, from `draws` resamples (seeded)."""
    order = random.Random(0)
    ratios = []
    for _ in range(draws):
        mine, base = zip(*order.choices(pairs, k=len(pairs)), strict=True)
        ratios.append(sum(mine) / sum(base))
    ratios.sort()
    return ratios[int(0.025 * draws)], ratios[int(0.975 * draws)]


if __name__ == "__main__":
    main()
