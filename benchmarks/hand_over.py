"""What the hand-over of idle CPUs gains and costs: `spark.hearth.handOver=off` against `tail`.

    .venv/bin/python benchmarks/hand_over.py --repeat 5

On `local-numa[2x1]`, each executor with one CPU. Both arms in random order (seeded) within each
pair; the first pair warms caches and archives and is dropped. Raw values go to benchmarks/results/.

Two tails, in one application for each arm: a single task works while the other executor is idle.
`native` multiplies matrices with numpy in two threads of a Python worker; `allocate` makes and
drops rows in the JVM, with one thread and its collector. A third case, `early`, is `allocate` once
in a JVM that has run nothing yet, whose compiler has much to do. Then jobs of hearth's suite
(--jobs), which have a tail in every stage and nothing to gain, submitted as a user would.
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
from typing import Any

import overhead
from results import shown, spread, table

from hearth import Ratio, jar_path, paired_ratio
from hearth.workloads import cases, catalogue, suites

BIN = Path(sys.executable).parent
ROOT = Path(__file__).resolve().parents[1]
MASTER = "local-numa[2x1]"
MODES = ("off", "tail")
MEASURES = {
    "seconds": "seconds of its work",
    "wall_s": "seconds from start to end",
    "cpu_s": "CPU seconds",
}
LIMIT_S = 300
Row = dict[str, Any]

APPLICATION = """
import json
import sys
import threading
import time

from pyspark.sql import SparkSession

ROUNDS, ROWS, SIZE = 300, 3_000_000, 500


def multiply(_):
    import numpy

    def work():
        a = numpy.random.default_rng(1).random((SIZE, SIZE))
        for _ in range(ROUNDS):
            a = (a @ a) % 1.0

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 1


def native():
    spark.sparkContext.parallelize([1], 1).map(multiply).count()


def allocate():
    rows = spark.range(0, ROWS, 1, 1)
    words = "sum(length(concat(repeat(cast(id as string), 40), reverse(cast(id as string)))))"
    rows.selectExpr(words).collect()


def timed(work):
    begin = time.monotonic()
    work()
    return round(time.monotonic() - begin, 3)


spark = SparkSession.builder.appName("hand-over").getOrCreate()
spark.sparkContext.parallelize(range(8), 8).map(lambda x: time.sleep(0.1)).count()
seconds = {"early": [timed(allocate)], "native": [timed(native), timed(native)]}
seconds["allocate"] = [timed(allocate)]
print("SECONDS", json.dumps(seconds), flush=True)
spark.stop()
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=5, help="pairs kept, after one dropped")
    parser.add_argument("--jobs", default="k-means,sql-aggregation", help="none: the tails alone")
    parser.add_argument("--jobs-alone", action="store_true", help="without the tails")
    parser.add_argument("--times", type=int, default=1, help="the default sizes of the jobs' data")
    parser.add_argument("--seed", type=int, default=1, help="of the order within a pair")
    parser.add_argument("--output", type=Path, help="raw results (default: benchmarks/results/)")
    options = parser.parse_args()
    name = f"hand-over-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
    output = options.output or ROOT / "benchmarks" / "results" / name
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hearth-hand-over-") as folder:
        os.environ["HEARTH_STATE"] = str(Path(folder) / "state")
        rows = measure(options, Path(folder), output)
    print("\n".join(page(rows)))
    print(f"\nRaw results: {output}")


def measure(options: argparse.Namespace, folder: Path, output: Path) -> list[Row]:
    offer = catalogue.load()
    entries = [] if options.jobs == "none" else suites.named(options.jobs, offer)
    order = random.Random(options.seed)
    rows: list[Row] = []
    for pair in range(options.repeat + 1):
        for entry in entries if options.jobs_alone else (None, *entries):
            for mode in order.sample(MODES, 2):
                found = tails(mode, folder) if entry is None else job(offer, entry, options, mode)
                for case, values in found.items():
                    row = {"pair": pair, "arm": mode, "case": case, **values}
                    row |= {"dropped": pair == 0, "load": os.getloadavg()[0], **machine()}
                    with output.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                    rows.append(row)
                    print(f"  {pair}/{options.repeat} {case:16} {mode:5} {values}", flush=True)
    return rows


def tails(mode: str, folder: Path) -> dict[str, Row]:
    application = folder / "tails.py"
    application.write_text(APPLICATION)
    jar = jar_path()
    settings = {
        "spark.hearth.handOver": mode,
        "spark.ui.enabled": "false",
        "spark.local.dir": str(folder / "local"),
        "spark.executor.memory": "1g",
    }
    words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    submit = [str(BIN / "spark-submit"), "--master", MASTER, "--jars", jar]
    done = subprocess.run(
        [*submit, "--driver-class-path", jar, *words, str(application)],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )
    lent = done.stderr.count(" may use CPUs ")
    for line in done.stdout.splitlines():
        if line.startswith("SECONDS "):
            seconds = json.loads(line.removeprefix("SECONDS "))
            return {
                case: {"seconds": statistics.median(each), "each": each, "loans": lent}
                for case, each in seconds.items()
            }
    sys.exit(f"{mode}: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")


def job(
    offer: catalogue.Catalogue, entry: suites.SuiteEntry, options: argparse.Namespace, mode: str
) -> dict[str, Row]:
    """As a user submits it; its answer is checked."""
    case = overhead.make_data(offer, entry, options)
    program = (str(BIN / "hearth"), "submit", "--conf", f"spark.hearth.handOver={mode}")
    begin, cpu_s = time.monotonic(), overhead.children_cpu_s()
    done = cases.run(offer, case, MASTER, program=program).document
    return {
        entry.job.name: {
            "seconds": done["seconds"],
            "wall_s": done["wall_s"],
            "cpu_s": round(overhead.children_cpu_s() - cpu_s, 3),
            "checked_s": round(time.monotonic() - begin, 3),
            "answer": done["verdict"]["status"],
        }
    }


def machine() -> Row:
    return {"cpus": os.cpu_count(), "kernel": platform.release(), "arch": platform.machine()}


def page(rows: list[Row]) -> list[str]:
    """Return the table in Markdown."""
    kept = [row for row in rows if not row["dropped"]]
    lines = []
    for case in dict.fromkeys(row["case"] for row in kept):
        for what in MEASURES:
            if all(what in row for row in kept if row["case"] == case):
                off, tail = (sides(kept, case, mode, what) for mode in MODES)
                cells = [f"`{case}`", MEASURES[what], str(len(off)), spread(off), spread(tail)]
                lines.append([*cells, shown(ratio(rows, case, what))])
    heads = ["Case", "Measure", "Pairs", *(f"`{mode}`, median (range)" for mode in MODES)]
    return table([*heads, "`off` to `tail`, 95 % interval"], lines)


def sides(rows: list[Row], case: str, mode: str, what: str) -> list[float]:
    return [row[what] for row in rows if (row["case"], row["arm"]) == (case, mode)]


def ratio(rows: list[Row], case: str, what: str = "seconds") -> Ratio:
    """Of `off` to `tail`: above 1 the hand-over is faster."""
    kept = [row for row in rows if not row["dropped"]]
    off, tail = (sides(kept, case, mode, what) for mode in MODES)
    return paired_ratio(off, tail)


if __name__ == "__main__":
    main()
