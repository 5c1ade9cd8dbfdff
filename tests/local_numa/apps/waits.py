"""Tasks that wait, as for a service, and what may go wrong while more of them run than slots.

Tells of each job whether its answer was right, and how many of its tasks ran at once in a JVM.
"""

import json
import os
import signal
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path

from pyspark import SparkContext, TaskContext
from pyspark.sql import SparkSession

TASKS = 60


def call(n: int) -> tuple[int, float, float, int]:
    begin = time.time()
    time.sleep(0.25)
    return os.getppid(), begin, time.time(), n  # the parent is the one of this executor


def once(n: int) -> bool:
    return n == TASKS // 2 and TaskContext.get().attemptNumber() == 0


def fails(n: int) -> tuple[int, float, float, int]:
    if once(n):
        raise ValueError("the first attempt fails")
    return call(n)


def kills(n: int) -> tuple[int, float, float, int]:
    if once(n):
        stat = Path(f"/proc/{os.getppid()}/stat").read_text(encoding="ascii")
        os.kill(int(stat.rpartition(")")[2].split()[1]), signal.SIGKILL)
        time.sleep(60)
    return call(n)


def job(context: SparkContext, work) -> dict:
    rows = context.parallelize(range(TASKS), TASKS).map(work).collect()
    marks = defaultdict(list)
    for place, begin, end, _ in rows:
        marks[place] += [(begin, 1), (end, -1)]
    most = 0
    for each in marks.values():
        running = 0
        for _, change in sorted(each):
            running += change
            most = max(most, running)
    return {"right": sorted(row[3] for row in rows) == list(range(TASKS)), "at_once": most}


spark = SparkSession.builder.appName("waits").getOrCreate()
context = spark.sparkContext
report = {"calls": job(context, call)}
if sys.argv[1:] != ["one"]:
    report["a failed task"] = job(context, fails)
    report["a killed executor"] = job(context, kills)

beside: list[dict] = []
threads = [threading.Thread(target=lambda: beside.append(job(context, call))) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
report["two jobs"] = {"right": [each["right"] for each in beside] == [True, True]}

threading.Timer(1.5, context.cancelAllJobs).start()
try:
    job(context, lambda n: call(n) if n < 9 else time.sleep(60))
    report["a cancelled job"] = {"right": False}
except Exception as error:
    report["a cancelled job"] = {"right": "cancelled" in str(error)}
barrier = context.parallelize(range(2), 2).barrier()  # all slots of the plan, at once
report["all slots"] = {"right": barrier.mapPartitions(lambda _: [1]).count() == 2}
report["calls again"] = job(context, call)
print("RESULT", json.dumps(report), flush=True)
spark.stop()
