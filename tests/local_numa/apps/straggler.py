"""One of two executors is slow: first because others use its CPU, then because it waits.

While its CPU is busy nothing is run twice; while it waits, Spark speculates. Tells of each task
where its result comes from, as the CPUs of that executor.
"""

import json
import multiprocessing
import os
import time

from pyspark.sql import SparkSession

# So many that the other executor is the quicker one beside other programs too.
HOGS, CPU_SECONDS = 12, 1.5


def hog() -> None:
    parent = os.getppid()
    os.setsid()  # the kernel may share CPUs by session (sched(7), autogroup)
    os.sched_setaffinity(0, {0})
    while os.getppid() == parent:
        pass


def work(_: int) -> str:
    end = time.thread_time() + CPU_SECONDS
    while time.thread_time() < end:
        pass
    return os.environ["SPARK_EXECUTOR_ATTRIBUTE_HEARTH_CPUS"]


def wait(_: int) -> str:
    place = os.environ["SPARK_EXECUTOR_ATTRIBUTE_HEARTH_CPUS"]
    time.sleep(60 if place == "0" else 0.5)  # as for a disk
    return place


spark = SparkSession.builder.appName("straggler").getOrCreate()
context = spark.sparkContext
context.range(2, numSlices=2).map(lambda n: n).collect()  # both executors have a worker
hogs = [multiprocessing.Process(target=hog, daemon=True) for _ in range(HOGS)]
for each in hogs:
    each.start()
report = {"busy": context.range(2, numSlices=2).map(work).collect()}
for each in hogs:
    each.kill()
settings = context._jsc.sc().conf()
settings.set("spark.speculation.quantile", "0.5")
settings.set("spark.speculation.multiplier", "1.5")
report["waiting"] = context.range(2, numSlices=2).map(wait).collect()
print("RESULT", json.dumps(report), flush=True)
spark.stop()
