"""A shuffle between all executors; with `lose`, one of them is killed between two of its reads."""

import json
import os
import signal
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("shuffle").getOrCreate()
context = spark.sparkContext


def executor_pids() -> set[int]:
    def parent(_: object) -> int:
        time.sleep(0.4)
        stat = Path(f"/proc/{os.getppid()}/stat").read_text()
        return int(stat.rsplit(")", 1)[1].split()[1])

    return set(context.parallelize(range(8), 8).map(parent).collect())


def slow(x: int) -> tuple[int, int]:
    time.sleep(0.01)
    return x % 10, 1


def count() -> dict[int, int]:
    return dict(sums.collect())


pids = executor_pids()
pairs = context.parallelize(range(400), 8).map(slow)
sums = pairs.reduceByKey(lambda a, b: a + b, 8)
first = count()
if "lose" in sys.argv:
    os.kill(min(pids), signal.SIGKILL)
second = count()
third = dict(pairs.groupByKey(6).mapValues(len).collect())
expected = dict(Counter(x % 10 for x in range(400)))

stages = json.load(
    urllib.request.urlopen(f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages")
)
metrics = {
    name: sum(stage[name] for stage in stages)
    for name in ("shuffleRemoteBytesRead", "shuffleLocalBytesRead", "shuffleReadBytes")
}
print(
    "RESULT",
    json.dumps({"right": first == second == third == expected, "executors": len(pids), **metrics}),
)
spark.stop()
