"""`hearth lab characterise` asks what memory of another node costs: where it really was, then."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

LIMIT_SECONDS = 1000
STATE = Path("/tmp/hearth-characterised")
# All of the heap is touched at once, so that it counts however little the job does.
JAVA_OPTIONS = "-Xms512m -XX:+AlwaysPreTouch -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
APPLICATION = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
assert spark.sparkContext.parallelize(range(100), 4).sum() == 4950
"""


def collect(job: dict[str, object], evidence: Path) -> None:
    """Leaves the answer, the progress, and the record of each run without its event log."""
    del job
    application = Path("/tmp/application.py")
    application.write_text(APPLICATION, encoding="utf-8")
    words = ["--questions", "memory", "--repeat", "1", "--warmup", "0", "--json"]
    words += ["--driver-memory", "512m", "--driver-java-options", JAVA_OPTIONS]
    words += ["--conf", "spark.ui.enabled=false", str(application)]
    with (evidence / "answer.json").open("wb") as answer, (evidence / "log").open("wb") as log:
        done = subprocess.run(
            [sys.executable, "-m", "hearth", "lab", "characterise", *words],
            stdout=answer,
            stderr=log,
            check=False,
            timeout=LIMIT_SECONDS,
            env={**os.environ, "HEARTH_STATE": str(STATE)},
        )
    (evidence / "status").write_text(str(done.returncode), encoding="ascii")
    ignored = shutil.ignore_patterns("eventlog", "*.jsa")
    if STATE.is_dir():
        shutil.copytree(STATE, evidence / "state", ignore=ignored)
