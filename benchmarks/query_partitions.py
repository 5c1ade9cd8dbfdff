"""hearth's rule for queries: TPC-H under hearth submit, Spark's defaults and a careful user.

    .venv/bin/python benchmarks/query_partitions.py --scale 1 --repeat 5
    .venv/bin/python benchmarks/query_partitions.py --scale 1 --repeat 3 --within
    .venv/bin/python benchmarks/query_partitions.py --scale 1 --repeat 3 --python

Every repetition runs each arm once, as an application of its own, in random order (seeded): the 22
queries, all of them `--passes` times. Arms: `defaults`, `spark-submit --master local[*]`;
`careful`, the same with a heap of half of the memory (at most 31 GB), ParallelGC, Kryo and four
shuffle partitions for each CPU; `submit`, `hearth submit`; `one-number`, `hearth submit` with
spark.hearth.sql.partitionsByQuery=false, so with Spark's 200 partitions for each shuffle;
`few-classes`, with spark.sql.codegen.cache.maxEntries=100, Spark's own; `usual-compiler`, whose
second compiler (C2) keeps the JVM's own counts; `large-young`, whose young generation may take a
third of the heap. One application before these warms page cache and class-data archives, and is
dropped.

Answers must be equal in all arms, but for the order of their rows. Told apart: start to end of the
whole command, the queries' first pass and the later ones; of each the CPU seconds too (of a pass
the JVM's), which other work on the machine changes less, and the classes that Spark generated in
each pass.
An application is one sample. Use taskset for fewer CPUs.

`--python`: in place of the 22, four queries of lineitem whose functions are Python's: row by row,
by pandas, an aggregate by pandas, and row by row after a join.

`--within`: `hearth submit` alone, and in each application every query under each of `by query`,
200, and four and two partitions for each CPU, one after another, the first of them changing from
pass to pass. So start-up, heap and collector are the same. The first pass, in which one arm always
comes first and pays for compilation, does not count; a start is one sample.
"""

import argparse
import fcntl
import hashlib
import json
import os
import platform
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jvm_flags
from results import loads, overall, shown, spread, table

from hearth.base.sizes import parse_bytes
from hearth.machine.paths import cache_home, spark_home
from hearth.workloads import tpch

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 1800
QUESTIONS = (
    ("submit", "defaults"),
    ("submit", "careful"),
    ("submit", "one-number"),
    ("submit", "few-classes"),
    ("submit", "usual-compiler"),
    ("submit", "large-young"),
    ("usual-compiler", "careful"),
    ("careful", "defaults"),
)
MEASURES = (("start to end", "wall_s"), ("first pass", "first_s"), ("later passes", "later_s"))
CPU_MEASURES = tuple((f"{title}, CPU", f"{key[:-2]}_cpu_s") for title, key in MEASURES)

APPLICATION = """
import hashlib, json, os, sys, time
from pyspark.sql import SparkSession
folder, queries, tables, passes, functions, *_ = json.load(open(sys.argv[1]))
spark = SparkSession.builder.appName("tpch").getOrCreate()
spark.sparkContext.setLogLevel("WARN")
for table in tables:
    spark.read.parquet(f"{folder}/{table}").createOrReplaceTempView(table)
exec(functions)

def cpu_s():
    "Of the driver's JVM, which started this."
    fields = open(f"/proc/{os.getppid()}/stat").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

metrics = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics

def generated():
    return metrics.METRIC_COMPILATION_TIME().getCount()

seconds, answers, cpu, classes = [], [], [], []
for _ in range(passes):
    seconds.append([])
    before, so_far = cpu_s(), generated()
    for query in queries:
        begin = time.perf_counter()
        rows = spark.sql(query).collect()
        seconds[-1].append(round(time.perf_counter() - begin, 4))
        cells = [[f"{c:.6g}" if isinstance(c, float) else str(c) for c in row] for row in rows]
        answers.append(hashlib.sha256(json.dumps(sorted(cells)).encode()).hexdigest()[:12])
    cpu.append(round(cpu_s() - before, 2))
    classes.append(generated() - so_far)
found = {"seconds": seconds, "answers": answers, "cpu_s": cpu, "classes": classes}
print("RESULT", json.dumps(found), flush=True)
spark.stop()
"""

