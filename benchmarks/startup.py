"""From the submit of an application to its first task: local-numa against Spark's own masters.

    .venv/bin/python benchmarks/startup.py --repeat 7

Every repetition runs each arm once, in random order (seeded), so that load on the machine falls on
all alike; the first repetition warms the page cache and the class-data archives and is dropped.
Reported: median, smallest and largest seconds of each arm, and the middle of the paired ratios to
`local[2]` and `local-cluster`, with intervals that hold for all of a baseline's
together. Raw values go to benchmarks/results/.

Arms: `local[2]`; `local-cluster[2,1,1024]`; `standalone`, a master and two workers of one core that
run already (their own start is not counted); `local-numa[2x1]` by plain spark-submit; the same by
`hearth submit`, which plans first and starts the driver from a class-data archive too; and, where
a Docker engine answers, by `hearth submit --docker`, each executor in a container; `hearth submit`
without a master, which is one JVM on a machine of one node and few cores.
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
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from results import shown, spread, table

from hearth import Ratio, jar_path, paired_ratio
from hearth.machine.paths import spark_home
from hearth.studies.engine.arms import no_docker
from hearth.studies.engine.statistics import CONFIDENCE, each_confidence

BIN = Path(sys.executable).parent
ROOT = Path(__file__).resolve().parents[1]
NUMA = "local-numa[2x1]"
LOCAL = "local[2]"
CLUSTER = "local-cluster[2,1,1024]"
LIMIT_S = 180

APPLICATION = """
import time
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("startup").getOrCreate()
context = spark.sparkContext._jsc.sc()
spark.sparkContext.parallelize(range(2), 2)._jrdd.count()
task = context.statusStore().taskList(0, 0, 1).apply(0)
print("FIRST_TASK", task.launchTime().getTime() / 1000, flush=True)
spark.stop()
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=7, help="repetitions kept, after one dropped")
    parser.add_argument("--seed", type=int, default=1, help="of the order within a repetition")
    parser.add_argument("--output", type=Path, help="raw results (default: benchmarks/results/)")
    options = parser.parse_args()
    name = f"startup-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
    output = options.output or ROOT / "benchmarks" / "results" / name
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hearth-startup-") as folder:
        application = Path(folder) / "startup.py"
        application.write_text(APPLICATION)
        with standalone(Path(folder)) as master:
            rows = measure(arms(application, master, Path(folder)), options, output)
    print("\n".join(page(rows)))
    print(f"\nRaw results: {output}")


def arms(application: Path, standalone_master: str, folder: Path) -> dict[str, list[str]]:
    jar = jar_path()
    quiet = [
        *("--conf", "spark.ui.enabled=false", "--conf", "spark.log.level=WARN"),
        *("--conf", f"spark.local.dir={folder / 'local'}", "--conf", "spark.executor.memory=1g"),
    ]
    submit = str(spark_home() / "bin" / "spark-submit")

    def spark(master: str, *more: str) -> list[str]:
        return [submit, "--master", master, *more, *quiet, str(application)]

    planned = [str(BIN / "hearth"), "submit"]
    submitted = [*planned, "--master", NUMA]
    docker = (
        {}
        if no_docker()
        else {f"hearth submit --docker {NUMA}": [*submitted, "--docker", *quiet, str(application)]}
    )
    return {
        LOCAL: spark(LOCAL),
        CLUSTER: spark(CLUSTER),
        "standalone": spark(standalone_master, "--executor-cores", "1"),
        NUMA: spark(NUMA, "--jars", jar, "--driver-class-path", jar),
        "hearth submit": [*planned, *quiet, str(application)],
        f"hearth submit {NUMA}": [*submitted, *quiet, str(application)],
        **docker,
    }


