"""What does lending idle CPUs within an application gain in the tail of a stage, and what does it cost?

    .venv/bin/python benchmarks/hand_over.py --repeat 6 --cases tails
    .venv/bin/python benchmarks/hand_over.py --repeat 20 --cases sql-aggregation

`spark.hearth.handOver`, `off` and `tail`, on `local-numa[2x1]`, each executor with one CPU.
`tails` is an application in which one task works while the other executor is idle: `native`
multiplies matrices with numpy in two threads of a Python worker; `allocate` makes and drops rows in
the JVM, with one thread and its collector; `early` is `allocate` in a JVM that has run nothing yet.
The other cases are jobs of hearth's suite, which have a tail in every stage and nothing to gain.
"""  # noqa: E501

import os
import statistics
import tempfile
from pathlib import Path

from duet import make_data
from harness import BIN, Benchmark, Turn, answer, children_cpu_s, settings
from results import Row, arm_table

from hearth import jar_path
from hearth.workloads import cases, catalogue, suites

MASTER = "local-numa[2x1]"
ARMS = ("off", "tail")
TAILS = "tails"
LIMIT_S = 300

APPLICATION = """
import json
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
tails = {"early": [timed(allocate)], "native": [timed(native), timed(native)]}
tails["allocate"] = [timed(allocate)]
print("RESULT", json.dumps({"tails": tails}), flush=True)
spark.stop()
"""


def main() -> None:
    known = (TAILS, "k-means", "sql-aggregation")
    bench = Benchmark(__doc__, page, arms=ARMS, cases=known, warm_ups=1, any_case=True)
    bench.parser.add_argument("--times", type=int, default=1, help="the default sizes of the data")
    options = bench.parse()
    bench.begin()
    offer = catalogue.load()
    with tempfile.TemporaryDirectory(prefix="hearth-hand-over-") as folder:
        os.environ["HEARTH_STATE"] = str(Path(folder) / "state")

        def run(turn: Turn) -> Row:
            if turn.case == TAILS:
                return tails(turn.arm, Path(folder))
            (entry,) = suites.named(turn.case, offer)
            return job(offer, make_data(offer, entry, options.times), turn.arm)

        bench.measure(run)
    bench.report()


def tails(mode: str, folder: Path) -> Row:
    application, jar = folder / "tails.py", jar_path()
    application.write_text(APPLICATION)
    conf = {
        "spark.hearth.handOver": mode,
        "spark.ui.enabled": "false",
        "spark.local.dir": folder / "local",
        "spark.executor.memory": "1g",
    }
    submit = [str(BIN / "spark-submit"), "--master", MASTER, "--jars", jar]
    words = [*submit, "--driver-class-path", jar, *settings(conf), str(application)]
    result = answer(words, LIMIT_S)
    return {"tails": result["tails"], "loans": result["stderr"].count(" may use CPUs ")}


def job(offer: catalogue.Catalogue, case: cases.Case, mode: str) -> Row:
    """Run a job as a user submits it; its answer is checked."""
    program = (str(BIN / "hearth"), "submit", "--conf", f"spark.hearth.handOver={mode}")
    cpu_s = children_cpu_s()
    done = cases.run(offer, case, MASTER, program=program).document
    return {
        "seconds": done["seconds"],
        "wall_s": done["wall_s"],
        "cpu_s": round(children_cpu_s() - cpu_s, 3),
        "answer": done["verdict"]["status"],
    }


def page(rows: list[Row]) -> list[str]:
    """Return the table in Markdown."""
    measures = {
        "seconds": "s of its work",
        "wall_s": "s from start to end",
        "cpu_s": "CPU s",
    }
    some = apart(rows)
    measured = {what: measures[what] for what in measures if any(what in row for row in some)}
    return arm_table(some, ARMS[0], measured)


def apart(rows: list[Row]) -> list[Row]:
    """Return the tails of an application as cases of their own."""
    apart_rows = []
    for row in rows:
        each = row.get("tails", {})
        apart_rows += [
            {**row, "case": case, "seconds": statistics.median(s)} for case, s in each.items()
        ]
        apart_rows += [] if each else [row]
    return apart_rows


if __name__ == "__main__":
    main()
