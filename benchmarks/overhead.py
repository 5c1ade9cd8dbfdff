"""What `hearth profile` costs: every job of the batch suite with all probes, and without.

    .venv/bin/python benchmarks/overhead.py --repeat 2
    .venv/bin/python benchmarks/overhead.py --times 4

Each job runs in pairs under one master, in random order within a pair (seeded), its answer checked,
after one short pair that is dropped. Compared are the job's own phases, so that what profile does
before and after (trying the probes, closing the record), which the wall time shows, does not hide
in the ratio; and the CPU seconds of everything that was started, which depend less on other work.
Reported: the ratio of all seconds with profile to all without, with Student's t interval over the
pairs, and the median of the pairs' ratios. Raw values go to benchmarks/results/ as each run ends.

Two runs of a job differ by more than what is asked here, so the parts that can be told apart are
added up too, in CPU seconds: what profile takes of a program that does nothing (--fixed runs), the
sampling process, and how much more Spark's listener threads take than without, one of which writes
the event log. Not in that sum: what these parts do to the caches and the compiler of the job.
"""

import argparse
import json
import math
import os
import platform
import random
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from results import ratio_of_totals, shown, table

from hearth import UserError
from hearth.machine import paths
from hearth.record.store import new_name
from hearth.studies.engine.target import PROFILE
from hearth.workloads import cases, catalogue, datasets, suites
from hearth.workloads.runner import RunError

ROOT = Path(__file__).resolve().parents[1]
ARMS: dict[str, tuple[str, ...]] = {"plain": (), "profile": (*PROFILE, "--arm", "profile")}
WARM_UP = "sort-by"
LISTENERS = "spark-listener-"  # what the kernel keeps of spark-listener-group-eventLog and others
COMPARED = {
    "seconds": "the jobs' own phases",
    "wall_s": "from start to end",
    "cpu_s": "CPU seconds",
}
LOOK_S = 1.0
Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=2, help="pairs of each job")
    parser.add_argument("--master", default="local[*]", help="of every run")
    parser.add_argument("--times", type=int, default=1, help="the default sizes of the data")
    parser.add_argument("--jobs", help="these alone, separated by commas; default: the suite")
    parser.add_argument("--fixed", type=int, default=10, help="runs that do nothing")
    parser.add_argument("--seed", type=int, default=1, help="of the order")
    parser.add_argument("--output", type=Path, help="raw results (default: benchmarks/results/)")
    options = parser.parse_args()
    name = f"overhead-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
    output = options.output or ROOT / "benchmarks" / "results" / name
    output.parent.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leaves no temporary directory
    with tempfile.TemporaryDirectory(prefix="hearth-overhead-") as state:
        os.environ["HEARTH_STATE"] = state
        fixed = [nothing(Path(state)) for _ in range(options.fixed)]
        write(output, {"arm": "nothing", "runs": fixed})
        rows = measure(options, output)
    print("\n".join(page([{"arm": "nothing", "runs": fixed}, *rows])))
    print(f"\nRaw results: {output}")


def measure(options: argparse.Namespace, output: Path) -> list[Row]:
    offer = catalogue.load()
    entries = suites.named(options.jobs, offer) if options.jobs else suites.suite("batch", offer)
    warm_up = suites.SuiteEntry(offer.job(WARM_UP))
    draw = random.Random(options.seed)
    planned = [(-1, warm_up)]
    for number in range(options.repeat):
        planned += [(number, entry) for entry in draw.sample(entries, len(entries))]
    rows: list[Row] = []
    for pair, (number, entry) in enumerate(planned):
        for arm in draw.sample(list(ARMS), len(ARMS)):
            row = {"arm": arm, "job": entry.job.name, "repetition": number, "pair": pair}
            try:
                row |= one_run(offer, entry, options, arm)
            except (UserError, RunError) as failure:
                print(f"  {row['job']} {arm} failed, its pair does not count: {failure}")
                continue
            write(output, row)
            rows.append(row)
            place = f"{pair}/{len(planned) - 1}"
            print(f"  {place:6} {row['job']:22} {arm:8} {row['seconds']:7.2f} s", flush=True)
    return rows


def write(output: Path, row: Row) -> None:
    with output.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def nothing(folder: Path) -> Row:
    """Profile of a second's sleep in place of Spark: CPU seconds, and seconds beyond that one."""
    home = folder / "nothing"
    (home / "bin").mkdir(parents=True, exist_ok=True)
    if not (home / "jars").exists():
        (home / "jars").symlink_to(paths.spark_home() / "jars")
        (home / "bin" / "spark-submit").write_text("#!/bin/sh\nexec sleep 1\n")
        (home / "bin" / "spark-submit").chmod(0o755)
    begin, cpu_s = time.monotonic(), children_cpu_s()
    words = [*ARMS["profile"], "--master", "local[*]", "nothing.py"]
    environment = {**os.environ, "SPARK_HOME": str(home)}
    done = subprocess.run(words, env=environment, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"profile of nothing failed: {done.stderr.decode()}")
    row = {"cpu_s": children_cpu_s() - cpu_s, "added_s": time.monotonic() - begin - 1}
    record = done.stderr.decode().split()[-1]
    return {name: round(value, 3) for name, value in row.items()} | sampler_cpu_s(record)


@contextmanager
def listeners_cpu_s(cost: Row) -> Iterator[None]:
    """Into `cost`: CPU seconds of the listener threads of the JVMs that run meanwhile."""
    seen: dict[Path, int] = {}
    over = threading.Event()

    def look() -> None:
        while not over.wait(LOOK_S):
            for process in Path("/proc").glob("[0-9]*"):
                seen.update(listeners_of(process))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()
        cost["listeners_cpu_s"] = round(sum(seen.values()) / 1e9, 3)


