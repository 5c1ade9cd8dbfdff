"""How long is it from a submit to the first task: local-numa against Spark's own masters?

    .venv/bin/python benchmarks/startup.py --repeat 7

Arms: `local[2]`; `local-cluster[2,1,1024]`; `standalone`, a master and two workers of one core that
run already; `local-numa[2x1]` by plain spark-submit; the same by `hearth submit`, which plans first
and starts the driver from a class-data archive too, and with `--docker` where an engine answers;
`hearth submit` without a master, which is one JVM on a machine of one node and few cores. Intervals
hold for all arms of a baseline together. The first repetition warms page cache and archives.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from harness import BIN, Benchmark, Turn, answer, settings
from results import Row, names, ratio, runs, shown, spread, table, values

from hearth import Ratio, jar_path
from hearth.base.processes import die_with
from hearth.machine.paths import spark_home
from hearth.studies.engine.arms import no_docker
from hearth.studies.engine.statistics import CONFIDENCE, each_confidence

NUMA = "local-numa[2x1]"
LOCAL = "local[2]"
CLUSTER = "local-cluster[2,1,1024]"
DOCKER = f"hearth submit --docker {NUMA}"
ARMS = (LOCAL, CLUSTER, "standalone", NUMA, "hearth submit", f"hearth submit {NUMA}", DOCKER)
LIMIT_S = 180

APPLICATION = """
import json
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("startup").getOrCreate()
context = spark.sparkContext._jsc.sc()
spark.sparkContext.parallelize(range(2), 2)._jrdd.count()
task = context.statusStore().taskList(0, 0, 1).apply(0)
print("RESULT", json.dumps({"task": task.launchTime().getTime() / 1000}), flush=True)
spark.stop()
"""


def main() -> None:
    bench = Benchmark(__doc__, page, arms=ARMS, repeat=7, warm_ups=1)
    bench.parse()
    if no_docker():
        bench.arms = [arm for arm in bench.arms if arm != DOCKER]
    bench.begin()
    with tempfile.TemporaryDirectory(prefix="hearth-startup-") as folder, ExitStack() as running:
        application = Path(folder) / "startup.py"
        application.write_text(APPLICATION)
        master = running.enter_context(standalone(1, "2g")) if "standalone" in bench.arms else ""
        commands = commands_of(application, master, Path(folder))

        def run(turn: Turn) -> Row:
            result = answer(commands[turn.arm], LIMIT_S)
            return {"seconds": round(result["task"] - result["begun"], 3)}

        bench.measure(run)
    bench.report()


def commands_of(application: Path, standalone_master: str, folder: Path) -> dict[str, list[str]]:
    """Return the command of each arm."""
    jar = jar_path()
    quiet = settings(
        {
            "spark.ui.enabled": "false",
            "spark.log.level": "WARN",
            "spark.local.dir": folder / "local",
            "spark.executor.memory": "1g",
        }
    )
    submit = str(spark_home() / "bin" / "spark-submit")

    def spark(master: str, *more: str) -> list[str]:
        return [submit, "--master", master, *more, *quiet, str(application)]

    planned = [str(BIN / "hearth"), "submit"]
    submitted = [*planned, "--master", NUMA]
    return {
        LOCAL: spark(LOCAL),
        CLUSTER: spark(CLUSTER),
        "standalone": spark(standalone_master, "--executor-cores", "1"),
        NUMA: spark(NUMA, "--jars", jar, "--driver-class-path", jar),
        "hearth submit": [*planned, *quiet, str(application)],
        f"hearth submit {NUMA}": [*submitted, *quiet, str(application)],
        DOCKER: [*submitted, "--docker", *quiet, str(application)],
    }


@contextmanager
def standalone(cores: int, memory: str) -> Iterator[str]:
    """Run a master and two workers on loopback, yield their address, and end them."""
    script = str(spark_home() / "bin" / "spark-class")
    running: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory(prefix="hearth-standalone-") as folder:

        def start(name: str, *words: str) -> Path:
            log = Path(folder) / f"{len(running)}.log"
            command = [script, f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", *words]
            with log.open("wb") as to:
                server = subprocess.Popen(
                    command,
                    env={**os.environ, "SPARK_WORKER_DIR": folder},
                    stdout=to,
                    stderr=to,
                    preexec_fn=die_with(os.getpid()),  # noqa: PLW1509 - this process has one thread
                )
            running.append(server)
            return log

        try:
            log = start("master.Master", "--port", "0", "--webui-port", "0")
            said = "Starting Spark master at "
            url = wait_for(log, said).split(said)[1].strip()
            share = ("--cores", str(cores), "--memory", memory, "--webui-port", "0", url)
            for _ in range(2):
                wait_for(start("worker.Worker", *share), "Successfully registered with master")
            yield url
        finally:
            for process in running:
                process.terminate()
            for process in running:
                process.wait(timeout=30)


def wait_for(log: Path, text: str) -> str:
    """Return the line of a log that has this text, once it is there."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        for line in log.read_text(errors="replace").splitlines():
            if text in line:
                return line
        time.sleep(0.1)
    sys.exit(f"'{text}' did not appear in {LIMIT_S} s:\n{log.read_text(errors='replace')[-2000:]}")


def page(rows: list[Row]) -> list[str]:
    """Return the table in Markdown."""
    arms = names(runs(rows), "arm")
    lines = [
        [f"`{arm}`", spread(values(rows, arm, "seconds"))]
        + ["1" if arm == base else shown(against(rows, arm, base)) for base in (LOCAL, CLUSTER)]
        for arm in sorted(arms, key=lambda arm: statistics.median(values(rows, arm, "seconds")))
    ]
    return table(["Arm", "s to the first task", f"to `{LOCAL}`", f"to `{CLUSTER}`"], lines)


def against(rows: list[Row], arm: str, base: str) -> Ratio | None:
    each = each_confidence(CONFIDENCE, len(names(runs(rows), "arm")) - 1)
    return ratio(rows, arm, base, "seconds", confidence=each)


if __name__ == "__main__":
    main()
