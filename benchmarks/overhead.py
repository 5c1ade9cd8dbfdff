"""What `hearth profile` costs: a job with all probes against the same job by `hearth submit`.

    .venv/bin/python benchmarks/overhead.py --pairs 8

Runs in pairs, in random order within each (seeded), after one pair that is dropped. The job is a
batch job of SQL aggregations over generated rows on local[*]. Compared are the job's own seconds,
from its first query to its last answer, so that what profile does before and after (reading the
machine, closing the record), reported apart, does not hide in the ratio. Reported: the median of
the paired ratios with a bootstrap interval. Raw values go to benchmarks/results/ as each run ends.
"""

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 600
ARMS = ("submit", "profile")

APPLICATION = """
import sys, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("overhead").getOrCreate()
rows = int(sys.argv[1])
word = "concat('word', cast(id * 7919 % 5003 as string)) as word"
data = spark.range(0, rows, 1, 16).selectExpr(word, "id")
data.limit(1000).groupBy("word").count().collect()
begin = time.monotonic()
for _ in range(3):
    data.groupBy("word").agg({"id": "sum"}).orderBy("word").collect()
    data.selectExpr("substring(word, 5) as key", "id").groupBy("key").count().collect()
print("JOB_SECONDS", time.monotonic() - begin, flush=True)
spark.stop()
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=8, help="pairs kept, after one dropped")
    parser.add_argument("--rows", type=int, default=24_000_000, help="rows of the job")
    parser.add_argument("--seed", type=int, default=1, help="of the order within a pair")
    parser.add_argument("--output", type=Path, help="raw results (default: benchmarks/results/)")
    options = parser.parse_args()
    name = f"overhead-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
    output = options.output or ROOT / "benchmarks" / "results" / name
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hearth-overhead-") as folder:
        application = Path(folder) / "overhead.py"
        application.write_text(APPLICATION)
        rows = measure(application, options, output)
    report(rows)
    print(f"\nRaw results: {output}")


def measure(application: Path, options: argparse.Namespace, output: Path) -> list[dict]:
    order = random.Random(options.seed)
    rows: list[dict] = []
    for pair in range(options.pairs + 1):
        for arm in order.sample(ARMS, len(ARMS)):
            row = {"arm": arm, "pair": pair, "dropped": pair == 0, "rows": options.rows}
            row |= one_run(arm, application, options.rows) | {"load": os.getloadavg()[0]}
            row |= {"cpus": os.cpu_count(), "kernel": platform.release()}
            with output.open("a") as file:
                file.write(json.dumps(row) + "\n")
            rows.append(row)
            print(f"  {pair}/{options.pairs}  {arm:8} {row['job_s']:7.2f} s", flush=True)
    return [row for row in rows if not row["dropped"]]


def one_run(arm: str, application: Path, rows: int) -> dict[str, float]:
    quiet = ["--conf", "spark.ui.enabled=false", "--conf", "spark.log.level=WARN"]
    summary = ["--no-summary"] if arm == "profile" else []
    words = [arm, *summary, "--master", "local[*]", *quiet, str(application), str(rows)]
    state = application.parent / "state"
    environment = {**os.environ, "HEARTH_STATE": str(state), "PYSPARK_PYTHON": sys.executable}
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "hearth", *words],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        env=environment,
    )
    wall = time.monotonic() - begin
    told = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("JOB_SECONDS")]
    if len(told) != 1:
        said = f"{done.stdout[-2000:]}\n{done.stderr[-1000:]}"
        sys.exit(f"{arm}: the job did not end (exit {done.returncode})\n{said}")
    sampler = sampler_cpu_s(state) if arm == "profile" else {}
    return {"job_s": round(float(told[0]), 3), "wall_s": round(wall, 3), **sampler}


def sampler_cpu_s(state: Path) -> dict[str, float]:
    """CPU seconds of the sampling process, as the latest record tells."""
    latest = max((state / "records").iterdir())
    lines = (latest / "samples" / "cost.jsonl").read_text().splitlines()
    costs = {row["probe"]: row["cpu_s"] for row in map(json.loads, lines)}
    return {"sampler_cpu_s": costs["sampler"]}


def report(rows: list[dict]) -> None:
    by_arm = {arm: {row["pair"]: row for row in rows if row["arm"] == arm} for arm in ARMS}
    for name, what in (("job_s", "the job's own seconds"), ("wall_s", "from command to end")):
        pairs = by_arm["submit"].keys()
        ratios = [by_arm["profile"][n][name] / by_arm["submit"][n][name] for n in pairs]
        low, high = bootstrap(ratios)
        medians = [statistics.median(row[name] for row in by_arm[arm].values()) for arm in ARMS]
        shown = ", ".join(f"{arm} {value:.2f} s" for arm, value in zip(ARMS, medians, strict=True))
        ratio = statistics.median(ratios)
        print(f"{what}: {shown}; ratio {ratio:.3f} [{low:.3f}, {high:.3f}]")
    shares = [row["sampler_cpu_s"] / row["wall_s"] for row in by_arm["profile"].values()]
    print(f"CPU of the sampling process: {statistics.median(shares):.2%} of one CPU")
    print(f"{len(by_arm['submit'])} pairs on {os.cpu_count()} CPUs")


def bootstrap(values: list[float], draws: int = 2000) -> tuple[float, float]:
    """The 95 % percentile interval of the median, from `draws` resamples (seeded)."""
    order = random.Random(0)
    medians = sorted(statistics.median(order.choices(values, k=len(values))) for _ in range(draws))
    return medians[int(0.025 * draws)], medians[int(0.975 * draws)]


if __name__ == "__main__":
    main()
