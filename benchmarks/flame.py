"""What `hearth profile --flame` costs: one job of fixed work with and without, in pairs.

    .venv/bin/python benchmarks/flame.py --pairs 8

Both arms are profiled and differ by `--flame` alone; their order within a pair is random (seeded),
after a run of each that is dropped. Reported for the seconds from start to end, for those of the
job's own work, and for the CPU seconds of all that was started, which depend least on other load:
the paired ratio with its 95 % interval. Raw values go to benchmarks/results/
as each run ends.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from results import shown, spread, table

from hearth import Ratio, UserError, paired_ratio

ROOT = Path(__file__).resolve().parents[1]
JOB = """
import time
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
began = time.monotonic()
for turn in range(2):
    rows = spark.range(0, 2_000_000, 1, 4)
    keys = rows.selectExpr("id % 50000 as k", "ascii(sha1(string(id))) as s")
    keys.groupBy("k").sum("s").selectExpr("sum(`sum(s)`)").collect()
print("own", time.monotonic() - began, flush=True)
spark.stop()
"""
ARMS: dict[str, tuple[str, ...]] = {"plain": (), "flame": ("--flame",)}
MEASURES = {
    "wall_s": "seconds from start to end",
    "own_s": "seconds of the job's own work",
    "cpu_s": "CPU seconds",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--master", default="local[2]", help="of every run")
    parser.add_argument("--seed", type=int, default=1, help="of the order")
    options = parser.parse_args()
    output = ROOT / "benchmarks" / "results" / f"flame-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
    dice = random.Random(options.seed)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="hearth-flame-") as state:
        (Path(state) / "job.py").write_text(JOB)
        for pair in range(options.pairs + 1):
            for arm in dice.sample(sorted(ARMS), len(ARMS)):
                whole, own, cpu = run(Path(state), arm, options.master)
                row = {"pair": pair, "arm": arm, "wall_s": whole, "own_s": own, "cpu_s": cpu}
                rows.append({**row, "load": os.getloadavg()[0]})
                with output.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    print("\n".join(page(rows)))
    print(f"raw results: {output}")


def page(rows: list[dict[str, Any]]) -> list[str]:
    """Return the table in Markdown, without the first pair."""
    lines = []
    for what, title in MEASURES.items():
        cells = [spread(sides(rows, arm, what), 1) for arm in ARMS]
        lines.append([title, *cells, shown(ratio(rows, what))])
    return table(["", *(f"`{arm}`, median (range)" for arm in ARMS), "Ratio"], lines)


def sides(rows: list[dict[str, Any]], arm: str, what: str) -> list[float]:
    return [row[what] for row in rows if row["arm"] == arm and row["pair"]]


def ratio(rows: list[dict[str, Any]], what: str) -> Ratio:
    return paired_ratio(sides(rows, "flame", what), sides(rows, "plain", what))


def run(state: Path, arm: str, master: str) -> tuple[float, float, float]:
    """Seconds from start to end, of the job's own work, of CPU time; raises UserError where it
    fails."""
    words = ["-m", "hearth", "profile", "--no-summary", *ARMS[arm], "--master", master]
    began, cpu = time.monotonic(), cpu_s()
    done = subprocess.run(
        [sys.executable, *words, "--conf", "spark.ui.enabled=false", str(state / "job.py")],
        env={**os.environ, "HEARTH_STATE": str(state)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    whole = time.monotonic() - began
    if done.returncode:
        raise UserError(f"{arm} ended with {done.returncode}: {done.stderr[-500:]}")
    return whole, float(done.stdout.split()[1]), cpu_s() - cpu


def cpu_s() -> float:
    """Of all processes that were started and are over."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