WITHIN = """
import json, sys, time
from pyspark.sql import SparkSession
folder, queries, tables, passes, _, key, arms = json.load(open(sys.argv[1]))
spark = SparkSession.builder.appName("tpch").getOrCreate()
spark.sparkContext.setLogLevel("WARN")
for table in tables:
    spark.read.parquet(f"{folder}/{table}").createOrReplaceTempView(table)
answers = {}
for turn in range(passes):
    names = list(arms)
    names = names[turn % len(names):] + names[:turn % len(names)]
    for number, query in enumerate(queries, 1):
        for arm in names:
            spark.conf.unset(key)
            if arms[arm]:
                spark.conf.set(key, arms[arm])
            begin = time.perf_counter()
            rows = spark.sql(query).collect()
            seconds = round(time.perf_counter() - begin, 4)
            cells = [[f"{c:.6g}" if isinstance(c, float) else str(c) for c in row] for row in rows]
            assert answers.setdefault(number, cells) == cells, (number, arm)
            row = {"pass": turn, "query": number, "arm": arm, "seconds": seconds}
            print("ROW", json.dumps(row), flush=True)
spark.stop()
"""

FUNCTIONS = """
import pandas as pd
from pyspark.sql.functions import pandas_udf

def net(price, discount):
    return price * (1 - discount)

spark.udf.register("net", net, "double")

@pandas_udf("double")
def net_by_pandas(price: pd.Series, discount: pd.Series) -> pd.Series:
    return price * (1 - discount)

@pandas_udf("double")
def middle(price: pd.Series) -> float:
    return float(price.median())

spark.udf.register("net_by_pandas", net_by_pandas)
spark.udf.register("middle", middle)
"""
PRICE, DISCOUNT = ("double(l_extendedprice)", "double(l_discount)")
PYTHON_QUERIES = (
    f"SELECT l_shipmode, sum(net({PRICE}, {DISCOUNT})) FROM lineitem GROUP BY 1 ORDER BY 1",
    f"SELECT l_shipmode, sum(net_by_pandas({PRICE}, {DISCOUNT})) FROM lineitem "
    "GROUP BY 1 ORDER BY 1",
    f"SELECT l_suppkey, middle({PRICE}) FROM lineitem GROUP BY 1 ORDER BY 1",
    f"SELECT o_orderpriority, sum(net({PRICE}, {DISCOUNT})) FROM lineitem JOIN orders "
    "ON l_orderkey = o_orderkey WHERE o_orderdate < '1995-01-01' GROUP BY 1 ORDER BY 1",
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="TPC-H's scale factor")
    parser.add_argument("--passes", type=int, default=2, help="of the 22 queries in an application")
    parser.add_argument("--repeat", type=int, default=5, help="applications of each arm")
    parser.add_argument("--arms", metavar="A,B", help="default: all")
    parser.add_argument("--within", action="store_true", help="all arms in each application")
    parser.add_argument("--python", action="store_true", help="queries with functions in Python")
    parser.add_argument("--seed", type=int, default=1, help="of the order within a repetition")
    parser.add_argument("--data", type=Path, help="where the data are, or will be made")
    parser.add_argument("--out", type=Path, help="raw results (default: benchmarks/results/)")
    options = parser.parse_args()
    name = f"query-partitions-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
    out = options.out or ROOT / "benchmarks" / "results" / name
    rows = measured(options, out)
    print("\n".join(page(rows)))
    print(f"\nRaw results: {out}")


def measured(options: argparse.Namespace, out: Path) -> list[dict[str, Any]]:
    data = options.data or Path(tempfile.gettempdir()) / f"hearth-tpch-{options.scale:g}"
    tpch.ensure_tpch(options.scale, data)
    queries = [tpch.query_text(number, options.scale) for number in range(1, 23)]
    if options.python:
        queries = list(PYTHON_QUERIES)
    order = random.Random(options.seed)
    given = {"scale": options.scale, "passes": options.passes, "seed": options.seed}
    rows = [given | ({"python": True} if options.python else {}) | machine()]
    with tempfile.TemporaryDirectory(prefix="hearth-partitions-") as folder, out.open("a") as file:
        words = Path(folder) / "words.json"
        functions = FUNCTIONS if options.python else ""
        parts = [str(data), queries, tpch.TABLES, options.passes, functions]
        words.write_text(json.dumps([*parts, *within_arms()]))
        application = Path(folder) / "tpch.py"
        application.write_text(WITHIN if options.within else APPLICATION)
        offer = arms(Path(folder), [str(application), str(words)])
        chosen = options.arms.split(",") if options.arms else list(offer)
        file.write(json.dumps(rows[0]) + "\n")
        for start in range(options.repeat if options.within else 0):
            load = {"start": start, "load": os.getloadavg()[0]}
            found = [load | row for row in within(offer["submit"])]
            file.write("".join(json.dumps(row) + "\n" for row in found))
            rows += found
        if options.within:
            return rows
        one(offer["submit"])
        await_archives()
        for repetition in range(options.repeat):
            order.shuffle(chosen)
            for arm in chosen:
                row = {"arm": arm, "repetition": repetition, "load": os.getloadavg()[0]}
                row |= one(offer[arm])
                rows.append(row)
                file.write(json.dumps(row) + "\n")
                file.flush()
                print(f"{repetition} {arm}: {row['wall_s']} s", flush=True)
    return rows