def listeners_of(process: Path) -> dict[Path, int]:
    """Nanoseconds that each listener thread of a JVM on our CPUs has run; else none."""
    found = {}
    try:
        ours = os.sched_getaffinity(int(process.name)) == os.sched_getaffinity(0)
        if ours and (process / "comm").read_text() == "java\n":
            for thread in (process / "task").iterdir():
                if (thread / "comm").read_text().startswith(LISTENERS):
                    found[thread] = int((thread / "schedstat").read_text().split()[0])
    except OSError:
        pass  # it has ended; what was read before stays
    return found


def make_data(
    offer: catalogue.Catalogue, entry: suites.SuiteEntry, options: argparse.Namespace
) -> cases.Case:
    """Make an entry's data before any measurement (a generator is a child); return its case."""
    sizes = [datasets.default_bytes(item.generator) for item in entry.job.inputs]
    size = options.times * max(sizes) if sizes else None  # some make their data by parameters
    case = cases.Case(entry.job, dict(entry.parameters), size)
    datasets.ensure_all(datasets.wanted_by(offer, case.job, case.parameters, size, case.seed))
    return case


def one_run(
    offer: catalogue.Catalogue, entry: suites.SuiteEntry, options: argparse.Namespace, arm: str
) -> dict[str, Any]:
    case = make_data(offer, entry, options)
    load = os.getloadavg()[0]
    begin, cpu_s = time.monotonic(), children_cpu_s()
    cost: Row = {}
    record = new_name(entry.job.name)
    on_record = ("--record", record) if ARMS[arm] else ()
    with listeners_cpu_s(cost):
        done = cases.run(offer, case, options.master, program=(*ARMS[arm], *on_record))
    row = cost | {
        "size_bytes": case.size_bytes,
        "seconds": done.document["seconds"],
        "wall_s": done.document["wall_s"],
        "cpu_s": round(children_cpu_s() - cpu_s, 3),
        "checked_s": round(time.monotonic() - begin, 3),
        "answer": done.document["verdict"]["status"],
        "master": done.document["spark"]["master"],
        "load": load,
        "cpus": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
    }
    return row | (sampler_cpu_s(record) if on_record else {})


def children_cpu_s() -> float:
    """Of all processes that were started and have ended: Spark, and what profile runs beside it."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def sampler_cpu_s(record: str) -> dict[str, float]:
    """CPU seconds of the sampling process, as its record tells."""
    costs = paths.state_home() / "records" / record / "samples" / "cost.jsonl"
    rows = map(json.loads, costs.read_text().splitlines())
    return {"sampler_cpu_s": {row["probe"]: row["cpu_s"] for row in rows}["sampler"]}


def page(rows: list[Row]) -> list[str]:
    """Return the tables in Markdown, without the warm-up: whole runs, and their separable parts."""
    fixed = [run for row in rows if row.get("arm") == "nothing" for run in row["runs"]]
    pairs: dict[int, dict[str, Row]] = {}
    for row in rows:
        if row["arm"] in ARMS and row["repetition"] >= 0:
            pairs.setdefault(row["pair"], {})[row["arm"]] = row
    whole = [pair for pair in pairs.values() if len(pair) == len(ARMS)]
    lines = []
    for what, title in COMPARED.items():
        both = [
            (pair["profile"][what], pair["plain"][what]) for pair in whole if what in pair["plain"]
        ]
        if both:
            mine, base = zip(*both, strict=True)
            middle = statistics.median(one / two for one, two in both)
            cells = [title, str(len(both)), f"{sum(mine):.1f} s", f"{sum(base):.1f} s"]
            lines.append([*cells, shown(ratio_of_totals(mine, base), 3), f"{middle:.3f}"])
    heads = ["Whole runs", "Pairs", "`profile`", "`plain`", "Ratio of all seconds"]
    shown_runs = table([*heads, "Median of the pairs"], lines)
    return [*shown_runs, "", *parts(whole, fixed)] if fixed else shown_runs


def parts(pairs: list[dict[str, Row]], fixed: list[Row]) -> list[str]:
    """CPU seconds that can be told apart, as shares of the CPU seconds of the plain runs."""
    nothing_s = statistics.median(row["cpu_s"] for row in fixed)
    start_s = min(row["sampler_cpu_s"] for row in fixed)  # is in nothing_s already
    sampling = [max(0.0, pair["profile"]["sampler_cpu_s"] - start_s) for pair in pairs]
    event_log = [
        pair["profile"]["listeners_cpu_s"] - pair["plain"]["listeners_cpu_s"] for pair in pairs
    ]
    both = [sum(each) for each in zip(sampling, event_log, strict=True)]
    named = {"sampling": sampling, "event log": event_log, "both, while a job runs": both}
    named["including before and after"] = [cost + nothing_s for cost in both]
    base = [pair["plain"]["cpu_s"] for pair in pairs]
    lines = []
    for name, costs in named.items():
        found = ratio_of_totals([b + c for c, b in zip(costs, base, strict=True)], base)
        low, high = found.interval or (-math.inf, math.inf)
        most = max(c / b for c, b in zip(costs, base, strict=True))
        cells = [f"{found.value - 1:.2%}", f"{low - 1:.2%} to {high - 1:.2%}", f"{most:.2%}"]
        lines.append([name, *(cell.replace("%", " %") for cell in cells)])
    return table(["Parts, of all CPU seconds", "", "95 % interval", "Most, of one job"], lines)


if __name__ == "__main__":
    main()
