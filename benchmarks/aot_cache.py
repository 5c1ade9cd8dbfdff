"""Java 25's ahead-of-time cache against the class-data archive: start, first queries, warm queries.

    .venv/bin/python benchmarks/aot_cache.py --java /usr/lib/jvm/temurin-25-jdk-amd64 --repeat 5

On one JDK of version 25 or later, for `local[2]` and for `local-numa[2x1]`: `classes`, driver and
executors start from class-data archives (-XX:ArchiveClassesAtExit, JEP 350), as hearth makes them;
`aot`, from ahead-of-time caches (-XX:AOTCacheOutput, JEP 483, 514, 515), which hold linked classes
and the profiles of methods; `none`, from neither. All are made by the same application
(hearth.spark.cds), and have the same class path. Every repetition runs each arm once in random
order (seeded), after one of each that is dropped.

`first task`: seconds from the command's start; `first queries` and `later queries`: TPC-H's, of
`--passes` passes; CPU seconds of all processes stand beside, which other work changes less.
"""

import argparse
import json
import os
import random
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from query_partitions import machine, ratios
from results import loads, overall, shown, spread, table

from hearth import jar_path
from hearth.machine.paths import spark_home
from hearth.spark import cds
from hearth.workloads import tpch

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 900
MASTERS = ("local[2]", "local-numa[2x1]")
WRITES = {"classes": "-XX:ArchiveClassesAtExit={}", "aot": "-XX:AOTCacheOutput={}"}
READS = {"classes": "-XX:SharedArchiveFile={} -Xshare:auto", "aot": "-XX:AOTCache={}"}
QUIET = "-Xlog:disable -Xlog:all=off:stderr"
MEASURES = (
    ("first task", "task_s"),
    ("first queries", "first_s"),
    ("later queries", "later_s"),
    ("start to end", "wall_s"),
    ("CPU, all", "cpu_s"),
)
QUESTIONS = (("aot", "classes"), ("classes", "none"), ("aot", "none"))