def arms(folder: Path, application: Sequence[str]) -> dict[str, list[str]]:
    cpus = len(os.sched_getaffinity(0))
    half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    careful = {
        "spark.driver.memory": f"{min(half, parse_bytes('31g', 'heap')) >> 20}m",
        "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.sql.shuffle.partitions": str(4 * cpus),
    }
    quiet = {"spark.ui.enabled": "false", "spark.local.dir": folder / "local"}
    plain = [str(spark_home() / "bin" / "spark-submit"), "--master", "local[*]"]
    hearth = [sys.executable, "-m", "hearth", "submit"]
    usual = jvm_flags.QUESTIONS["second-compiler"]["usual"]
    large = jvm_flags.QUESTIONS["young-generation"]["usual"]

    def command(words: list[str], conf: dict[str, Any]) -> list[str]:
        settings = [w for k, v in {**quiet, **conf}.items() for w in ("--conf", f"{k}={v}")]
        return [*words, *settings, *application]

    return {
        "defaults": command(plain, {}),
        "careful": command(plain, careful),
        "submit": command(hearth, {}),
        "one-number": command(hearth, {"spark.hearth.sql.partitionsByQuery": "false"}),
        "few-classes": command(hearth, {"spark.sql.codegen.cache.maxEntries": "100"}),
        "usual-compiler": command(hearth, {"spark.driver.extraJavaOptions": usual}),
        "large-young": command(hearth, {"spark.driver.extraJavaOptions": large}),
    }


def one(command: list[str]) -> dict[str, Any]:
    """Seconds of the whole command and of its passes, and a digest of its answers."""
    begin, before = time.perf_counter(), children_cpu_s()
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=LIMIT_S, check=False, env=environment
    )
    wall = round(time.perf_counter() - begin, 3)
    cpu = round(children_cpu_s() - before, 2)
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            found = json.loads(line.removeprefix("RESULT "))
            first, *later = [sum(seconds) for seconds in found["seconds"]]
            answers = hashlib.sha256("".join(found["answers"]).encode()).hexdigest()[:12]
            passes = {"first_s": round(first, 3), "queries_s": found["seconds"]}
            passes |= {"wall_cpu_s": cpu, "first_cpu_s": found["cpu_s"][0]}
            more = {"later_s": round(sum(later), 3)} if later else {}
            more |= {"later_cpu_s": round(sum(found["cpu_s"][1:]), 2)} if later else {}
            more |= {"classes": found["classes"]}
            return {"wall_s": wall, **passes, **more, "answers": answers}
    sys.exit(f"{command}: no result (exit {done.returncode})\n{done.stderr[-3000:]}")


