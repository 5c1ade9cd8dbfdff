"""One of two Spark applications at once; leaves the kernel's view of its executor while both work.

Runs as `spark-submit two_applications_app.py NAME EVIDENCE`; both know by files in EVIDENCE how far
the other is.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

from pyspark.sql import SparkSession

from numalab.cases.local_numa_app import await_executors
from numalab.guest.capture import capture_process
from numalab.guest.waiting import wait_for

WAIT_SECONDS = 300.0
TASK_SECONDS = 4.0
CPUS = 2


def main(name: str, evidence: Path) -> None:
    """Works until both executors have been captured."""
    context = SparkSession.builder.getOrCreate().sparkContext
    ((_, pid),) = await_executors(context.applicationId, 1, without=frozenset()).items()

    def work() -> None:
        context.parallelize(range(CPUS), CPUS).foreach(lambda _: _compute())

    def all_have(moment: str) -> bool:
        return len(list(evidence.glob(f"*.{moment}"))) == 2

    work()
    (evidence / f"{name}.working").touch()
    wait_for("the other one works", lambda: all_have("working"), WAIT_SECONDS)
    while_captured = threading.Thread(target=work)
    while_captured.start()
    capture_process(pid, evidence / name)
    (evidence / f"{name}.captured").touch()
    while_captured.join()
    while not all_have("captured"):
        work()
    context.stop()


def _compute() -> None:
    end = time.monotonic() + TASK_SECONDS
    while time.monotonic() < end:
        pass


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