def measure(
    commands: dict[str, list[str]], options: argparse.Namespace, output: Path
) -> list[dict[str, Any]]:
    order = random.Random(options.seed)
    rows: list[dict[str, Any]] = []
    print(f"{options.repeat} repetitions of {len(commands)} arms after one that is dropped")
    for repetition in range(options.repeat + 1):
        names = list(commands)
        order.shuffle(names)
        for name in names:
            seconds = first_task(name, commands[name])
            row = {"arm": name, "repetition": repetition, "seconds": round(seconds, 3)}
            row |= {"dropped": repetition == 0, "load": os.getloadavg()[0]} | machine()
            with output.open("a") as file:
                file.write(json.dumps(row) + "\n")
            rows.append(row)
            print(f"  {repetition}/{options.repeat}  {name:32} {seconds:6.2f} s", flush=True)
    return rows


def first_task(name: str, command: list[str]) -> float:
    begin = time.time()
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=LIMIT_S, check=False, env=environment
    )
    for line in done.stdout.splitlines():
        if line.startswith("FIRST_TASK "):
            return float(line.split()[1]) - begin
    said = f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    sys.exit(f"{name}: no task was run (exit {done.returncode})\n{said}")


def machine() -> dict[str, object]:
    return {"cpus": os.cpu_count(), "kernel": platform.release(), "arch": platform.machine()}


@contextmanager
def standalone(folder: Path) -> Iterator[str]:
    """Run a master and two workers on loopback; end them with the block."""
    script = str(spark_home() / "bin" / "spark-class")
    environment = {**os.environ, "SPARK_WORKER_DIR": str(folder / "worker")}
    processes: list[subprocess.Popen[bytes]] = []

    def start(name: str, *words: str) -> Path:
        log = folder / f"daemon-{len(processes)}.log"
        command = [script, f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", *words]
        with log.open("wb") as stream:
            processes.append(
                subprocess.Popen(command, env=environment, stdout=stream, stderr=stream)
            )
        return log

    try:
        log = start("master.Master", "--port", "0", "--webui-port", "0")
        line = wait_for(log, "Starting Spark master at ")
        url = line.split("Starting Spark master at ")[1].strip()
        for _ in range(2):
            log = start("worker.Worker", "--cores", "1", "--memory", "2g", "--webui-port", "0", url)
            wait_for(log, "Successfully registered with master")
        yield url
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(timeout=30)


def wait_for(log: Path, text: str) -> str:
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        for line in log.read_text(errors="replace").splitlines():
            if text in line:
                return line
        time.sleep(0.1)
    sys.exit(f"'{text}' did not appear in {LIMIT_S} s:\n{log.read_text(errors='replace')[-2000:]}")


def page(rows: list[dict[str, Any]]) -> list[str]:
    """Return the table in Markdown; intervals hold for all arms of a baseline together."""
    by_arm = kept(rows)
    lines = []
    for arm, values in sorted(by_arm.items(), key=lambda item: statistics.median(item[1].values())):
        cells = [f"`{arm}`", spread(list(values.values()))]
        for base in (LOCAL, CLUSTER):
            cells.append("1" if arm == base else shown(ratio(rows, arm, base)))
        lines.append(cells)
    heads = ["Arm", "Median s (range)", f"To `{LOCAL}`, 95 % interval", f"To `{CLUSTER}`"]
    return table(heads, lines)


def kept(rows: list[dict[str, Any]]) -> dict[str, dict[int, float]]:
    """Of each arm the seconds by repetition, without what is dropped."""
    by_arm: dict[str, dict[int, float]] = {}
    for row in rows:
        if not row["dropped"]:
            by_arm.setdefault(row["arm"], {})[row["repetition"]] = row["seconds"]
    return by_arm


def ratio(rows: list[dict[str, Any]], arm: str, base: str) -> Ratio:
    by_arm = kept(rows)
    values = by_arm[arm]
    each = each_confidence(CONFIDENCE, len(by_arm) - 1)
    return paired_ratio(list(values.values()), [by_arm[base][n] for n in values], each)


if __name__ == "__main__":
    main()
