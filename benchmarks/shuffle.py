"""Does Spark's shuffle over hearth's wire take less time and CPU per GB than over Netty?

    .venv/bin/python benchmarks/shuffle.py --starts 8 --repeat 10

Arms: `netty`, Spark's sort shuffle; `ucx`, hearth's wire over shared memory; `tcp`, over TCP. Each
is an application with two executors of one core that do not read each other's files. They run side
by side, idle but for one: in each repetition each reads the whole shuffle once, from files that
were written before. Cases: blocks of 8 MB and of 64 KB, not compressed. Seconds and CPU seconds (of
the executors) are told for each GB that came from the other executor. JVMs differ from start to
start: the middle of a start counts once. UCX needs jucx (`mvn -f jvm test` fetches it) and libucx.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from hadoop_rpc import JUCX
from harness import Benchmark, Turn, settings
from results import Row, arm_table

from hearth import jar_path
from hearth.machine.paths import wire_jar

NETTY = "netty"
WIRE = "org.apache.spark.shuffle.wire.WireShuffleManager"
ARMS = {
    NETTY: {"spark.shuffle.manager": "sort"},
    "ucx": {"spark.shuffle.manager": WIRE, "spark.hearth.shuffle.transports": "ucx"},
    "tcp": {"spark.shuffle.manager": WIRE, "spark.hearth.shuffle.transports": "tcp"},
}
#: Map tasks (and as many readers), rows in all, characters in each.
CASES = {"8m": (8, 4096, 131072), "64k": (64, 32768, 8192)}
BLOCKS = {"8m": "8 MB", "64k": "64 KB"}
GB = 1e9
Applications = dict[str, "subprocess.Popen[str]"]


def main() -> None:
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2].split(","))
        return
    bench = Benchmark(
        __doc__, page, arms=list(ARMS), cases=list(CASES), repeat=10, warm_ups=1, starts=6
    )
    bench.parse()
    if "ucx" in bench.arms and not JUCX.is_file():
        sys.exit(f"shuffle: '{JUCX}' is not there: mvn -f jvm -pl wire -am test")
    bench.begin()
    for number in bench.starts():
        with tempfile.TemporaryDirectory(prefix="hearth-shuffle-") as scratch:
            applications = {arm: start(arm, bench.cases, Path(scratch) / arm) for arm in bench.arms}

            def run(turn: Turn, of: Applications = applications) -> Row:
                return ask(of[turn.arm], turn.case)

            try:
                bench.measure(run, number)
            finally:
                for application in applications.values():
                    application.stdin.close()  # type: ignore[union-attr]
                for application in applications.values():
                    application.wait(60)
    bench.report()


def start(arm: str, cases: list[str], folder: Path) -> "subprocess.Popen[str]":
    """Start an arm's application, which reads a shuffle for each line of input."""
    folder.mkdir()
    conf = {
        "spark.driver.extraClassPath": f"{jar_path()}:{wire_jar()}",
        "spark.executor.extraClassPath": JUCX,
        "spark.executorEnv.UCX_LOG_LEVEL": "error",
        "spark.shuffle.readHostLocalDisk": "false",
        "spark.shuffle.compress": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.executor.memory": "1g",
        "spark.hearth.neighbours": "ignore",
        "spark.hearth.binding": "off",
        "spark.hearth.classDataArchive": "false",
        "spark.jars": f"{jar_path()},{wire_jar()}",
        "spark.ui.enabled": "false",
        "spark.local.dir": folder / "local",
        "spark.hearth.runs.dir": folder / "runs",
        **ARMS[arm],
    }
    submit = shlex.join(["--master", "local-numa[2x1]", *settings(conf), "pyspark-shell"])
    return subprocess.Popen(
        [sys.executable, __file__, "serve", ",".join(cases)],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_SUBMIT_ARGS": submit},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=(folder / "log").open("w"),
        text=True,
        cwd=folder,
    )


def ask(application: "subprocess.Popen[str]", word: str) -> dict[str, Any]:
    assert application.stdin is not None and application.stdout is not None
    application.stdin.write(word + "\n")
    application.stdin.flush()
    for line in application.stdout:
        if line.startswith("{"):
            return dict(json.loads(line))
    sys.exit(f"shuffle: an application ended with {application.wait()}")


def serve(cases: list[str]) -> None:
    """Write the shuffles, then read one for each line of input."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("shuffle benchmark").getOrCreate()
    executors = executor_pids(spark.sparkContext)
    shuffles = {}
    for case in cases:
        tasks, rows, width = CASES[case]
        frame = spark.range(0, rows, 1, tasks).selectExpr("id", f"repeat('x', {width}) as text")
        shuffles[case] = frame.repartition(tasks, "id")._jdf.queryExecution().toRdd()
        assert shuffles[case].count() == rows
    for line in sys.stdin:
        _, rows, width = CASES[line.strip()]
        cpu, begun = cpu_s(executors), time.monotonic()
        assert shuffles[line.strip()].count() == rows
        seconds = time.monotonic() - begun
        used = cpu_s(executors) - cpu
        # One half comes from the other executor; the own half costs every arm the same.
        row = {"seconds": seconds, "cpu_s": used, "remote_bytes": rows * width // 2}
        print(json.dumps(row), flush=True)
    spark.stop()  # else the JVM still writes where its files are being deleted


def executor_pids(context: Any) -> set[int]:
    def parent(_: object) -> int:
        time.sleep(0.4)
        stat = Path(f"/proc/{os.getppid()}/stat").read_text()
        return int(stat.rsplit(")", 1)[1].split()[1])

    pids: set[int] = set()
    while len(pids) < 2:
        pids = set(context.parallelize(range(8), 8).map(parent).collect())
    return pids


def cpu_s(pids: set[int]) -> float:
    fields = (Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split() for pid in pids)
    ticks = sum(int(stat[11]) + int(stat[12]) for stat in fields)
    return ticks / os.sysconf("SC_CLK_TCK")


def page(rows: list[Row]) -> list[str]:
    """Return the table in Markdown; intervals are over starts."""
    measures = {"seconds": "s per GB", "cpu_s": "CPU s per GB"}
    return arm_table(per_gb(rows), NETTY, measures, over="start")


def per_gb(rows: list[Row]) -> list[Row]:
    """Return the runs with seconds for each GB from the other executor."""
    return [
        {**row, "case": f"blocks of {BLOCKS[row['case']]}"}
        | {what: row[what] / row["remote_bytes"] * GB for what in ("seconds", "cpu_s")}
        for row in rows
        if "remote_bytes" in row
    ]


if __name__ == "__main__":
    main()
