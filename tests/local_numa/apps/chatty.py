"""A shuffle whose executors write to their logs and of whom one crashes; ends with code 5."""

import json
import os
import signal
import sys
from pathlib import Path

from pyspark import TaskContext
from pyspark.sql import SparkSession

crash = sys.argv[1] == "crash"


def chat(n: int) -> tuple[int, int]:
    """Python workers' standard error goes to the log of their executor."""
    for _ in range(64):
        print("x" * 1024, file=sys.stderr)
    context = TaskContext.get()
    assert context is not None
    if crash and n == 0 and context.attemptNumber() == 0:
        os.kill(jvm(), signal.SIGSEGV)
        signal.pause()
    return n % 4, n


def jvm() -> int:
    """The executor: this worker's parent, or that of the daemon which forked it."""
    pid = os.getppid()
    if Path(f"/proc/{pid}/comm").read_text().strip() == "java":
        return pid
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


spark = SparkSession.builder.appName("chatty").getOrCreate()
pairs = spark.sparkContext.parallelize(range(8), 8).map(chat)
total = pairs.groupByKey(4).mapValues(sum).values().sum()
print("RESULT", json.dumps({"sum": total}))
spark.stop()
sys.exit(5)
