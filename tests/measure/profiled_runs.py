"""A tiny application, and `hearth profile` of it in a state directory of its own."""

import subprocess
import sys
from pathlib import Path

from hearth.machine.paths import spark_home
from hearth.record.store import Record, list_records, read_record
from support import command, confs, driver_settings, environment

#: Counts some numbers, in the JVM and in Python workers, then does what its argument says.
APPLICATION = """
import os, sys, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
keys = spark.range(0, 200000, 1, 4).selectExpr("id % 100 as k").groupBy("k").count()
print("groups", keys.count(), flush=True)
what = sys.argv[1] if len(sys.argv) > 1 else "end"
until = time.monotonic() + 3  # tasks are seen by a sampler that looks once a second
while what in ("end", "fail") and time.monotonic() < until:
    spark.range(0, 20000000, 1, 4).selectExpr("sum(id)").collect()
    time.sleep(0.3)  # leave some of the machine to other tests
if what == "fail":
    sys.exit(7)
while what == "stay" or (what == "wait" and not os.path.exists("go")):
    spark.range(0, 1000000, 1, 4).selectExpr("sum(id)").collect()
    time.sleep(0.1)
spark.range(0, 1000000, 1, 4).selectExpr("sum(id)").collect()
spark.stop()
"""

QUIET = ("--conf", "spark.ui.enabled=false", "--conf", "spark.driver.memory=512m")


def start_profile(state: Path, *words: str) -> subprocess.Popen[str]:
    """`hearth profile` of the tiny application, as a process group of its own."""
    application = state / "tiny.py"
    state.mkdir(parents=True, exist_ok=True)
    application.write_text(APPLICATION)
    named = [str(application) if word == "APP" else word for word in words]
    quiet = list(QUIET)
    if any(word.startswith("local[") for word in words):  # else hearth adds its own
        quiet += confs(driver_settings(spark_home(), None))
    # Where a driver that is killed leaves what Spark deletes at its end only.
    temporary = f"-Djava.io.tmpdir={state}"
    return subprocess.Popen(
        command("profile", *quiet, *named),
        env=environment(state, PYSPARK_PYTHON=sys.executable, SPARK_SUBMIT_OPTS=temporary),
        cwd=state,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def only_record(state: Path) -> Record:
    """The one record of a state directory."""
    records, problems = list_records(state)
    assert problems == []
    (record,) = records
    return read_record(record.directory)
