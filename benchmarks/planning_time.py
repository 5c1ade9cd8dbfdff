"""How much time the sizing of shuffles adds to the planning of a query.

    .venv/bin/python benchmarks/planning_time.py --joins 10 --repeat 100

One application of `hearth submit`: a star of `--joins` tables is joined and aggregated, and planned
again and again, in turn `by query` and with Spark's number in the session, which turns the rule
off. Each of `--starts` applications is one sample: its median with over its median without. Only
planning counts, from the query's text to Spark's physical plan, which adaptive execution has
begun; nothing is run. Measured are CPU seconds of the driver's thread that plans, which other work
on the machine changes less than seconds. The plans must differ in nothing but the number.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from results import overall, shown, table

from hearth.base.codec import append_line

ROOT = Path(__file__).resolve().parents[1]
ARMS = ("by query", "200")
LIMIT_S = 900
APPLICATION = """
import json, os, re, sys
from pathlib import Path
from pyspark.sql import SparkSession
folder, joins, repeat = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
spark = SparkSession.builder.appName("planning time").getOrCreate()
spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
keys = ", ".join(f"id % {7 + n} AS k{n}" for n in range(joins))
spark.sql(f"SELECT id, {keys} FROM range(1000)").write.parquet(f"{folder}/facts")
for n in range(joins):
    spark.range(7 + n).selectExpr(f"id AS k{n}", f"id * 2 AS v{n}").write.parquet(f"{folder}/d{n}")
for name in ["facts", *(f"d{n}" for n in range(joins))]:
    spark.read.parquet(f"{folder}/{name}").createOrReplaceTempView(name)
tables = " ".join(f"JOIN d{n} USING (k{n})" for n in range(joins))
sums = ", ".join(f"sum(v{n})" for n in range(joins))
query = f"SELECT id % 10 AS g, {sums} FROM facts {tables} GROUP BY id % 10 ORDER BY g"

def cpu_s():
    "Of the threads that serve this program, one of which plans."
    tasks = Path(f"/proc/{os.getppid()}/task").iterdir()
    serving = [task for task in tasks if (task / "comm").read_text().startswith("Thread-")]
    return sum(int((task / "schedstat").read_text().split()[0]) for task in serving) / 1e9

def planned(arm):
    spark.conf.unset("spark.sql.shuffle.partitions")
    if arm != "by query":
        spark.conf.set("spark.sql.shuffle.partitions", arm)
    before = cpu_s()
    plan = spark.sql(query)._jdf.queryExecution().executedPlan()
    seconds = cpu_s() - before
    text = re.sub(r"#[0-9]+L?|plan_id=[0-9]+", "", plan.toString())
    numbers = re.findall(r"(?:hash|range)partitioning\\(.*?, ([0-9]+)\\)", text)
    return seconds, numbers, re.sub(r", [0-9]+\\)", ")", text)

for turn in range(repeat):
    order = ["by query", "200"] if turn % 2 else ["200", "by query"]
    found = {arm: planned(arm) for arm in order}
    assert found["200"][2] == found["by query"][2], found
    assert set(found["200"][1]) == {"200"} and "200" not in found["by query"][1], found
    row = {"turn": turn, "shuffles": len(found["200"][1])}
    row |= {arm: round(seconds, 6) for arm, (seconds, _, _) in found.items()}
    print("ROW", json.dumps(row), flush=True)
spark.stop()
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--joins", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=100, help="plans of each arm")
    parser.add_argument("--starts", type=int, default=3, help="applications")
    parser.add_argument("--out", type=Path, help="raw results (default: benchmarks/results/)")
    options = parser.parse_args()
    name = f"planning-time-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
    out = options.out or ROOT / "benchmarks" / "results" / name
    rows: list[dict[str, Any]] = []
    for start in range(options.starts):
        fixed = {"start": start, "joins": options.joins, "load": os.getloadavg()[0]}
        found = [fixed | row for row in one(options)]
        for row in found:
            append_line(out, row)
        rows += found
    print("\n".join(page(rows)))
    print(f"\nRaw results: {out}")


def one(options: argparse.Namespace) -> list[dict[str, Any]]:
    """CPU seconds of each planning of an application."""
    with tempfile.TemporaryDirectory(prefix="hearth-planning-") as folder:
        application = Path(folder) / "planning.py"
        application.write_text(APPLICATION)
        settings = {"spark.ui.enabled": "false", "spark.local.dir": f"{folder}/local"}
        confs = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
        words = [str(application), f"{folder}/data", str(options.joins), str(options.repeat)]
        done = subprocess.run(
            [sys.executable, "-m", "hearth", "submit", *confs, *words],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        )
    if done.returncode:
        sys.exit(f"exit {done.returncode}\n{done.stderr[-3000:]}")
    lines = done.stdout.splitlines()
    return [json.loads(line.removeprefix("ROW ")) for line in lines if line.startswith("ROW ")]


def page(rows: list[dict[str, Any]]) -> list[str]:
    """Return the table in Markdown: the later half of each application's plans, when it is warm."""
    starts = by_start(rows)
    cells = [f"{rows[0]['joins']}", f"{rows[0]['shuffles']}", f"{len(starts)}"]
    cells += [", ".join(f"{1000 * start[arm]:.1f}" for start in starts) for arm in (0, 1)]
    heads = ["Joins", "Shuffles", "Starts", *(f"`{arm}`, median CPU ms by start" for arm in ARMS)]
    return table([*heads, "Ratio, 95 % interval"], [[*cells, shown(overall(ratios(rows)))]])


def ratios(rows: list[dict[str, Any]]) -> list[float]:
    """Of each application, its median `by query` over its median with Spark's number."""
    return [mine / sparks for mine, sparks in by_start(rows)]


def by_start(rows: list[dict[str, Any]]) -> list[tuple[float, float]]:
    return [by_arm(rows, start) for start in dict.fromkeys(row["start"] for row in rows)]


def by_arm(rows: list[dict[str, Any]], start: int) -> tuple[float, float]:
    some = [row for row in rows if row["start"] == start]
    mine, sparks = (median(row[arm] for row in some[len(some) // 2 :]) for arm in ARMS)
    return mine, sparks


if __name__ == "__main__":
    main()