APPLICATION = """
import json, sys, time
from pyspark.sql import SparkSession
folder, queries, tables, passes = json.load(open(sys.argv[1]))
spark = SparkSession.builder.appName("aot").getOrCreate()
context = spark.sparkContext._jsc.sc()
spark.sparkContext.parallelize(range(2), 2)._jrdd.count()
begun = context.statusStore().taskList(0, 0, 1).apply(0).launchTime().getTime() / 1000
for table in tables:
    spark.read.parquet(f"{folder}/{table}").createOrReplaceTempView(table)
seconds = []
for _ in range(passes):
    begin = time.perf_counter()
    for query in queries:
        spark.sql(query).collect()
    seconds.append(round(time.perf_counter() - begin, 3))
print("RESULT", json.dumps({"begun": begun, "seconds": seconds}), flush=True)
spark.stop()
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--java", type=Path, required=True, help="home of a JDK 25 or later")
    parser.add_argument("--masters", default=",".join(MASTERS), help="of the runs")
    parser.add_argument("--queries", default="1,3,6,12", help="numbers of TPC-H's")
    parser.add_argument("--scale", type=float, default=0.1, help="TPC-H's scale factor")
    parser.add_argument("--passes", type=int, default=4, help="of the queries in an application")
    parser.add_argument("--repeat", type=int, default=5, help="applications of each arm")
    parser.add_argument("--seed", type=int, default=1, help="of the order within a repetition")
    parser.add_argument("--kept", type=Path, help="folder for data and archives, kept")
    parser.add_argument("--out", type=Path, help="raw results (default: benchmarks/results/)")
    options = parser.parse_args()
    name = f"aot-cache-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
    out = options.out or ROOT / "benchmarks" / "results" / name
    os.environ.update(JAVA_HOME=str(options.java), PYSPARK_PYTHON=sys.executable)
    with tempfile.TemporaryDirectory(prefix="hearth-aot-") as folder:
        rows = measured(options, options.kept or Path(folder), out)
    print("\n".join(page(rows)))
    print(f"\nRaw results: {out}")


def measured(options: argparse.Namespace, folder: Path, out: Path) -> list[dict[str, Any]]:
    folder.mkdir(exist_ok=True)
    data = folder / f"tpch-{options.scale:g}"
    tpch.ensure_tpch(options.scale, data)
    numbers = [int(number) for number in options.queries.split(",")]
    queries = [tpch.query_text(number, options.scale) for number in numbers]
    words, application = folder / "words.json", folder / "tpch.py"
    words.write_text(json.dumps([str(data), queries, tpch.TABLES, options.passes]))
    application.write_text(APPLICATION)
    order = random.Random(options.seed)
    facts: dict[str, Any] = {"scale": options.scale, "queries": numbers}
    facts["passes"] = options.passes
    masters = options.masters.split(",")
    archives = {m: {kind: made(kind, m, folder) for kind in WRITES} for m in masters}
    facts |= {"seed": options.seed, "java": java_version(options.java), "archives": archives}
    rows: list[dict[str, Any]] = [facts | machine()]
    with out.open("a") as file:
        file.write(json.dumps(rows[0]) + "\n")
        turns = [(m, a) for m in masters for a in ("none", *WRITES)]
        for repetition in range(-1, options.repeat):
            order.shuffle(turns)
            for master, arm in turns:
                row = {"master": master, "arm": arm, "repetition": repetition}
                row |= {"load": os.getloadavg()[0]} | one(
                    command(arm, master, folder, READS, [str(application), str(words)])
                )
                print(f"{repetition} {master} {arm}: {row}", flush=True)
                if repetition >= 0:
                    rows.append(row)
                    file.write(json.dumps(row) + "\n")
                    file.flush()
    return rows


def java_version(home: Path) -> str:
    words = [str(home / "bin" / "java"), "-version"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return done.stderr.splitlines()[-1].strip()


def archive(kind: str, master: str, side: str, folder: Path) -> Path:
    return folder / f"{side}-{master.partition('[')[0]}.{kind}"


def made(kind: str, master: str, folder: Path) -> dict[str, Any]:
    """Sizes in MB and CPU seconds of the archives; a training run makes missing ones."""
    sides = ["driver", *(["executor"] if "numa" in master else [])]
    files = {side: archive(kind, master, side, folder) for side in sides}
    begin, before = time.perf_counter(), children_cpu_s()
    if not all(file.exists() for file in files.values()):
        trained = folder / "training.py"
        trained.write_text(cds._APPLICATION)
        table_folder = Path(tempfile.mkdtemp(dir=folder)) / "table"
        one_slot = "local-numa[1x1]" if "numa" in master else master
        words = command(kind, one_slot, folder, WRITES, [str(trained), str(table_folder)])
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        (folder / f"{kind}-{master}.log").write_text(done.stdout + done.stderr)
        missing = [str(file) for file in files.values() if not file.exists()]
        if done.returncode or missing:
            sys.exit(f"no {kind} for {master}: {missing}\n{(done.stdout + done.stderr)[-3000:]}")
    sizes = {f"{side}_mb": file.stat().st_size >> 20 for side, file in files.items()}
    seconds = {"wall_s": round(time.perf_counter() - begin, 1)}
    return {**sizes, **seconds, "cpu_s": round(children_cpu_s() - before, 1)}


def command(
    arm: str, master: str, folder: Path, flags: dict[str, str], application: Sequence[str]
) -> list[str]:
    """How an application starts; flags: of each arm, by which archives are written or read."""
    jar = Path(jar_path()) if "numa" in master else None

    def options(side: str) -> str:
        ours = flags[arm].format(archive(arm, master, side, folder)) if arm in flags else ""
        logging = QUIET if flags is READS else ""
        return f"{ours} {logging}".strip()

    settings = {
        "spark.ui.enabled": "false",
        "spark.log.level": "WARN",
        "spark.local.dir": folder / "local",
        "spark.sql.warehouse.dir": folder / "warehouse",
        "spark.sql.shuffle.partitions": "4",
        "spark.driver.memory": "2g",
        "spark.executor.memory": "1g",
        "spark.driver.extraJavaOptions": options("driver"),
        "spark.executor.extraJavaOptions": options("executor"),
        "spark.hearth.classDataArchive": "false",
        "spark.hearth.neighbours": "ignore",
        "spark.hearth.runs.dir": folder / "runs",
        "spark.executorEnv.JAVA_HOME": os.environ["JAVA_HOME"],
    }
    confs = [w for k, v in settings.items() if v != "" for w in ("--conf", f"{k}={v}")]
    path = ["--driver-class-path", cds.class_path(spark_home(), jar)]
    submit = str(spark_home() / "bin" / "spark-submit")
    return [submit, "--master", master, *path, *confs, *application]


def one(words: list[str]) -> dict[str, Any]:
    began, begin, before = time.time(), time.perf_counter(), children_cpu_s()
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    wall = round(time.perf_counter() - begin, 3)
    cpu = round(children_cpu_s() - before, 2)
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            found = json.loads(line.removeprefix("RESULT "))
            first, *later = found["seconds"]
            task = round(found["begun"] - began, 3)
            measured = {"task_s": task, "first_s": first, "later_s": round(sum(later), 3)}
            return {**measured, "passes_s": found["seconds"], "wall_s": wall, "cpu_s": cpu}
    sys.exit(f"{shlex.join(words)}: exit {done.returncode}\n{(done.stdout + done.stderr)[-3000:]}")


def children_cpu_s() -> float:
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def page(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the tables in Markdown."""
    runs = [row for row in rows if "arm" in row]
    lines = [f"Load average {loads(runs)} at the start of the runs."]
    for master in dict.fromkeys(row["master"] for row in runs):
        of_master = [row for row in runs if row["master"] == master]
        lines += ["", f"`{master}`:", "", *ratio_table(of_master), "", *seconds_table(of_master)]
    return lines


def ratio_table(runs: Sequence[dict[str, Any]]) -> list[str]:
    lines = []
    for arm, base in QUESTIONS:
        found = [ratios(runs, arm, base, key) for _, key in MEASURES]
        cells = [shown(overall(some)) if some else "-" for some in found]
        lines.append([f"`{arm}`", f"`{base}`", str(len(found[0])), *cells])
    return table(["Arm", "Baseline", "Pairs", *(title for title, _ in MEASURES)], lines)


def seconds_table(runs: Sequence[dict[str, Any]]) -> list[str]:
    names = sorted({row["arm"] for row in runs})

    def cell(arm: str, key: str) -> str:
        return spread([row[key] for row in runs if row["arm"] == arm], 1)

    lines = [[f"`{arm}`", *(cell(arm, key) for _, key in MEASURES)] for arm in names]
    return table(["Arm, s", *(title for title, _ in MEASURES)], lines)


if __name__ == "__main__":
    main()
