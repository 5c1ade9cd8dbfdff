"""A Spark application that loses an executor on purpose; leaves the kernel's view of its processes.

Runs as `spark-submit local_numa_app.py EVIDENCE EXECUTORS`. It judges nothing but its own answers.
"""

from __future__ import annotations

import json
import operator
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from pyspark import SparkContext, StorageLevel
from pyspark.sql import SparkSession

from numalab.guest.capture import capture_process
from numalab.guest.waiting import wait_for

#: The end of its name: hearth's extends Spark's.
EXECUTOR = b"CoarseGrainedExecutorBackend"
ARCHIVE = "NUMALAB_EXECUTOR_ARCHIVE"
NUMBERS = 10_000
BLOCK_BYTES = 8 * 2**20
WAIT_SECONDS = 150.0


def main(evidence: Path, wanted: int) -> None:
    """Counts, fills the heaps, kills the executor with the lowest id, does it all again."""
    clock = Clock()
    context = SparkSession.builder.appName("numalab").getOrCreate().sparkContext
    clock.mark("context")
    await_executors(context.applicationId, wanted, without=frozenset())
    await_registered(context, wanted)
    clock.mark("executors")
    first = _round(context, wanted, evidence / "before")
    clock.mark("before")
    killed, survived = _kill_while_busy(context, wanted)
    after = await_executors(context.applicationId, wanted, without=frozenset([killed]))
    await_registered(context, wanted)
    clock.mark("replaced")
    second = _round(context, wanted, evidence / "after")
    clock.mark("after")
    result = {
        "counts": [first, survived, second],
        "expected": NUMBERS,
        "killed": killed,
        "executors_after": sorted(after),
        "seconds": clock.seconds,
    }
    (evidence / "result.json").write_text(json.dumps(result, indent=2), encoding="utf-8")
    if ARCHIVE in os.environ:
        _dump_archive(max(after.items())[1], os.environ[ARCHIVE])
    context.stop()
    clock.mark("stopped")


def _dump_archive(pid: int, target: str) -> None:
    """Has an executor write its archive of loaded classes (see archives.py; never in a guest)."""
    jcmd = f"{os.environ['JAVA_HOME']}/bin/jcmd"
    subprocess.run([jcmd, str(pid), "VM.cds", "dynamic_dump", target], check=True)


def _round(context: SparkContext, executors: int, evidence: Path) -> int:
    """A shuffle, a cached block for every executor's heap, and witnesses in Python workers."""
    total = _count(context, executors)
    fill_and_look(context, executors, evidence)
    return total


def fill_and_look(context: SparkContext, executors: int, evidence: Path) -> None:
    """Fills heaps and Python workers with some megabytes, and captures both."""
    blocks = context.parallelize(range(2 * executors), 2 * executors).map(_block)
    blocks.persist(StorageLevel.MEMORY_ONLY).count()
    witness = _Witness(context.applicationId, evidence / "workers")
    context.parallelize(range(2 * executors), 2 * executors).mapPartitions(witness).count()
    for executor_id, pid in executor_processes(context.applicationId).items():
        capture_process(pid, evidence / "executors" / executor_id)


def _count(context: SparkContext, executors: int) -> int:
    pairs = context.parallelize(range(NUMBERS), 2 * executors).map(lambda n: (n % 7, 1))
    return sum(pairs.reduceByKey(operator.add, executors).values().collect())


def _block(number: int) -> bytes:
    return bytes([number % 256]) * BLOCK_BYTES


class _Witness:
    """Runs in a Python worker: touches memory, then saves what the kernel says about the worker."""

    def __init__(self, app_id: str, evidence: Path) -> None:
        self.app_id = app_id
        self.evidence = evidence

    def __call__(self, numbers: Iterable[int]) -> Iterable[int]:
        held = bytearray(BLOCK_BYTES)
        for start in range(0, len(held), 4096):
            held[start] = 1
        directory = self.evidence / str(os.getpid())
        capture_process(os.getpid(), directory)
        (directory / "executor").write_text(
            _executor_above(self.app_id, os.getpid()), encoding="ascii"
        )
        time.sleep(1.0)  # so that one executor cannot take every witness
        yield sum(numbers)


def _executor_above(app_id: str, pid: int) -> str:
    """The id of the executor that this process descends from."""
    processes = {process: name for name, process in executor_processes(app_id).items()}
    while pid > 1 and pid not in processes:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        pid = int(stat.rpartition(")")[2].split()[1])
    return processes.get(pid, "none")


def _kill_while_busy(context: SparkContext, wanted: int) -> tuple[str, int]:
    """Kills the lowest executor in the middle of a job; its id, and the job's answer."""
    answers: list[int] = []
    job = threading.Thread(target=lambda: answers.append(_slow_count(context, wanted)))
    job.start()
    time.sleep(2.0)
    victim, pid = min(executor_processes(context.applicationId).items())
    os.kill(pid, signal.SIGKILL)
    job.join(WAIT_SECONDS)
    return victim, answers[0] if answers else -1


def _slow_count(context: SparkContext, executors: int) -> int:
    def slowly(numbers: Iterable[int]) -> Iterable[int]:
        time.sleep(3.0)
        return numbers

    return context.parallelize(range(NUMBERS), 4 * executors).mapPartitions(slowly).count()


def executor_processes(app_id: str) -> dict[str, int]:
    """Executor id to process id, of this application alone: on a host others may run too."""
    processes = {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            words = (directory / "cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        # Not the client of a container, which names all that too.
        java = words[0].endswith(b"/java") and any(word.endswith(EXECUTOR) for word in words)
        if java and b"--executor-id" in words and app_id.encode() in words:
            processes[words[words.index(b"--executor-id") + 1].decode()] = int(directory.name)
    return processes


def await_executors(app_id: str, wanted: int, without: frozenset[str]) -> dict[str, int]:
    """Waits until `wanted` executors live, none of those in `without` among them."""
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        alive = executor_processes(app_id)
        if len(alive.keys() - without) >= wanted and not alive.keys() & without:
            return alive
        time.sleep(0.2)
    raise TimeoutError(
        f"{wanted} executors without {sorted(without)} in {WAIT_SECONDS:.0f} s: "
        f"there are {executor_processes(app_id)}"
    )


def await_registered(context: SparkContext, wanted: int) -> None:
    """Waits until Spark gives tasks to `wanted` executors: a process needs a while to get there."""
    tracker = context._jsc.sc().statusTracker()  # of the driver too
    wait_for("executors", lambda: len(tracker.getExecutorInfos()) > wanted, WAIT_SECONDS)


class Clock:
    """Says on the console, and keeps, how far the application is."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.seconds: dict[str, float] = {}

    def mark(self, name: str) -> None:
        self.seconds[name] = round(time.monotonic() - self.began, 1)
        print(f"numalab: {name} after {self.seconds[name]} s", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
