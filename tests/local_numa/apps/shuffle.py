"""A shuffle between all executors, one of which is killed between two of its reads."""

import json
import os
import signal
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


def read() -> dict[str, int]:
    """Bytes read in all shuffles so far, by where they came from."""
    address = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages"
    stages = json.load(urllib.request.urlopen(address))
    names = ("shuffleRemoteBytesRead", "shuffleLocalBytesRead")
    return {name: sum(stage[name] for stage in stages) for name in names}


pids = executor_pids()
pairs = context.parallelize(range(400), 8).map(slow)
sums = pairs.reduceByKey(lambda a, b: a + b, 8)
first = count()
before = read()
os.kill(min(pids), signal.SIGKILL)
second = count()
tab = urllib.request.urlopen(f"{context.uiWebUrl}/hearth/").read().decode()
third = dict(pairs.groupByKey(6).mapValues(len).collect())
expected = dict(Counter(x % 10 for x in range(400)))
print(
    "RESULT",
    json.dumps(
        {
            "right": first == second == third == expected,
            "executors": len(pids),
            "before": before,
            "after": read(),
            "tab": tab,
        }
    ),
)
spark.stop()
