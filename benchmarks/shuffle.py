"""Spark's shuffle over its own transfer (Netty) and over hearth's wire: time and CPU per GB.

    .venv/bin/python benchmarks/shuffle.py --starts 8 --repeat 10
    .venv/bin/python benchmarks/shuffle.py --arms netty,tcp --cases 64k

Arms: `netty`, Spark's sort shuffle; `ucx`, hearth's wire over shared memory; `tcp`, hearth's wire
over TCP. Each is an application of its own, with two executors of one core that do not read each
other's files. They run side by side, idle but for one at a time: in each repetition each reads the
whole shuffle once, in random (seeded) order, from files that were written before. Cases: blocks of
8 MB and of 64 KB, not compressed. CPU seconds are those of the two executors. The first repetition
is a warm-up. As JVMs differ from start to start (what is compiled, where memory lies), all is done
with so many starts: the middle of a start's paired ratios counts once, and the interval is over
starts (Student's t up to eight, signed ranks from nine on). Raw values go to benchmarks/results/ as
each read ends. UCX needs jucx (`mvn -f jvm test` fetches it) and libucx.
"""

import argparse
import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from results import over_starts, shown, spread, table

from hearth import Ratio, jar_path

ROOT = Path(__file__).resolve().parents[1]
JUCX = Path.home() / ".m2/repository/org/openucx/jucx/1.18.1/jucx-1.18.1.jar"
NETTY = "netty"
WIRE = "org.apache.spark.shuffle.wire.WireShuffleManager"
ARMS = {
    NETTY: {"spark.shuffle.manager": "sort"},
    "ucx": {"spark.shuffle.manager": WIRE, "spark.hearth.shuffle.carriers": "ucx"},
    "tcp": {"spark.shuffle.manager": WIRE, "spark.hearth.shuffle.carriers": "tcp"},
}
#: Map tasks (and as many readers), rows in all, characters in each.
CASES = {"8m": (8, 4096, 131072), "64k": (64, 32768, 8192)}
BLOCKS = {"8m": "8 MB", "64k": "64 KB"}
GB = 1e9


def main() -> None:
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2].split(","))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--starts", type=int, default=6, help="of the applications")
    parser.add_argument("--repeat", type=int, default=10, help="repetitions after the warm-up")
    parser.add_argument("--arms", default=",".join(ARMS), help="some of these")
    parser.add_argument("--cases", default=",".join(CASES), help="some of these")
    parser.add_argument("--seed", type=int, default=1, help="of the order")
    options = parser.parse_args()
    arms, cases = options.arms.split(","), options.cases.split(",")
    if unknown := [word for word in arms + cases if word not in {**ARMS, **CASES}]:
        sys.exit(f"shuffle: '{unknown[0]}' is none of {', '.join([*ARMS, *CASES])}")
    if "ucx" in arms and not JUCX.is_file():
        sys.exit(f"shuffle: '{JUCX}' is not there: mvn -f jvm -pl transport test")
    now = f"{datetime.now(UTC):%Y-%m-%d-%H%M}"
    output = ROOT / "benchmarks" / "results" / f"shuffle-{now}.jsonl"
    rows = []
    for number in range(options.starts):
        with tempfile.TemporaryDirectory(prefix="hearth-shuffle-") as scratch:
            applications = {arm: start(arm, cases, Path(scratch) / arm) for arm in arms}
            try:
                rows += measured(applications, cases, number, options, output)
            finally:
                for application in applications.values():
                    application.stdin.close()  # type: ignore[union-attr]
                for application in applications.values():
                    application.wait(60)
    print("\n".join(page(rows)))
    print(f"raw results: {output}")


def start(arm: str, cases: list[str], folder: Path) -> "subprocess.Popen[str]":

    folder.mkdir()
    settings = {
        "spark.driver.extraClassPath": jar_path(),
        "spark.executor.extraClassPath": str(JUCX),
        "spark.executorEnv.UCX_LOG_LEVEL": "error",
        "spark.shuffle.readHostLocalDisk": "false",
        "spark.shuffle.compress": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.executor.memory": "1g",
        "spark.hearth.neighbours": "ignore",
        "spark.hearth.binding": "off",
        "spark.hearth.classDataArchive": "false",
        "spark.jars": jar_path(),
        "spark.ui.enabled": "false",
        "spark.local.dir": str(folder / "local"),
        "spark.hearth.runs.dir": str(folder / "runs"),
        **ARMS[arm],
    }
    words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    submit = shlex.join(["--master", "local-numa[2x1]", *words, "pyspark-shell"])
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


def measured(
    applications: dict[str, "subprocess.Popen[str]"],
    cases: list[str],
    number: int,
    options: argparse.Namespace,
    output: Path,
) -> list[dict[str, Any]]:
    """Measure one start of the applications and return its rows."""
    dice = random.Random(options.seed + number)
    rows = []
    for repetition in range(-1, options.repeat):
        for case in cases:
            for arm in dice.sample(list(applications), len(applications)):
                load = os.getloadavg()[0]
                row = {"start": number, "repetition": repetition, "case": case, "arm": arm}
                row["load"] = load
                row.update(ask(applications[arm], case))
                if repetition < 0:
                    continue
                rows.append(row)
                with output.open("a") as file:
                    file.write(json.dumps(row) + "\n")
        done = f"{number + 1}/{options.starts}, {repetition + 1}/{options.repeat}"
        print(done, file=sys.stderr, flush=True)
    return rows


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


def page(rows: list[dict[str, Any]]) -> list[str]:
    """Medians with their range, and ratios to Netty's with 95 % intervals over starts."""
    lines = []
    for case in [case for case in CASES if any(row["case"] == case for row in rows)]:
        for arm in [arm for arm in ARMS if any(row["arm"] == arm for row in rows)]:
            cells = [BLOCKS[case], f"`{arm}`"]
            for what in ("seconds", "cpu_s"):
                values = [value for some in per_gb(rows, case, arm, what) for value in some]
                cells.append(spread(values))
                cells.append("1" if arm == NETTY else shown(ratio(rows, case, arm, what)))
            lines.append(cells)
    heads = ["Blocks", "Arm", "s per GB, median (range)", "to `netty`"]
    return table([*heads, "CPU s per GB, median (range)", "to `netty`"], lines)


def per_gb(rows: list[dict[str, Any]], case: str, arm: str, what: str) -> list[list[float]]:
    """Of each start, in the order of its repetitions."""
    chosen = [row for row in rows if (row["case"], row["arm"]) == (case, arm)]
    starts = sorted({row.get("start", 0) for row in chosen})
    return [
        [row[what] / row["remote_bytes"] * GB for row in chosen if row.get("start", 0) == start]
        for start in starts
    ]


def ratio(rows: list[dict[str, Any]], case: str, arm: str, what: str) -> Ratio:
    """To Netty's; the middle of a start counts once."""
    sides = zip(per_gb(rows, case, arm, what), per_gb(rows, case, NETTY, what), strict=True)
    return over_starts(
        (start, *pair) for start, both in enumerate(sides) for pair in zip(*both, strict=True)
    )


if __name__ == "__main__":
    main()
