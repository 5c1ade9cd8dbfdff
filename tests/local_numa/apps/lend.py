"""Two roles of applications that lend each other CPUs; files say when something begins and ends.

pauses: works on one task from `work-N` to `turn-N-ends`, N of 1, 2, and does nothing in between.
works: two tasks, each until its file; a barrier stage beside them; then four tasks.
"""

import sys
import threading
import time
from pathlib import Path

from pyspark import BarrierTaskContext
from pyspark.sql import SparkSession

LIMIT_S = 300
role, folder = sys.argv[1], Path(sys.argv[2])


def wait(name: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not (folder / name).exists() and time.monotonic() < deadline:
        time.sleep(0.05)


def task(name: str) -> str:
    """Runs until a file of its name is there."""
    (folder / f"{name}-runs").touch()
    wait(f"{name}-ends")
    return name


def barrier(names: object) -> object:
    BarrierTaskContext.get().barrier()
    return [task("barrier")]


def all_of(*names: str) -> list[str]:
    return spark.sparkContext.parallelize(names, len(names)).map(task).collect()


def pauses() -> None:
    all_of("first")
    for turn in (1, 2):
        (folder / f"pauses-{turn}").touch()
        wait(f"work-{turn}")
        all_of(f"turn-{turn}")


def works() -> None:
    both = threading.Thread(target=all_of, args=("one", "two"))
    both.start()
    wait("barrier-starts")
    spark.sparkContext.parallelize([1], 1).barrier().mapPartitions(barrier).collect()
    both.join()
    all_of("three", "four", "five", "six")


spark = SparkSession.builder.appName(role).getOrCreate()
{"pauses": pauses, "works": works}[role]()
spark.stop()
