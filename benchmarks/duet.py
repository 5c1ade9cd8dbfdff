"""What `hearth profile` costs, apart from noise: runs with all probes and without, side by side.

    .venv/bin/python benchmarks/duet.py --times 4 --repeat 2

A duet (Bulej, Horký, Tůma, Farquet and Prokopec: Duet Benchmarking, ICPE 2020): both arms run at
the same time, each on CPUs of its own, so that what slows the whole machine slows both and drops
out of their ratio. Each pair is two duets, the arms having changed sides, so that a side that is
quicker than the other drops out as well.

Reported are ratios of all seconds with profile to all without, with Student's t interval over the
pairs: of the jobs' own phases, of the time from start to end, of CPU seconds; and of the last two
less what profile takes of a program that does nothing, which no run is too short to pay; and a line
through the pairs, which tells what each run pays from what grows with its time. --control
runs the same without a profile on either side, and shows the noise that is left. --read reports raw
results of before, of all jobs or some, also of a run that was stopped, or of several together.

The JVM sees the CPUs of its side alone, and so do the probes: what they take is set against half of
the machine. Where one arm takes longer, it ends without company: a difference is shown smaller than
it is by as much as one side slows the other, which of a small difference is little.
"""

import argparse
import json
import os
import random
import signal
import statistics
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor, wait
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import overhead

from hearth.model.errors import UserError
from hearth.workloads import catalogue, suites
from hearth.workloads.runner import RunError

LEAST_POINTS = 10  # for a line: of fewer, a resample may hold one pair alone
Row = dict[str, Any]
Sides = list[ProcessPoolExecutor]


def main() -> None:
    options = asked()
    if options.read:
        report(*kept(options.read, options.jobs.split(",") if options.jobs else None))
        return
    name = f"duet-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
    output = options.output or overhead.ROOT / "benchmarks" / "results" / name
    output.parent.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leaves no temporary directory
    with tempfile.TemporaryDirectory(prefix="hearth-duet-") as state, ExitStack() as stack:
        os.environ["HEARTH_STATE"] = state
        # A process a side: what it starts has its affinity, and it counts the CPU time of that.
        sides = [
            stack.enter_context(ProcessPoolExecutor(1, None, os.sched_setaffinity, (0, cpus)))
            for cpus in halves()
        ]
        fixed = [
            duet(sides, overhead.nothing, [(Path(state) / str(side),) for side in (0, 1)])
            for _ in range(0 if options.control else options.fixed + 1)
        ][1:]  # the first makes hearth's class-data archive
        overhead.write(output, {"arm": "nothing", "runs": fixed})
        rows = measure(options, sides, output)
    report(rows, [run for both in fixed for run in both])
    print(f"\nRaw results: {output}")


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=1, help="pairs of each job")
    parser.add_argument("--times", type=int, default=1, help="the default sizes of the data")
    parser.add_argument("--jobs", help="these alone, separated by commas; default: the suite")
    parser.add_argument("--control", action="store_true", help="plain runs on both sides")
    parser.add_argument("--fixed", type=int, default=5, help="runs that do nothing, of each side")
    parser.add_argument("--seed", type=int, default=1, help="of the order")
    parser.add_argument("--output", type=Path, help="raw results (default: benchmarks/results/)")
    parser.add_argument("--read", type=Path, nargs="+", metavar="FILE", help="runs nothing")
    return parser.parse_args(namespace=argparse.Namespace(master="local[*]"))