def await_archives() -> None:
    """Wait until the class-data archives that follow an application are made, or are given up."""
    time.sleep(5)
    with (cache_home() / ".training.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)


def children_cpu_s() -> float:
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def within_arms() -> tuple[str, dict[str, str | None]]:
    """Return the setting that an application's arms differ in; each one's value, hearth's first."""
    cpus = len(os.sched_getaffinity(0))
    numbers = {"200": "200", "4 a CPU": f"{4 * cpus}", "2 a CPU": f"{2 * cpus}"}
    return "spark.sql.shuffle.partitions", {"by query": None, **numbers}


def within(command: list[str]) -> list[dict[str, Any]]:
    """Run an application that tries all arms itself, and return its rows."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command}: exit {done.returncode}\n{done.stderr[-3000:]}")
    lines = done.stdout.splitlines()
    return [json.loads(line.removeprefix("ROW ")) for line in lines if line.startswith("ROW ")]


def machine() -> dict[str, object]:
    facts = {"kernel": platform.release(), "architecture": platform.machine()}
    return {"cpus": len(os.sched_getaffinity(0)), **facts}


def page(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the tables in Markdown."""
    runs = [row for row in rows if "arm" in row]
    if any("query" in row for row in runs):
        return within_table(runs)
    wrong = len({row["answers"] for row in runs}) > 1
    lines = [f"Load average {loads(runs)} at the start of the runs."]
    lines += ["", "**Answers differ between arms.**"] if wrong else []
    lines += ["", *ratio_table(runs), "", *seconds_table(runs)]
    if all("wall_cpu_s" in row for row in runs):
        lines += ["", *ratio_table(runs, CPU_MEASURES), "", *seconds_table(runs, CPU_MEASURES)]
    if all("classes" in row for row in runs):
        lines += ["", *classes_table(runs)]
    return lines


def classes_table(runs: Sequence[dict[str, Any]]) -> list[str]:
    """Of each arm how many classes Spark generated in each pass: all counts that were seen."""

    def seen(arm: str, turn: int) -> str:
        counts = sorted({row["classes"][turn] for row in runs if row["arm"] == arm})
        return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"

    passes = range(min(len(row["classes"]) for row in runs))
    arms = sorted({row["arm"] for row in runs})
    lines = [[f"`{arm}`", *(seen(arm, turn) for turn in passes)] for arm in arms]
    return table(["Classes generated", *(f"pass {turn + 1}" for turn in passes)], lines)


def within_table(runs: Sequence[dict[str, Any]]) -> list[str]:
    """Of the other numbers: the time by query over theirs, in warm passes."""
    ours, *others = dict.fromkeys(row["arm"] for row in runs)
    lines = []
    for other in others:
        found = over_starts(runs, other)
        ratios = ", ".join(f"{value:.2f}" for value in found)
        lines.append([f"`{other}`", ratios, shown(overall(found))])
    return table(["Partitions", f"`{ours}` to it, by start", "Ratio, 95 % interval"], lines)


def over_starts(runs: Sequence[dict[str, Any]], other: str) -> list[float]:
    """Of each start the seconds of all queries under the first arm over those under another one;
    queries of warm passes that ran under every arm."""
    found: dict[Any, dict[str, float]] = {}
    for row in runs:
        if row["pass"] > 0:
            found.setdefault((row["start"], row["pass"], row["query"]), {})[row["arm"]] = row[
                "seconds"
            ]
    arms = dict.fromkeys(row["arm"] for row in runs)
    ours = next(iter(arms))
    whole = {key: seconds for key, seconds in found.items() if set(seconds) == set(arms)}

    def total(start: int, arm: str) -> float:
        return sum(seconds[arm] for key, seconds in whole.items() if key[0] == start)

    starts = sorted({key[0] for key in whole})
    return [total(start, ours) / total(start, other) for start in starts]


Measures = tuple[tuple[str, str], ...]


def ratio_table(runs: Sequence[dict[str, Any]], measures: Measures = MEASURES) -> list[str]:
    lines = []
    for arm, base in QUESTIONS:
        found = [ratios(runs, arm, base, key) for _, key in measures]
        if found[0]:
            cells = [shown(overall(some)) if some else "-" for some in found]
            lines.append([f"`{arm}`", f"`{base}`", str(len(found[0])), *cells])
    return table(["Arm", "Baseline", "Pairs", *(title for title, _ in measures)], lines)


def ratios(runs: Sequence[dict[str, Any]], arm: str, base: str, key: str) -> list[float]:
    """Of each repetition (of each series) the arm's seconds over the baseline's."""
    by_run = {
        ((r.get("series"), r.get("instance"), r["repetition"]), r["arm"]): r[key]
        for r in runs
        if key in r
    }
    pairs = [(by_run.get((turn, base)), value) for (turn, a), value in by_run.items() if a == arm]
    return [value / other for other, value in pairs if other]


def seconds_table(runs: Sequence[dict[str, Any]], measures: Measures = MEASURES) -> list[str]:
    names = list(dict.fromkeys(row["arm"] for row in runs))

    def cell(arm: str, key: str) -> str:
        found = [row[key] for row in runs if row["arm"] == arm and key in row]
        return spread(found, 1) if found else "-"

    lines = [[f"`{arm}`", *(cell(arm, key) for _, key in measures)] for arm in sorted(names)]
    return table(["Arm, s", *(title for title, _ in measures)], lines)


if __name__ == "__main__":
    main()
