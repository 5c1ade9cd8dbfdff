"""What does a width that is found while a stage runs gain on jobs that wait, and cost others?

    .venv/bin/python benchmarks/width.py --repeat 5
    .venv/bin/python benchmarks/width.py --repeat 5 --cases service,cold

Arms: `hearth submit` with `--width fixed` and `adaptive`. Cases: `service`, tasks that call a local
HTTP server, which takes 0.2 s; `udf`, the same from a Python UDF of Spark SQL; `cold`, text files
read after the page cache was dropped (root); `spill`, a sort on a heap of 1 GB; `stream`, 20
micro-batches of tasks that call the server; `steps`, 20 passes of a CPU-bound iteration. The
seconds are those of the job in its application.
"""

import http.server
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

from harness import Benchmark, Turn, answer, settings
from results import Row, arm_table, names

CALL_S = 0.2
HEAP = {"spill": "1g"}
LIMIT_S = 1200
ARMS = ("fixed", "adaptive")

APPLICATION = """
import json, sys, time, urllib.request
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, udf
case, port, files = sys.argv[1:]
spark = SparkSession.builder.appName("width").getOrCreate()
context = spark.sparkContext
context.setLogLevel("WARN")

def call(n):
    urllib.request.urlopen(f"http://127.0.0.1:{port}/{n}").read()
    return n

def service():
    return context.parallelize(range(300), 300).map(call).sum()

def by_udf():
    asked = udf(call, "long")
    return spark.range(0, 300, 1, 300).select(asked("id").alias("id")).groupBy().sum("id").first()[0]

def cold():
    return spark.read.text(files).filter(col("value").contains("7")).count()

def spill():
    keys = spark.range(0, 8_000_000, 1, 64).selectExpr("hash(id) AS k", "repeat(uuid(), 2) AS text")
    return keys.repartition(64, "k").sortWithinPartitions("text").filter("k % 1000 = 7").count()

def stream():
    total = []
    def batch(frame, number):
        total.append(frame.rdd.map(lambda row: call(row.value)).count())
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 8)
    query = rows.option("numPartitions", 8).load().writeStream.foreachBatch(batch).start()
    while len(total) < 20 and query.isActive:
        time.sleep(0.01)
    query.stop()
    return sum(total[:20])

def steps():
    values = context.parallelize(range(64), 64).map(lambda n: list(range(n, n + 30000))).cache()
    return sum(values.map(lambda some: sum(v * v % 7 for v in some)).sum() for _ in range(20))

jobs = {"service": service, "udf": by_udf, "cold": cold, "spill": spill, "stream": stream, "steps": steps}
begin = time.perf_counter()
found = jobs[case]()
print("RESULT", json.dumps({"seconds": round(time.perf_counter() - begin, 3), "answer": found}))
spark.stop()
"""  # noqa: E501
CASES = ("service", "udf", "cold", "spill", "stream", "steps")


class Service(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        time.sleep(CALL_S)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main() -> None:
    bench = Benchmark(__doc__, page, arms=ARMS, cases=CASES)
    bench.parse()
    bench.begin()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    folder = Path(tempfile.mkdtemp(prefix="hearth-width-"))
    try:
        program = folder / "width.py"
        program.write_text(APPLICATION, encoding="utf-8")
        files = folder / "files"
        if "cold" in bench.cases:
            write_files(files)
        words = [str(server.server_address[1]), str(files)]
        bench.measure(lambda turn: one(turn, [str(program), turn.case, *words]))
    finally:
        shutil.rmtree(folder)
    bench.report()


def write_files(folder: Path) -> None:
    """Write 128 files of 16 MB of text."""
    folder.mkdir()
    for number in range(128):
        lines = "".join(f"{number * 31 + n * 7919 % 100003}-{'x' * 90}\n" for n in range(170_000))
        (folder / f"{number}.txt").write_text(lines, encoding="utf-8")


def one(turn: Turn, application: list[str]) -> Row:
    if turn.case == "cold":
        Path("/proc/sys/vm/drop_caches").write_text("3", encoding="utf-8")
    heap = {"spark.driver.memory": HEAP[turn.case]} if turn.case in HEAP else {}
    hearth = [sys.executable, "-m", "hearth", "submit", "--width", turn.arm]
    found = answer([*hearth, *settings(heap), *application], LIMIT_S)
    found.pop("stderr")
    return found


def page(rows: list[Row]) -> list[str]:
    """Return the table in Markdown."""
    lines = arm_table(rows, "fixed", {"seconds": "Seconds"})
    answers = {(row["case"], row["answer"]) for row in rows if "answer" in row}
    wrong = len(answers) > len(names(rows, "case"))
    return ["**Answers differ between arms.**", "", *lines] if wrong else lines


if __name__ == "__main__":
    main()
