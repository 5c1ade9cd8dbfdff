"""What an application sees while its executors start, and its first jobs, which need them all."""

import json
import os
import sys
import threading
import time
from pathlib import Path

from pyspark import BarrierTaskContext, SparkContext


def meet(_: object) -> list[int]:
    barrier = BarrierTaskContext.get()
    barrier.barrier()
    return [len(barrier.getTaskInfos())]


def place(_: int) -> list[int]:
    time.sleep(1)
    return sorted(os.sched_getaffinity(0))


context = SparkContext()
# The driver has a block manager too.
report = {"registered": context._jsc.sc().getExecutorMemoryStatus().size() - 1}
report["parallelism"] = context.defaultParallelism


def first_job() -> None:
    report["places"] = sorted(context.parallelize(range(2), 2).map(place).collect())


job = threading.Thread(target=first_job)
job.start()
while not context.statusTracker().getActiveJobsIds():
    time.sleep(0.01)
Path(sys.argv[1]).touch()  # the executors may start
report["barrier"] = context.parallelize(range(4), 4).barrier().mapPartitions(meet).collect()
job.join()
print("RESULT", json.dumps(report), flush=True)
context.stop()
