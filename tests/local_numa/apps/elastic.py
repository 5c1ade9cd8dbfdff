"""Dynamic allocation: work for all executors, a pause in which they go, work again."""

import json
import time

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("elastic").getOrCreate()
context = spark.sparkContext


def work(x: int) -> int:
    time.sleep(1)
    return x


def running() -> int:
    return context._jsc.sc().getExecutorIds().size()


def until(count: int) -> int:
    deadline = time.monotonic() + 60
    while running() != count and time.monotonic() < deadline:
        time.sleep(0.2)
    return running()


def busy() -> int:
    return context.parallelize(range(12), 12).map(work).count()


counts = [busy(), busy()]
most = running()
idle = until(0)
counts.append(busy())
print("RESULT", json.dumps({"most": most, "idle": idle, "counts": counts, "again": running()}))
spark.stop()
