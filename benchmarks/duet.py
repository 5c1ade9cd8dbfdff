"""What does `hearth profile` cost: runs with all probes and without, side by side?

    .venv/bin/python benchmarks/duet.py --times 32 --cases word-count,grep,sort
    .venv/bin/python benchmarks/duet.py --control

A duet (Bulej, Horký, Tůma, Farquet and Prokopec: Duet Benchmarking, ICPE 2020): both runs at the
same time, each on CPUs of its own, so that what slows the whole machine slows both and drops out of
their ratio. Each pair is two duets, the profile first on the left side, then on the right (in
random order), so that a side that is quicker drops out as well. --control: plain runs on both
sides, which shows the noise that is left. A JVM and its probes see the CPUs of their side alone:
what they take is set against half of the machine. Told too: what a profile takes of a program that
does nothing, which no run is too short to pay.
"""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from harness import Benchmark, Turn, children_cpu_s
from results import Row, ratio_of_totals, shown, table

from hearth import Ratio, UserError
from hearth.machine import paths
from hearth.studies.engine.target import PROFILE
from hearth.workloads import cases, catalogue, datasets, suites
from hearth.workloads.runner import RunError

MASTER = "local[*]"
WORDS: dict[str, tuple[str, ...]] = {"plain": (), "profile": (*PROFILE, "--arm", "profile")}
WARM_UP = "sort-by"
LONG_S = 40.0
NOTHING = "nothing"
MEASURES = {"seconds": "the jobs' own phases", "wall_s": "from start to end", "cpu_s": "CPU s"}
Sides = list[ProcessPoolExecutor]
#: Of each job its data, made before any measurement.
Cases = dict[str, cases.Case]


def main() -> None:
    bench = Benchmark(__doc__, page, arms=("left", "right"), cases=suite(), repeat=1, any_case=True)
    add = bench.parser.add_argument
    add("--times", type=int, default=1, help="the default sizes of the data")
    add("--control", action="store_true", help="plain runs on both sides")
    add("--fixed", type=int, default=5, help="runs that do nothing, of each side")
    options = bench.parse()
    bench.begin()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leaves no temporary directory
    offer = catalogue.load()
    named = {name: suites.named(name, offer)[0] for name in (*bench.cases, WARM_UP)}
    made = {name: make_data(offer, entry, options.times) for name, entry in named.items()}
    other = "plain" if options.control else "profile"
    with tempfile.TemporaryDirectory(prefix="hearth-duet-") as state, ExitStack() as stack:
        os.environ["HEARTH_STATE"] = state
        # A process a side: what it starts has its affinity, and it counts the CPU time of that.
        sides = [
            stack.enter_context(ProcessPoolExecutor(1, None, os.sched_setaffinity, (0, cpus)))
            for cpus in halves()
        ]
        if not options.control and not any(row.get("arm") == NOTHING for row in bench.rows):
            folders = [(Path(state) / str(side),) for side in (0, 1)]
            fixed = [duet(sides, nothing, folders) for _ in range(options.fixed + 1)]
            # the first makes hearth's class-data archive
            bench.keep({"arm": NOTHING, "runs": fixed[1:]})

        def run(turn: Turn) -> Row:
            arms = [other, "plain"] if turn.arm == "left" else ["plain", other]
            both = duet(sides, one_run, [(offer, made[turn.case], arm) for arm in arms])
            failures = [row["failure"] for row in both if "failure" in row]
            if failures:
                return {"failure": failures[0]}
            return {"runs": both[::-1] if turn.arm == "left" else both}  # the plain one first

        run(Turn(0, -1, WARM_UP, "left"))
        bench.measure(run)
    bench.report()


def suite() -> list[str]:
    """Return the names of all batch jobs."""
    return ["word-count", "grep", "sort", "naive-bayes", "k-means", "gaussian-mixture",
            "sparse-naive-bayes", "linear-svm", "logistic-regression", "sql-aggregation",
            "sql-join", "rdd-relation", "page-rank", "connected-components", "triangle-count",
            "tpch", "group-by", "sort-by"]  # fmt: skip


def halves() -> list[set[int]]:
    """Return halves of the CPUs of this process, neighbours together."""
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


