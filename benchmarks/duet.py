"""What `hearth profile` costs, apart from noise: runs with all probes and without, side by side.

    .venv/bin/python benchmarks/duet.py --times 4 --repeat 2

A duet (Bulej, Horký, Tůma, Farquet and Prokopec: Duet Benchmarking, ICPE 2020): both arms run at
the same time, each on CPUs of its own, so that what slows the whole machine slows both and drops
out of their ratio. Each pair is two duets, the arms having changed sides, so that a side that is
quicker than the other drops out as well.

Reported are ratios of all seconds with profile to all without, with Student's t interval over the
pairs: of the jobs' own phases, of the time from start to end, of CPU seconds; and what profile
takes of a program that does nothing, which no run is too short to pay. --control runs the same
without a profile on either side, and shows the noise that is left.

The JVM sees the CPUs of its side alone, and so do the probes: what they take is set against half of
the machine. Where one arm takes longer, it ends without company: a difference is shown smaller than
it is by as much as one side slows the other, which of a small difference is little.
"""

import argparse
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
from results import ratio_of_totals, shown, table

from hearth import Ratio, UserError
from hearth.workloads import catalogue, suites
from hearth.workloads.runner import RunError

LONG_S = 40.0
MEASURES = {
    "the jobs' own phases": "seconds",
    "from start to end": "wall_s",
    "CPU seconds": "cpu_s",
}
Row = dict[str, Any]
Sides = list[ProcessPoolExecutor]


def main() -> None:
    options = asked()
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
    print("\n".join(page([{"arm": "nothing", "runs": fixed}, *rows])))
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
    return parser.parse_args(namespace=argparse.Namespace(master="local[*]"))


def halves() -> list[set[int]]:
    """Of the CPUs of this process, neighbours together; a CPU too many stays idle."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise SystemExit("a duet needs 2 CPUs, and this process may use 1")
    half = len(cpus) // 2
    return [set(cpus[:half]), set(cpus[half : 2 * half])]


def duet(sides: Sides, what: Any, arguments: list[tuple[Any, ...]]) -> list[Row]:
    """Run the same on both sides at the same time, each with its own arguments."""
    running = [side.submit(what, *words) for side, words in zip(sides, arguments, strict=True)]
    wait(running)  # where one fails, the other ends before anything else begins
    return [each.result() for each in running]


def one_run(
    offer: catalogue.Catalogue, entry: suites.SuiteEntry, options: argparse.Namespace, arm: str
) -> Row:
    try:
        return overhead.one_run(offer, entry, options, arm)
    except (UserError, RunError) as failure:  # as words: it does not pass between processes
        return {"failure": str(failure)}


def measure(options: argparse.Namespace, sides: Sides, output: Path) -> list[Row]:
    offer = catalogue.load()
    entries = suites.named(options.jobs, offer) if options.jobs else suites.suite("batch", offer)
    draw = random.Random(options.seed)
    planned = [(-1, suites.SuiteEntry(offer.job(overhead.WARM_UP)))]
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
    return rows


def page(rows: list[Row]) -> list[str]:
    """Return the table in Markdown, of the pairs of which both duets are whole; and what a profile
    of a program that does nothing takes."""
    whole = whole_pairs(rows)
    lines = [cells(title, whole, what) for title, what in MEASURES.items()]
    long = [pair for pair in whole if plain_s(pair) >= LONG_S]
    short = [pair for pair in whole if plain_s(pair) < LONG_S]
    for which, some in ((f"{LONG_S:.0f} s and more", long), ("less", short)):
        if long and short:
            lines.append(cells(f"from start to end, jobs of {which}", some, "wall_s"))
    heads = ["", "Pairs", "Plain run, on average", "Ratio of all seconds", "Median of the pairs"]
    fixed = nothings(rows)
    if not fixed:
        return table(heads, lines)
    added, cpu = (statistics.median(run[what] for run in fixed) for what in ("added_s", "cpu_s"))
    nothing = f"A profile of a program that does nothing takes {added:.2f} s and {cpu:.2f} CPU s"
    return [*table(heads, lines), "", f"{nothing} (medians of {len(fixed)} runs)."]


def whole_pairs(rows: list[Row]) -> list[list[Row]]:
    """Pairs of each series, without the warm-up, of which both duets were run."""
    pairs: dict[Any, list[Row]] = {}
    for row in rows:
        if "runs" in row and row.get("arm") != "nothing" and row["repetition"] >= 0:
            pairs.setdefault((row.get("series"), row["pair"]), []).append(row)
    return [pair for pair in pairs.values() if len(pair) == 2]


def nothings(rows: list[Row]) -> list[Row]:
    return [
        run for row in rows if row.get("arm") == "nothing" for both in row["runs"] for run in both
    ]


def plain_s(pair: list[Row]) -> float:
    """Seconds from start to end of the plain runs of a pair, on average."""
    return statistics.fmean(float(row["runs"][0]["wall_s"]) for row in pair)


def ratio(pairs: list[list[Row]], what: str) -> Ratio:
    """Of all seconds with a profile to all without; each pair's two duets together."""
    mine, base = zip(*sums(pairs, what), strict=True)
    return ratio_of_totals(mine, base)


def sums(pairs: list[list[Row]], what: str) -> list[tuple[float, float]]:
    return [
        (sum(row["runs"][1][what] for row in pair), sum(row["runs"][0][what] for row in pair))
        for pair in pairs
    ]


def cells(title: str, pairs: list[list[Row]], what: str) -> list[str]:
    each = [mine / base for mine, base in sums(pairs, what)]
    plain = statistics.mean(row["runs"][0][what] for pair in pairs for row in pair)
    middle = f"{statistics.median(each):.3f}"
    return [title, str(len(pairs)), f"{plain:.0f} s", shown(ratio(pairs, what), 3), middle]


if __name__ == "__main__":
    main()
