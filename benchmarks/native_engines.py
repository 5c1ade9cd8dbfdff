"""A native engine inside: TPC-H on Comet alone, and on Comet under hearth submit.

    .venv/bin/python benchmarks/native_engines.py --scale 1 --repeat 5

Spark 4.1 and Comet's jar come from tools/versions.sh. Every repetition runs each arm once, as an
application of its own, in random order (seeded): `--queries` of TPC-H, all of them `--passes`
times. Arms: `comet`, Comet in `spark-submit --master local[*]` as a careful user sets it: its
plugin and shuffle manager, a heap of 4 GB, a third of the memory off the heap, as many worker
threads as CPUs (which Comet's tuning guide advises), ParallelGC, Kryo and four shuffle partitions
for each CPU; `hearth`, `hearth submit --engine comet`, which is one JVM on few CPUs; `executors`,
the same with two executors; `spark`, `hearth submit` without Comet. One application before these
warms the page cache, and is dropped.

Answers must be equal in all arms. An application is one sample. Use taskset for fewer CPUs.
"""

import argparse
import json
import os
import random
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from other_versions import comet_jar, fetched
from query_partitions import APPLICATION, MEASURES, arms, machine, one, ratios, seconds_table
from results import loads, overall, shown, table

from hearth.machine.plan import ENGINES
from hearth.workloads import tpch

ROOT = Path(__file__).resolve().parents[1]
QUESTIONS = (
    ("hearth", "comet"),
    ("executors", "comet"),
    ("executors", "hearth"),
    ("comet", "spark"),
    ("hearth", "spark"),
)
MANAGER = "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="TPC-H's scale factor")
    parser.add_argument("--queries", default="1,3,5,6,9,12,14,18", help="numbers of TPC-H's")
    parser.add_argument("--passes", type=int, default=3, help="of the queries in an application")
    parser.add_argument("--repeat", type=int, default=5, help="applications of each arm")
    parser.add_argument("--arms", metavar="A,B", help="default: all")
    parser.add_argument("--seed", type=int, default=1, help="of the order within a repetition")
    parser.add_argument("--data", type=Path, help="where the data are, or will be made")
    parser.add_argument("--out", type=Path, help="raw results (default: benchmarks/results/)")
    options = parser.parse_args()
    name = f"native-engines-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
    out = options.out or ROOT / "benchmarks" / "results" / name
    rows = measured(options, out)
    print("\n".join(page(rows)))
    print(f"\nRaw results: {out}")


def measured(options: argparse.Namespace, out: Path) -> list[dict[str, Any]]:
    data = options.data or Path(tempfile.gettempdir()) / f"hearth-tpch-{options.scale:g}"
    tpch.ensure_tpch(options.scale, data)
    numbers = [int(number) for number in options.queries.split(",")]
    queries = [tpch.query_text(number, options.scale) for number in numbers]
    order = random.Random(options.seed)
    spark = next(home for home in fetched("sparks") if home.parent.name.startswith("4.1"))
    os.environ["SPARK_HOME"] = str(spark)
    facts = {"scale": options.scale, "queries": numbers, "passes": options.passes}
    facts |= {"seed": options.seed, "spark": spark.parent.name}
    rows: list[dict[str, Any]] = [facts | machine()]
    with tempfile.TemporaryDirectory(prefix="hearth-engines-") as folder, out.open("a") as file:
        words = Path(folder) / "words.json"
        words.write_text(json.dumps([str(data), queries, tpch.TABLES, options.passes, ""]))
        application = Path(folder) / "tpch.py"
        application.write_text(APPLICATION)
        offer = commands(Path(folder), [str(application), str(words)], comet_jar())
        file.write(json.dumps(rows[0]) + "\n")
        one(offer["hearth"])
        names = options.arms.split(",") if options.arms else list(offer)
        for repetition in range(options.repeat):
            order.shuffle(names)
            for arm in names:
                row = {"arm": arm, "repetition": repetition, "load": os.getloadavg()[0]}
                row |= one(offer[arm])
                rows.append(row)
                file.write(json.dumps(row) + "\n")
                file.flush()
                print(f"{repetition} {arm}: {row['wall_s']} s", flush=True)
    return rows


def commands(folder: Path, application: Sequence[str], jar: Path) -> dict[str, list[str]]:
    """Return the command of each arm."""
    cpus = len(os.sched_getaffinity(0))
    memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    on_path = {"spark.driver.extraClassPath": jar, "spark.executor.extraClassPath": jar}
    careful = {
        **on_path,
        "spark.plugins": ENGINES["comet"],
        "spark.shuffle.manager": MANAGER,
        "spark.driver.memory": "4g",
        "spark.memory.offHeap.enabled": "true",
        "spark.memory.offHeap.size": f"{memory_mb // 3}m",
    }
    found = arms(folder, application)
    behind = len(application)

    def given(command: list[str], *words: str, **conf: Any) -> list[str]:
        """Return a command with more words and settings before its application."""
        settings = [w for k, v in conf.items() for w in ("--conf", f"{k}={v}")]
        return [*command[:-behind], *words, *settings, *application]

    comet = ("--engine", "comet")
    two = ("--executors", "2", "--cores", str(max(1, cpus // 2)))
    return {
        "comet": ["env", f"COMET_WORKER_THREADS={cpus}", *given(found["careful"], **careful)],
        "hearth": given(found["submit"], *comet, **on_path),
        "executors": given(found["submit"], *comet, *two, **on_path),
        "spark": found["submit"],
    }


def page(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the tables in Markdown."""
    runs = [row for row in rows if "arm" in row]
    wrong = len({row["answers"] for row in runs}) > 1
    lines = [f"Load average {loads(runs)} at the start of the runs."]
    lines += ["", "**Answers differ between arms.**"] if wrong else []
    return [*lines, "", *ratio_table(runs), "", *seconds_table(runs)]


def ratio_table(runs: Sequence[dict[str, Any]]) -> list[str]:
    lines = []
    for arm, base in QUESTIONS:
        found = [ratios(runs, arm, base, key) for _, key in MEASURES]
        if found[0]:
            cells = [shown(overall(some)) if some else "-" for some in found]
            lines.append([f"`{arm}`", f"`{base}`", str(len(found[0])), *cells])
    return table(["Arm", "Baseline", "Pairs", *(title for title, _ in MEASURES)], lines)


if __name__ == "__main__":
    main()
