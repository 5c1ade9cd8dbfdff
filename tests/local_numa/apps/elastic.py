"""Dynamic allocation: work for all executors, a pause in which they go, work again."""

import json
import time

from pyspark.resource import ResourceProfileBuilder, TaskResourceRequests
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("elastic").getOrCreate()
context = spark.sparkContext


def work(x: int) -> int:
    time.sleep(1)
    return x


def running() -> int:
    return context._jsc.sc().getExecutorIds().size()


def until(count: int) -> int:
    deadline = time.monotonic() + 240
    while running() != count and time.monotonic() < deadline:
        time.sleep(0.2)
    return running()


def busy(needs: TaskResourceRequests | None = None) -> int:
    numbers = context.parallelize(range(12), 12)
    if needs:
        numbers = numbers.withResources(ResourceProfileBuilder().require(needs).build)
    return numbers.map(work).count()


counts = [busy(), busy()]
most = running()
idle = until(0)
counts.append(busy(TaskResourceRequests().cpus(1)))
print("RESULT", json.dumps({"most": most, "idle": idle, "counts": counts, "again": running()}))
spark.stop()