def halves() -> list[set[int]]:
    """Of the CPUs of this process, neighbours together; a CPU too many stays idle."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise SystemExit("a duet needs 2 CPUs, and this process may use 1")
    half = len(cpus) // 2
    return [set(cpus[:half]), set(cpus[half : 2 * half])]


def duet(sides: Sides, what: Any, arguments: list[tuple[Any, ...]]) -> list[Row]:
    """The same on both sides at the same time, each with its own arguments."""
    running = [side.submit(what, *words) for side, words in zip(sides, arguments, strict=True)]
    wait(running)  # where one fails, the other ends before anything else begins
    return [each.result() for each in running]


def one_run(
    offer: catalogue.Catalogue, entry: suites.Entry, options: argparse.Namespace, arm: str
) -> Row:
    try:
        return overhead.one_run(offer, entry, options, arm)
    except (UserError, RunError) as failure:  # as words: it does not pass between processes
        return {"failure": str(failure)}


def measure(options: argparse.Namespace, sides: Sides, output: Path) -> list[Row]:
    offer = catalogue.load()
    entries = suites.named(options.jobs, offer) if options.jobs else suites.suite("batch", offer)
    draw = random.Random(options.seed)
    planned = [(-1, suites.Entry(offer.job(overhead.WARM_UP)))]
    for number in range(options.repeat):
        planned += [(number, entry) for entry in draw.sample(entries, len(entries))]
    other = "plain" if options.control else "profile"
    rows: list[Row] = []
    for pair, (number, entry) in enumerate(planned):
        overhead.make_data(offer, entry, options)
        for side in draw.sample((0, 1), 2):
            arms = [other, "plain"] if side == 0 else ["plain", other]
            row: Row = {
                "job": entry.job.name,
                "repetition": number,
                "pair": pair,
                "arms": arms,
            }
            words = [(offer, entry, options, arm) for arm in arms]
            runs = duet(sides, one_run, words)
            failures = [run["failure"] for run in runs if "failure" in run]
            if failures:
                print(f"  {row['job']} failed, its pair does not count: {failures[0]}")
                continue
            # `arms` as they sat; the runs as they are compared: without a profile first.
            row["runs"] = runs[::-1] if side == 0 else runs
            overhead.write(output, row)
            rows.append(row)
            wall = [run["wall_s"] for run in row["runs"]]
            times = f"{wall[0]:7.2f} s, {other} {wall[1]:7.2f} s, ratio {wall[1] / wall[0]:.3f}"
            print(f"  {pair}/{len(planned) - 1} {row['job']:22} plain {times}", flush=True)
    return [row for row in rows if row["repetition"] >= 0]


def kept(files: list[Path], jobs: list[str] | None) -> tuple[list[Row], list[Row]]:
    """The duets in these files, of these jobs or all, and the runs that do nothing.

    Pairs of each file stay its own.
    """
    rows, fixed = [], []
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row.get("arm") == "nothing":
                fixed += [run for both in row["runs"] for run in both]
            elif row["repetition"] >= 0 and (jobs is None or row["job"] in jobs):
                rows.append({**row, "pair": (file, row["pair"])})
    return rows, fixed


def report(rows: list[Row], fixed: list[Row]) -> None:
    pairs: dict[Any, list[Row]] = {}
    for row in rows:
        pairs.setdefault(row["pair"], []).append(row)
    whole = [pair for pair in pairs.values() if len(pair) == 2]
    if not whole:
        raise SystemExit("no pair of duets is whole, so there is nothing to report")
    show("the jobs' own phases", whole, "seconds")
    show("from start to end", whole, "wall_s")
    show("CPU seconds", whole, "cpu_s")
    for what, name in (("from start to end", "wall_s"), ("CPU seconds", "cpu_s")):
        show_line(what, whole, name)
    if not fixed:
        return
    added = {name: statistics.median(run[name] for run in fixed) for name in ("added_s", "cpu_s")}
    print(
        f"a program that does nothing: {added['added_s']:.2f} s longer, {added['cpu_s']:.2f} CPU s "
        f"(medians of {len(fixed)}); without it"
    )
    show("from start to end", whole, "wall_s", added["added_s"])
    show("CPU seconds", whole, "cpu_s", added["cpu_s"])


def show(what: str, pairs: list[list[Row]], name: str, less: float = 0.0) -> None:
    """Each pair's two duets together; `less` is taken off each run with profile."""
    sums = [
        (
            sum(row["runs"][1][name] - less for row in pair),
            sum(row["runs"][0][name] for row in pair),
        )
        for pair in pairs
    ]
    low, high = overhead.interval(sums)
    mine, base = (sum(side) for side in zip(*sums, strict=True))
    ratios = [one / two for one, two in sums]
    print(
        f"{what}: ratio {mine / base:.4f} [{low:.4f}, {high:.4f}] of {base:.0f} s; of "
        f"{len(pairs)} pairs {statistics.median(ratios):.3f}, {min(ratios):.3f} to "
        f"{max(ratios):.3f}"
    )


def show_line(what: str, pairs: list[list[Row]], name: str, draws: int = 2000) -> None:
    """What a run takes longer = a + b * what the plain run takes, by least squares over the pairs.

    With 95 % percentile intervals of a and b from `draws` resamples of the pairs (seeded).
    """
    points = [
        (
            statistics.mean(row["runs"][0][name] for row in pair),
            statistics.mean(row["runs"][1][name] - row["runs"][0][name] for row in pair),
        )
        for pair in pairs
    ]
    if len({plain for plain, _ in points}) < LEAST_POINTS:
        print(f"{what}: {len(points)} pairs are too few for a line")
        return
    order = random.Random(0)
    drawn = [order.choices(points, k=len(points)) for _ in range(draws)]
    lines = [statistics.linear_regression(*zip(*some, strict=True)) for some in drawn]
    slope, each_s = statistics.linear_regression(*zip(*points, strict=True))
    ends = (int(0.025 * draws), int(0.975 * draws))
    each, share = (
        [sorted(values)[end] for end in ends]
        for values in ([line.intercept for line in lines], [line.slope for line in lines])
    )
    print(
        f"{what}, a line: {each_s:.2f} s [{each[0]:.2f}, {each[1]:.2f}] for each run and "
        f"{slope:.2%} [{share[0]:.2%}, {share[1]:.2%}] of its time"
    )


if __name__ == "__main__":
    main()
