"""When is something else faster: TPC-H's queries in DuckDB, in Spark, and by hearth submit?

    .venv/bin/python benchmarks/engines.py --scale 10 --repeat 5

Arms, on the same Parquet files: `duckdb`, in a process of its own with its defaults; `defaults`,
`spark-submit --master local[*]`; `submit`, `hearth submit` without an option. Each runs all 22
queries once. Spark's answers are checked against DuckDB's after the times were taken.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

from harness import Benchmark, Turn
from plans import Way, one
from results import Row, arm_table, ratio

from hearth import Ratio
from hearth.workloads import catalogue, datasets, suites, tpch

ARMS = {"defaults": Way("local[*]"), "submit": Way("local-numa", hinted=False)}
DUCKDB = "duckdb"
#: Prints the seconds of the queries.
QUERIES = """
import json, sys, time
import duckdb
folder, tables, queries = sys.argv[1], json.loads(sys.argv[2]), json.load(sys.stdin)
connection = duckdb.connect()
for table in tables:
    connection.execute(f"CREATE VIEW {table} AS FROM read_parquet('{folder}/{table}/*.parquet')")
start = time.monotonic()
for query in queries:
    connection.execute(query).fetchall()
print(time.monotonic() - start)
"""


def main() -> None:
    bench = Benchmark(__doc__, page, arms=[DUCKDB, *ARMS], warm_ups=1)
    bench.parser.add_argument("--scale", type=float, default=1.0, help="TPC-H's scale factor")
    options = bench.parse()
    bench.begin()
    offer = catalogue.load()
    (entry,) = suites.named("tpch", offer)
    entry = suites.SuiteEntry(entry.job, {**entry.parameters, "scale": f"{options.scale:g}"})
    wanted = datasets.wanted_by(offer, entry.job, entry.parameters, None, 1)
    (folder,) = datasets.ensure_all(wanted, None).values()

    def run(turn: Turn) -> Row:
        if turn.arm == DUCKDB:
            return duckdb_run(folder, options.scale)
        return one(offer, entry, 1 << 30, ARMS[turn.arm], options.seed)

    bench.measure(run)
    bench.report()


def duckdb_run(folder: Path, scale: float) -> Row:
    """Run the 22 queries in a new process."""
    queries = [tpch.query_text(number, scale) for number in range(1, 23)]
    words = [sys.executable, "-c", QUERIES, str(folder), json.dumps(tpch.TABLES)]
    start = time.monotonic()
    done = subprocess.run(
        words, check=False, input=json.dumps(queries), capture_output=True, text=True, timeout=3600
    )
    wall = time.monotonic() - start
    if done.returncode:
        return {"failure": done.stderr.strip().splitlines()[-1].replace(str(folder), "DATA")}
    return {"seconds": float(done.stdout), "wall_s": round(wall, 3)}


def page(rows: list[Row]) -> list[str]:
    """Return the table in Markdown."""
    return arm_table(rows, DUCKDB, {"wall_s": "start to end, s", "seconds": "queries, s"}, digits=1)


def times(rows: list[Row]) -> Ratio | None:
    """Return how many times as long `hearth submit` takes from start to end."""
    return ratio(rows, "submit", DUCKDB, "wall_s")


if __name__ == "__main__":
    main()
