"""A real Spark job under `local-numa`: placement of executors and Python workers, and a lost one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

LIMIT_SECONDS = 330
CONFIGURATION = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.local.dir": "/tmp/spark",
}


def collect(job: dict[str, object], evidence: Path) -> None:
    """Submits the application; leaves its evidence, its output and its exit status."""
    if not job["jar"]:
        raise FileNotFoundError("no hearth jar was built: cd jvm && mvn package")
    jar = ["--jars", str(job["jar"]), "--driver-class-path", str(job["jar"])]
    submit(str(job["master"]), int(str(job["executors"])), evidence, jar)


def submit(master: str, executors: int, evidence: Path, extra: list[str]) -> None:
    """Runs the application under a master within LIMIT_SECONDS and keeps what it said."""
    settings = [word for key, value in CONFIGURATION.items() for word in ("--conf", f"{key}={value}")]
    app = Path(__file__).with_name("local_numa_app.py")
    command = ["bash", f"{os.environ['SPARK_HOME']}/bin/spark-submit", "--master", master]
    command += [*extra, *settings, str(app), str(evidence), str(executors)]
    with (evidence / "output.txt").open("wb") as output:
        done = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False,
                              timeout=LIMIT_SECONDS)
    (evidence / "status").write_text(str(done.returncode), encoding="ascii")
