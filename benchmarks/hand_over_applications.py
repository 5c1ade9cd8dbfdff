"""What do two applications gain that lend each other idle CPUs, of which one pauses?

    .venv/bin/python benchmarks/hand_over_applications.py --repeat 7 --seconds 120

`spark.hearth.handOver`, `off` and `applications`. Two applications, each with one executor on half
of the CPUs (`local-numa[1xN]`). One works all the time; the other works for --work seconds, pauses
for --pause, and so on. Both have the same job: so many tasks that hash numbers, in the JVM, four
for each slot. They begin to count at the same instant and do so for --seconds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

from harness import BIN, Benchmark, settings
from results import Row, arm_table

from hearth import jar_path

ARMS = ("off", "applications")
ROLES = ("steady", "pausing")
MEASURES = {
    "per_hour": "jobs per hour, both",
    "steady_per_hour": "of the one that always works",
    "pausing_per_hour": "of the one that pauses",
    "pausing_s": "s for a job of the one that pauses",
}
READY_S = 300

APPLICATION = """
import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

role, folder, seconds, work, pause, parts, rows = sys.argv[1:]
folder, seconds, work, pause = Path(folder), float(seconds), float(work), float(pause)
spark = SparkSession.builder.appName(role).getOrCreate()


def job():
    spark.range(0, int(rows), 1, int(parts)).selectExpr("bit_xor(xxhash64(id))").collect()


for _ in range(3):
    job()
(folder / f"{role}-ready").touch()
while not (folder / "go").exists():
    time.sleep(0.01)
begin = turn = time.monotonic()
took = []
while (start := time.monotonic()) - begin < seconds:
    if role == "pausing" and start - turn >= work:
        time.sleep(pause)
        turn = time.monotonic()
        continue
    job()
    end = time.monotonic()
    if end - begin <= seconds:
        took.append(round(end - start, 4))
print("TOOK", json.dumps(took), flush=True)
(folder / f"{role}-done").touch()
while not all((folder / f"{each}-done").exists() for each in ("steady", "pausing")):
    time.sleep(0.1)
spark.stop()
"""


def main() -> None:
    bench = Benchmark(__doc__, page, arms=ARMS, repeat=7, warm_ups=1)
    add = bench.parser.add_argument
    add("--seconds", type=float, default=120, help="for which both count")
    add("--work", type=float, default=10, help="seconds of work between pauses")
    add("--pause", type=float, default=10, help="seconds of each pause")
    add("--rows", type=int, default=200_000_000, help="numbers that a job hashes")
    options = bench.parse()
    bench.begin()
    bench.measure(lambda turn: both(turn.arm, options))
    bench.report()


def both(mode: str, options: argparse.Namespace) -> Row:
    """One run of the pair: its jobs, and what was lent."""
    with tempfile.TemporaryDirectory(prefix="hearth-hand-over-") as text:
        folder = Path(text)
        (folder / "application.py").write_text(APPLICATION)
        (folder / "leases").mkdir(mode=0o700)
        started = [start(role, mode, folder, options) for role in ROLES]
        try:
            await_all(started, folder)
            (folder / "go").touch()
            limit_s = options.seconds + READY_S
            outputs = [process.communicate(timeout=limit_s)[0] for process in started]
        finally:
            for process in started:
                process.kill()
        if any(process.returncode for process in started):
            sys.exit("\n".join((folder / f"{role}.log").read_text()[-4000:] for role in ROLES))
        took = {role: jobs(output) for role, output in zip(ROLES, outputs, strict=True)}
        loans = [
            loan
            for file in folder.glob("*/runs/*/hand-over.json")
            for loan in json.loads(file.read_text())["loans"]
        ]
    per_hour = {role: len(each) * 3600 / options.seconds for role, each in took.items()}
    return {
        "per_hour": round(sum(per_hour.values()), 1),
        "steady_per_hour": round(per_hour["steady"], 1),
        "pausing_per_hour": round(per_hour["pausing"], 1),
        "pausing_s": round(statistics.fmean(took["pausing"]), 4),
        "loans": len(loans),
        "lent_s": round(sum(map(lasted_s, loans)), 1),
        "took": took,
    }


def start(
    role: str, mode: str, folder: Path, options: argparse.Namespace
) -> "subprocess.Popen[str]":
    jar, slots = jar_path(), len(os.sched_getaffinity(0)) // 2
    conf = {
        "spark.hearth.handOver": mode,
        "spark.ui.enabled": "false",
        "spark.local.dir": folder / "local",
        "spark.executor.memory": "1g",
    }
    submit = [str(BIN / "spark-submit"), "--master", f"local-numa[1x{slots}]", "--jars", jar]
    numbers = [options.seconds, options.work, options.pause, 4 * slots, options.rows]
    program = [str(folder / "application.py"), role, str(folder), *map(str, numbers)]
    environment = {"HEARTH_STATE": str(folder / role), "HEARTH_LEASES": str(folder / "leases")}
    with (folder / f"{role}.log").open("w") as log:
        return subprocess.Popen(
            [*submit, "--driver-class-path", jar, *settings(conf), *program],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, **environment, "PYSPARK_PYTHON": sys.executable},
        )


def await_all(started: "list[subprocess.Popen[str]]", folder: Path) -> None:
    deadline = time.monotonic() + READY_S
    while not all((folder / f"{role}-ready").exists() for role in ROLES):
        if time.monotonic() > deadline or any(process.poll() is not None for process in started):
            logs = "\n".join((folder / f"{role}.log").read_text()[-4000:] for role in ROLES)
            sys.exit(f"{logs}\nthe applications were not ready within {READY_S} s, or have ended")
        time.sleep(0.1)


def jobs(output: str) -> list[float]:
    """How long each took that ended in time."""
    (line,) = [line for line in output.splitlines() if line.startswith("TOOK ")]
    return [float(each) for each in json.loads(line.removeprefix("TOOK "))]


def lasted_s(loan: Row) -> float:
    if "until" not in loan:
        return 0.0
    ends = [datetime.fromisoformat(loan[key]) for key in ("since", "until")]
    return (ends[1] - ends[0]).total_seconds()


def page(rows: list[Row]) -> list[str]:
    """Return the table in Markdown."""
    return arm_table(rows, ARMS[0], MEASURES)


if __name__ == "__main__":
    main()
