"""What does hearth submit gain on queries: TPC-H under it, Spark's defaults and a careful user?

    .venv/bin/python benchmarks/query_partitions.py --scale 1 --repeat 5 --arms submit,careful,defaults
    .venv/bin/python benchmarks/query_partitions.py --scale 1 --repeat 3 --python

Every run is an application of its own: the 22 queries, all of them `--passes` times. Arms:
`defaults`, `spark-submit --master local[*]`; `careful`, the same with a heap of half of the memory
(at most 31 GB), ParallelGC, Kryo and four shuffle partitions for each CPU; `submit`, `hearth
submit`; `few-classes`, the same with spark.sql.codegen.cache.maxEntries=100, Spark's own;
`large-pages`, the same with pages of 64 MB for operators, which Spark takes of such a heap;
`adaptive`, the same with --width adaptive. One application before these warms page cache and class-data archives, and is dropped.

Answers must be equal in all arms, but for the order of their rows. Told apart: start to end of the
whole command, the queries' first pass and the later ones; CPU seconds, which other work on the
machine changes less; the classes that Spark generated in each pass. Use taskset for fewer CPUs.

`--python`: in place of the 22, four queries of lineitem whose functions are Python's: row by row,
by pandas, an aggregate by pandas, and row by row after a join.
"""  # noqa: E501

import fcntl
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import Benchmark, answer, settings
from results import Row, names, question_table, runs, spread, table, values

from hearth.base.sizes import parse_bytes
from hearth.machine.paths import cache_home, spark_home
from hearth.workloads import datasets, tpch

LIMIT_S = 1800
#: Arm, baseline.
QUESTIONS = (
    ("submit", "defaults"),
    ("submit", "careful"),
    ("submit", "few-classes"),
    ("submit", "large-pages"),
    ("adaptive", "submit"),
    ("submit", "usual-compiler"),
    ("submit", "large-young"),
    ("usual-compiler", "careful"),
    ("careful", "defaults"),
)
MEASURES = {
    "wall_s": "start to end",
    "first_s": "first pass",
    "later_s": "later passes",
    "wall_cpu_s": "CPU, start to end",
}
ARMS = ("defaults", "careful", "submit", "few-classes", "large-pages", "adaptive")

