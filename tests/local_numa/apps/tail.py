"""One task of two works on with two native threads until a file is there; all tell their CPUs."""

import contextlib
import hashlib
import json
import os
import sys
import threading
import time
from pathlib import Path

from pyspark.sql import SparkSession

folder = Path(sys.argv[1])


def spin(until: Path) -> None:
    block = bytes(1 << 20)
    while not until.exists():
        hashlib.sha256(block)  # without the interpreter's lock


def stray(until: Path) -> None:
    """A thread that binds itself, elsewhere than its executor is."""
    place = int(os.environ["SPARK_EXECUTOR_ATTRIBUTE_HEARTH_CPUS"])
    with contextlib.suppress(OSError):  # a cpuset lets nobody out
        os.sched_setaffinity(0, {1 - place})
    until.with_suffix(".stray").write_text(str(threading.get_native_id()))
    while not until.exists():
        time.sleep(0.05)


def own() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def tail(task: int, until: Path) -> tuple[int, list[int]]:
    """The CPUs of its Python worker at the end."""
    if task == 0:
        work = [threading.Thread(target=spin, args=(until,)) for _ in range(2)]
        work.append(threading.Thread(target=stray, args=(until,)))
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
    return task, own()


def last(name: str) -> list[int]:
    tasks = spark.sparkContext.parallelize(range(2), 2)
    done = dict(tasks.map(lambda task: tail(task, folder / name)).collect())
    return done[0]


def all_of_them(task: int) -> list[int]:
    """The CPUs of a worker while each executor has a task."""
    (folder / f"works-{task}").touch()
    while len(list(folder.glob("works-*"))) < 2:
        time.sleep(0.05)
    time.sleep(1)
    return own()


spark = SparkSession.builder.appName("tail").getOrCreate()
alone = last("first")
together = spark.sparkContext.parallelize(range(2), 2).map(all_of_them).collect()
print("RESULT", json.dumps({"alone": alone, "together": together}), flush=True)
last("second")
spark.stop()
