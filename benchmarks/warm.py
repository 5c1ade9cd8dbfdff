"""What does a warm server save: an application by hearth submit, and by hearth submit --warm?

    .venv/bin/python benchmarks/warm.py --scale 0.2 --repeat 5

Cases: `first result`, a program that sums 1,000 numbers; `TPC-H`, its 22 queries once. Arms:
`cold`, `hearth submit`; `warm`, `hearth submit --warm` as the second application of a server, which
for each repetition is a new one; the table has the first one's time, with the server's start, too.
One application of each case before these warms page cache and class-data archives, and is dropped.
Answers must be equal in both arms.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import Benchmark, Turn, answer
from query_partitions import await_archives, data_of
from results import Row, arm_table, of_case, runs

from hearth.workloads import datasets, tpch

LIMIT_S = 900
ARMS = ("cold", "warm")
MEASURES = {
    "wall_s": "seconds, start to end",
    "first_s": "of the application that started the server",
}
CASES = ("first result", "TPC-H")

APPLICATION = """
import hashlib, json, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("warm").getOrCreate()
folder, tables, queries = json.load(open(sys.argv[1]))
for name in tables:
    spark.read.parquet(f"{folder}/{name}").createOrReplaceTempView(name)
answers = []
for query in queries:
    cells = [[f"{c:.6g}" if isinstance(c, float) else str(c) for c in row]
             for row in spark.sql(query).collect()]
    answers.append(hashlib.sha256(json.dumps(sorted(cells)).encode()).hexdigest()[:12])
print("RESULT", json.dumps({"answers": answers}), flush=True)
spark.stop()
"""


def main() -> None:
    bench = Benchmark(__doc__, page, arms=ARMS, cases=CASES)
    bench.parser.add_argument("--scale", type=float, default=0.2, help="TPC-H's scale factor")
    options = bench.parse()
    bench.begin()
    with tempfile.TemporaryDirectory(prefix="hearth-warm-") as folder:
        os.environ["HEARTH_STATE"] = f"{folder}/state"
        try:
            words = programs(Path(folder), options.scale)
            for case in bench.cases:
                run("cold", words[case])
            await_archives()
            bench.measure(lambda turn: turned(turn, words[turn.case]))
        finally:
            hearth("status", "--stop")
    bench.report()


def programs(folder: Path, scale: float) -> dict[str, list[str]]:
    """Write the application and what each case gives it; return their words."""
    data = data_of(scale)
    datasets.ensure(tpch.TpchTables(scale), data)
    (folder / "warm.py").write_text(APPLICATION)
    queries = [tpch.query_text(number, scale) for number in range(1, 23)]
    given = {"first result": ([], ["SELECT sum(id) FROM range(1000)"]),
             "TPC-H": (tpch.TABLES, queries)}  # fmt: skip
    words = {}
    for number, (case, (tables, texts)) in enumerate(given.items()):
        file = folder / f"{number}.json"
        file.write_text(json.dumps([str(data), list(tables), texts]))
        words[case] = [str(folder / "warm.py"), str(file)]
    return words


def turned(turn: Turn, words: list[str]) -> Row:
    """Run an arm; the warm one on a server that has run one application."""
    hearth("status", "--stop")
    first = {"first_s": run("warm", words)["wall_s"]} if turn.arm == "warm" else {}
    return {**run(turn.arm, words), **first}


def run(arm: str, words: list[str]) -> Row:
    warm = ["--warm"] if arm == "warm" else []
    found = answer([sys.executable, "-m", "hearth", "submit", *warm, *words], LIMIT_S)
    return {name: found[name] for name in ("wall_s", "answers")}


def hearth(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "hearth", *words], stdout=subprocess.DEVNULL, check=True)


def page(rows: list[Row]) -> list[str]:
    """Return the table in Markdown."""
    some = runs(rows)
    same = all(len({str(row["answers"]) for row in of_case(some, case)}) <= 1 for case in CASES)
    lines = arm_table(some, "cold", MEASURES, no_ratio=["first_s"])
    return lines if same else ["**Answers differ between arms.**", "", *lines]


if __name__ == "__main__":
    main()