APPLICATION = """
import hashlib, json, os, sys, time
from pyspark.sql import SparkSession
folder, queries, tables, passes, functions = json.load(open(sys.argv[1]))
spark = SparkSession.builder.appName("tpch").getOrCreate()
spark.sparkContext.setLogLevel("WARN")
for table in tables:
    spark.read.parquet(f"{folder}/{table}").createOrReplaceTempView(table)

def cpu_s():
    "Of the driver's JVM, which started this."
    fields = open(f"/proc/{os.getppid()}/stat").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

metrics = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics

def generated():
    return metrics.METRIC_COMPILATION_TIME().getCount()

def ended(number):
    "Of a pass; functions may have another."

exec(functions)
seconds, answers, cpu, classes = [], [], [], []
for number in range(passes):
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
    ended(number)
beans = spark._jvm.java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()
found = {"seconds": seconds, "answers": answers, "cpu_s": cpu, "classes": classes}
found["gc_s"] = sum(bean.getCollectionTime() for bean in beans) / 1e3
status = open(f"/proc/{os.getppid()}/status").read()
found["peak_mb"] = int(status.partition("VmHWM:")[2].split()[0]) >> 10
print("RESULT", json.dumps(found), flush=True)
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
    bench = Benchmark(__doc__, page, arms=ARMS)
    add_tpch_options(bench)
    bench.parser.add_argument("--python", action="store_true", help="functions in Python")
    options = bench.parse()
    bench.begin()
    queries = [tpch.query_text(number, options.scale) for number in range(1, 23)]
    with tempfile.TemporaryDirectory(prefix="hearth-partitions-") as folder:
        application = written(
            Path(folder),
            options.data or data_of(options.scale),
            options.scale,
            PYTHON_QUERIES if options.python else queries,
            options.passes,
            FUNCTIONS if options.python else "",
        )
        commands = arms(Path(folder), application)
        one(commands["submit"])
        await_archives()
        bench.measure(lambda turn: one(commands[turn.arm]))
    bench.report()


def add_tpch_options(bench: Benchmark) -> None:
    add = bench.parser.add_argument
    add("--scale", type=float, default=1.0, help="TPC-H's scale factor")
    add("--passes", type=int, default=2, help="of the queries in an application")
    add("--data", type=Path, help="where the data are, or will be made")


def data_of(scale: float) -> Path:
    return Path(tempfile.gettempdir()) / f"hearth-tpch-{scale:g}"


def written(
    folder: Path, data: Path, scale: float, queries: Sequence[str], passes: int, functions: str = ""
) -> list[str]:
    """Write the application that runs these queries on data that are made where they are missing;
    return its words.
    """
    datasets.ensure(tpch.TpchTables(scale), data)
    words, application = folder / "words.json", folder / "tpch.py"
    words.write_text(json.dumps([str(data), list(queries), tpch.TABLES, passes, functions]))
    application.write_text(APPLICATION)
    return [str(application), str(words)]


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

    def command(words: list[str], conf: dict[str, Any]) -> list[str]:
        return [*words, *settings({**quiet, **conf}), *application]

    return {
        "defaults": command(plain, {}),
        "careful": command(plain, careful),
        "submit": command(hearth, {}),
        "few-classes": command(hearth, {"spark.sql.codegen.cache.maxEntries": "100"}),
        "large-pages": command(hearth, {"spark.buffer.pageSize": "64m"}),
        "adaptive": command(hearth, {"spark.hearth.width": "adaptive"}),
    }


def one(command: Sequence[str]) -> Row:
    """Return the seconds of a whole command and of its passes, and a digest of its answers."""
    result = answer(command, LIMIT_S)
    first, *later = [round(sum(seconds), 3) for seconds in result["seconds"]]
    row = {"wall_s": result["wall_s"], "first_s": first, "queries_s": result["seconds"]}
    row |= {"wall_cpu_s": result["wall_cpu_s"], "first_cpu_s": result["cpu_s"][0]}
    if later:
        row |= {"later_s": round(sum(later), 3), "later_cpu_s": round(sum(result["cpu_s"][1:]), 2)}
    digest = hashlib.sha256("".join(result["answers"]).encode()).hexdigest()[:12]
    kept = {key: result[key] for key in ("classes", "gc_s", "peak_mb")}
    return {**row, **kept, "answers": digest}


def await_archives() -> None:
    """Wait until the class-data archives that follow an application are made, or are given up."""
    time.sleep(5)
    with (cache_home() / ".training.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)


def page(rows: list[Row]) -> list[str]:
    """Return the tables in Markdown."""
    some = runs(rows)
    wrong = len({row["answers"] for row in some}) > 1
    measures = {key: title for key, title in MEASURES.items() if any(key in row for row in some)}
    lines = question_table(some, QUESTIONS, measures)
    lines += ["", *seconds_table(some, measures)]
    return ["**Answers differ between arms.**", "", *lines] if wrong else lines


def seconds_table(rows: list[Row], measures: dict[str, str]) -> list[str]:
    """Return of each arm the median seconds, and how many classes Spark generated in each pass."""

    def classes(arm: str) -> str:
        passes = zip(*(row["classes"] for row in rows if row["arm"] == arm), strict=False)
        return ", ".join("-".join(map(str, dict.fromkeys((min(n), max(n))))) for n in passes)

    has_classes = all("classes" in row for row in rows)
    lines = []
    for arm in sorted(names(rows, "arm")):
        cells = [f"`{arm}`", *(spread(values(rows, arm, key), 1) for key in measures)]
        lines.append([*cells, classes(arm)] if has_classes else cells)
    heads = ["Arm, s", *measures.values()]
    return table([*heads, "Classes, by pass"] if has_classes else heads, lines)


if __name__ == "__main__":
    main()
