"""What applications ask of a cluster manager, one after the other on one application."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from fetched import remote_bytes
from pyspark import BarrierTaskContext, SparkFiles, TaskContext
from pyspark.resource import (
    ExecutorResourceRequests,
    ResourceProfileBuilder,
    TaskResourceRequests,
)
from pyspark.sql import SparkSession

folder = Path(sys.argv[1])
spark = SparkSession.builder.appName("everything").getOrCreate()
context = spark.sparkContext
checks = context._jvm.Checks
FIELDS = ["executor", "conf_id", "host", "pid", "gpu", "off_heap_mb", "plugin", "notes"]
FIELDS += ["class_path", "late"]


def in_tasks() -> list[dict[str, str]]:
    lines = checks.inTasks(context._jsc).splitlines()
    return [dict(zip(FIELDS, line.split("|"), strict=True)) for line in lines]


def events() -> list[list[str]]:
    return [line.split("|") for line in checks.events().splitlines()]


def until(check: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 240
    while not check() and time.monotonic() < deadline:
        time.sleep(0.1)


def end(executor: str, sign: signal.Signals, successor: str) -> None:
    pid = next(int(task["pid"]) for task in in_tasks() if task["executor"] == executor)
    os.kill(pid, sign)
    until(lambda: ["removed", executor] in [event[:2] for event in events()])
    meetings.append(met())  # while the successor is on its way
    until(lambda: ["added", successor] in [event[:2] for event in events()])


def stray(executor: str) -> int:
    """Lets one thread of an executor run on every CPU, and puts it back when that has been seen."""
    pid = next(int(task["pid"]) for task in in_tasks() if task["executor"] == executor)
    own = os.sched_getaffinity(pid)
    log = folder / "driver.log"
    os.sched_setaffinity(pid, range(os.cpu_count() or 1))
    until(lambda: f"Executor {executor} has drifted" in log.read_text())
    os.sched_setaffinity(pid, own)
    until(lambda: f"Executor {executor} is back in its planned place" in log.read_text())
    return pid


def meet(_: object) -> list[tuple[int, list[str]]]:
    barrier = BarrierTaskContext.get()
    messages = barrier.allGather(f"part {barrier.partitionId()}")
    return [(len({info.address for info in barrier.getTaskInfos()}), messages)]


def met() -> list[tuple[int, list[str]]]:
    return context.parallelize(range(2), 2).barrier().mapPartitions(meet).collect()


def in_python(_: object) -> list[str]:
    import beside  # of the folder of this program
    import late_module

    notes = Path(SparkFiles.get("notes.txt")).read_text().strip()
    relative = Path("relative.txt").read_text().strip()
    gpus = TaskContext.get().resources()["gpu"].addresses
    return [late_module.WORD, beside.WORD, notes, relative, str(Path.cwd()), ",".join(gpus)]


def profiled(needs: ExecutorResourceRequests | TaskResourceRequests) -> list[object]:
    """The CPUs and GPUs of each task of a stage that needs these resources, or what is said."""

    def given(_: object) -> tuple[int, int]:
        task = TaskContext.get()
        return task.cpus(), len(task.resources().get("gpu").addresses)

    profile = ResourceProfileBuilder().require(needs).build
    try:
        return context.parallelize(range(2), 2).withResources(profile).map(given).collect()
    except Exception as e:
        return [str(e)]


meetings = [met()]
context.addPyFile(str(folder / "sent" / "late_module.py"))
context._jsc.addJar(str(folder / "late.jar"))
report = {
    "first": in_tasks(),
    "python": context.parallelize(range(6), 6).map(in_python).collect(),
    "kryo": checks.kryo(context._jsc),
    "remote": remote_bytes(context),
    "profiles": [
        profiled(TaskResourceRequests().cpus(1).resource("gpu", 1)),
        profiled(TaskResourceRequests().cpus(2)),
        profiled(ExecutorResourceRequests().cores(1)),
    ],
}
end("1", signal.SIGPWR, "2")
end("0", signal.SIGKILL, "3")
report |= {"barriers": meetings, "last": in_tasks(), "stray": stray("3"), "events": events()}
print("RESULT", json.dumps(report))
spark.stop()
