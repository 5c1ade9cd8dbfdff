"""When to use something else: TPC-H's queries in a single-node engine, and in Spark.

    .venv/bin/python benchmarks/engines.py
    .venv/bin/python benchmarks/engines.py --scale 10 --repeat 5

Arms, on the same Parquet files: `duckdb`, DuckDB in a process of its own with its defaults;
`defaults`, `spark-submit --master local[*]`; `submit`, `hearth submit` without an option. Each runs
all 22 queries once. Spark's answers are checked against DuckDB's after the times were taken.

One run of each is a warm-up; then each repetition runs all arms in random order (seeded). `start to
end` are the seconds of the whole command, `queries` those of the queries inside it. Each run is
added to the results file as it ends: give the same --out to go on after a kill.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from plans import ROOT, Run, Way, begun, facts, one, trial_of
from results import loads, table

from hearth import topology
from hearth.base.sizes import show_bytes
from hearth.studies.engine.schedule import Repetitions, StudyDesign, conduct
from hearth.studies.engine.store import Journal
from hearth.studies.engine.trial import Trial, Turn
from hearth.workloads import catalogue, datasets, suites, tpch

SCHEMA = "hearth/engines-benchmark/1"
ARMS = {"defaults": Way("local[*]"), "submit": Way("local-numa", hinted=False)}
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="TPC-H's scale factor")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions after the warm-up")
    parser.add_argument("--seed", type=int, default=1, help="of the order")
    parser.add_argument("--out", type=Path, help="results file, to begin or to go on with")
    options = parser.parse_args()
    name = f"engines-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
    out = options.out or ROOT / "benchmarks" / "results" / name
    print("\n".join(page(measured(options, out))))
    print(f"\nRaw results: {out}")


def measured(options: argparse.Namespace, out: Path) -> list[Run]:
    """Make the runs that the file lacks; return all of them, in the order of time."""
    offer = catalogue.load()
    (entry,) = suites.named("tpch", offer)
    entry = suites.SuiteEntry(entry.job, {**entry.parameters, "scale": f"{options.scale:g}"})
    wanted = datasets.wanted_by(offer, entry.job, entry.parameters, None, 1)
    (folder,) = datasets.ensure_all(wanted, None).values()
    subject = f"tpch at scale {options.scale:g}, {show_bytes(_size(folder))} of Parquet"
    journal = Journal(out)
    ways = {"duckdb": duckdb_version(), **{arm: way.master for arm, way in ARMS.items()}}
    head = {"schema": SCHEMA, "machine": facts(topology()), "ways": ways}
    runs = begun(journal, head)

    def run(turn: Turn) -> Trial:
        if turn.arm == "duckdb":
            line = duckdb_run(folder, options.scale)
        else:
            line = one(offer, entry, 1 << 30, ARMS[turn.arm], options.seed)
        row = {"subject": subject, "arm": turn.arm, "repetition": turn.repetition, **line}
        journal.keep(row)
        runs.append(row)  # type: ignore[arg-type]
        trial = trial_of(row)
        print(trial.shown, flush=True)
        return trial

    design = StudyDesign({subject: ["duckdb", *ARMS]}, options.repeat, 1, options.seed)
    conduct(Repetitions(design), run, lambda _: None, earlier=[trial_of(row) for row in runs])
    return runs


def duckdb_version() -> str:
    import duckdb

    return f"DuckDB {duckdb.__version__}"


def duckdb_run(folder: Path, scale: float) -> dict[str, Any]:
    """Run the 22 queries in a new process."""
    queries = [tpch.query_text(number, scale) for number in range(1, 23)]
    words = [sys.executable, "-c", QUERIES, str(folder), json.dumps(tpch.TABLES)]
    load, start = round(os.getloadavg()[0], 2), time.monotonic()
    done = subprocess.run(
        words, check=False, input=json.dumps(queries), capture_output=True, text=True, timeout=3600
    )
    wall = time.monotonic() - start
    if done.returncode:
        said = done.stderr.strip().splitlines()[-1].replace(str(folder), "DATA")
        return {"load": load, "failure": said}
    return {"load": load, "seconds": float(done.stdout), "wall_s": round(wall, 3)}


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*.parquet"))


def page(runs: Sequence[Run]) -> list[str]:
    """Return the table in Markdown: each run, in the order of time."""
    rows = [run for run in runs if "subject" in run]
    lines = []
    for arm in ("duckdb", *ARMS):
        mine = [run for run in rows if run["arm"] == arm]
        warm_up = [_seconds(run) for run in mine if run["repetition"] < 0]
        later = [_seconds(run) for run in mine if run["repetition"] >= 0]
        lines.append([f"`{arm}`", ", ".join(warm_up), ", ".join(later)])
    failures = [f"- `{r['arm']}`: {r['failure']}" for r in rows if "failure" in r]
    heads = ["Arm", "Warm-up, start to end (queries), s", "Runs after it, s"]
    head = f"{rows[0]['subject']}; load average {loads(rows)}."
    return [head, "", *table(heads, lines), "", *failures]


def _seconds(run: Run) -> str:
    return f"{run['wall_s']:.1f} ({run['seconds']:.1f})" if "wall_s" in run else "failed"


def ratio(runs: Sequence[Run], arm: str, base: str) -> float:
    """Of the medians from start to end, of the runs after the warm-up."""
    mine, theirs = (
        statistics.median(
            run["wall_s"]
            for run in runs
            if run.get("arm") == name and run["repetition"] >= 0 and "wall_s" in run
        )
        for name in (arm, base)
    )
    return mine / theirs


if __name__ == "__main__":
    main()