def make_data(offer: catalogue.Catalogue, entry: suites.SuiteEntry, times: int) -> cases.Case:
    """Make an entry's data before any measurement (a generator is a child); return its case."""
    sizes = [datasets.default_bytes(item.generator) for item in entry.job.inputs]
    size = times * max(sizes) if sizes else None  # some make their data by parameters
    case = cases.Case(entry.job, dict(entry.parameters), size)
    datasets.ensure_all(datasets.wanted_by(offer, case.job, case.parameters, size, case.seed))
    return case


def one_run(offer: catalogue.Catalogue, case: cases.Case, arm: str) -> Row:
    """Run a job once; a failure is words, as it does not pass between processes."""
    cpu_s = children_cpu_s()
    try:
        done = cases.run(offer, case, MASTER, program=WORDS[arm])
    except (UserError, RunError) as failure:
        return {"failure": str(failure)}
    return {
        "size_bytes": case.size_bytes,
        "seconds": done.document["seconds"],
        "wall_s": done.document["wall_s"],
        "cpu_s": round(children_cpu_s() - cpu_s, 3),
        "answer": done.document["verdict"]["status"],
    }


def nothing(folder: Path) -> Row:
    """Profile a second's sleep in place of Spark: CPU seconds, and seconds beyond that one."""
    home = folder / "nothing"
    (home / "bin").mkdir(parents=True, exist_ok=True)
    if not (home / "jars").exists():
        (home / "jars").symlink_to(paths.spark_home() / "jars")
        (home / "bin" / "spark-submit").write_text("#!/bin/sh\nexec sleep 1\n")
        (home / "bin" / "spark-submit").chmod(0o755)
    begin, cpu_s = time.monotonic(), children_cpu_s()
    words = [*WORDS["profile"], "--master", MASTER, "nothing.py"]
    environment = {**os.environ, "SPARK_HOME": str(home)}
    done = subprocess.run(words, env=environment, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"profile of nothing failed: {done.stderr.decode()}")
    row = {"cpu_s": children_cpu_s() - cpu_s, "added_s": time.monotonic() - begin - 1}
    return {name: round(value, 3) for name, value in row.items()}


def page(rows: list[Row]) -> list[str]:
    """Return the table in Markdown, of the pairs of which both duets are there; and what a profile
    of a program that does nothing takes.
    """
    whole = whole_pairs(rows)
    lines = [cells(title, whole, what) for what, title in MEASURES.items()]
    long = [pair for pair in whole if plain_s(pair) >= LONG_S]
    short = [pair for pair in whole if plain_s(pair) < LONG_S]
    for which, some in ((f"{LONG_S:.0f} s and more", long), ("less", short)):
        if long and short:
            lines.append(cells(f"from start to end, jobs of {which}", some, "wall_s"))
    text = table(["", "Pairs", "Plain run, on average", "Ratio of all seconds"], lines)
    fixed = [run for row in rows if row.get("arm") == NOTHING for two in row["runs"] for run in two]
    if fixed:
        added, cpu = (
            statistics.median(run[what] for run in fixed) for what in ("added_s", "cpu_s")
        )
        took = f"{added:.2f} s and {cpu:.2f} CPU s (medians of {len(fixed)} runs)."
        text += ["", f"A profile of a program that does nothing takes {took}"]
    return text


def whole_pairs(rows: list[Row]) -> list[list[Row]]:
    """Return the pairs of each series of which both duets were run, without warm-ups."""
    pairs: dict[Any, list[Row]] = {}
    for row in rows:
        if "runs" in row and row.get("arm") != NOTHING and row["repetition"] >= 0:
            place = (row.get("series"), row["case"], row["repetition"])
            pairs.setdefault(place, []).append(row)
    return [pair for pair in pairs.values() if len(pair) == 2]


def plain_s(pair: list[Row]) -> float:
    """Return the seconds from start to end of the plain runs of a pair, on average."""
    return statistics.fmean(float(row["runs"][0]["wall_s"]) for row in pair)


def ratio(pairs: list[list[Row]], what: str) -> Ratio:
    """Return the ratio of all seconds with a profile to all without, a pair's duets together."""
    base, mine = (
        [sum(row["runs"][side][what] for row in pair) for pair in pairs] for side in (0, 1)
    )
    return ratio_of_totals(mine, base)


def cells(title: str, pairs: list[list[Row]], what: str) -> list[str]:
    plain = statistics.mean(row["runs"][0][what] for pair in pairs for row in pair)
    return [title, str(len(pairs)), f"{plain:.0f} s", shown(ratio(pairs, what), 3)]


if __name__ == "__main__":
    main()
