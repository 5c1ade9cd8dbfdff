"""Where a cluster's executors run, as the kernel tells their tasks, in one context after the other.

Each argument is a JSON object of settings; with "kill", an executor is killed, and its successor is
looked at.
"""

import json
import os
import re
import signal
import sys
import time
import urllib.request
from pathlib import Path

from pyspark.sql import SparkSession


def mask(process: Path) -> str:
    match = re.search(r"Cpus_allowed_list:\t(.*)", (process / "status").read_text())
    assert match
    return match[1]


def look(_: int) -> tuple[int, str, str, str]:
    """The executor, the masks of all its threads, and what this Python worker has inherited."""
    time.sleep(0.3)  # the other executor gets tasks too
    own = jvm = Path("/proc/self").resolve()
    while (jvm / "comm").read_text() != "java\n":
        jvm = jvm.with_name((jvm / "status").read_text().split("PPid:")[1].split()[0])
    masks = {mask(thread) for thread in (jvm / "task").iterdir()}
    policies = {line.split()[1] for line in (own / "numa_maps").read_text().splitlines()}
    return int(jvm.name), " ".join(sorted(masks)), mask(own), " ".join(sorted(policies))


def seen(spark: SparkSession) -> list[tuple[int, str, str, str]]:
    return sorted(spark.sparkContext.parallelize(range(8), 8).map(look).distinct().collect())


def after_kill(spark: SparkSession, pid: int) -> list[tuple[int, str, str, str]]:
    os.kill(pid, signal.SIGKILL)
    for _ in range(30):
        match = seen(spark)
        if len(match) == 2 and pid not in {each[0] for each in match}:
            return match
    raise AssertionError(f"no successor of {pid}: {match}")


def observed(settings: dict[str, str]) -> dict[str, object]:
    kill = settings.pop("kill", "")
    try:
        builder = SparkSession.builder
        for key, value in settings.items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
        first = seen(spark)
        said: dict[str, object] = {"app": spark.sparkContext.applicationId, "seen": first}
        if ui := spark.sparkContext.uiWebUrl:
            with urllib.request.urlopen(f"{ui}/hearth/", timeout=60) as page:
                said["tab"] = page.read().decode()
        if kill:
            said["after"] = after_kill(spark, first[0][0])
        spark.stop()
    except Exception as e:  # Py4J's or PySpark's
        return {"failed": str(e)[:500]}
    return said


print(json.dumps([observed(json.loads(word)) for word in sys.argv[1:]]))
