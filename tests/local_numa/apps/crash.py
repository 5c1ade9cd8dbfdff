"""Python workers that crash: once, which a second attempt makes good, and then always."""

import json
import os
import signal
import sys
from pathlib import Path

from pyspark import TaskContext
from pyspark.sql import SparkSession


def crash(attempts: int):
    def work(x: int) -> int:
        if x == 0 and TaskContext.get().attemptNumber() < attempts:
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    return work


def parent(_: object) -> int:
    stat = Path(f"/proc/{os.getppid()}/stat").read_text()
    return int(stat.rsplit(")", 1)[1].split()[1])


def executors() -> set[int]:
    return set(context.parallelize(range(8), 8).map(parent).collect())


spark = SparkSession.builder.appName("crash").getOrCreate()
context = spark.sparkContext
before = executors()
once = context.parallelize(range(8), 8).map(crash(1)).sum()
same = executors() == before
print("RESULT", json.dumps({"once": once, "executors": len(before), "same": same}))
sys.stdout.flush()
context.parallelize(range(8), 8).map(crash(99)).sum()
