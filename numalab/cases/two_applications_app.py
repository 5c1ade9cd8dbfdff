"""One of two Spark applications that take turns; leaves the kernel's view of both's executors.

Runs as `spark-submit two_applications_app.py lender|borrower EVIDENCE`. Both work; then the lender
has nothing to do while the borrower has more tasks than CPUs; then the lender works again. Files in
EVIDENCE tell each how far the other is.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

from numalab.cases.local_numa_app import await_executors
from numalab.guest.capture import capture_process
from numalab.guest.waiting import wait_for

WAIT_SECONDS = 300.0
TASK_SECONDS = 4.0
CPUS = 2


def main(role: str, evidence: Path) -> None:
    """Plays the role to its end."""
    context = SparkSession.builder.getOrCreate().sparkContext
    ((_, pid),) = await_executors(context.applicationId, 1, without=frozenset()).items()
    _work(context, CPUS)
    (evidence / f"{role}.pid").write_text(str(pid), encoding="ascii")
    {"lender": _lend, "borrower": _borrow}[role](context, evidence)
    context.stop()


def _lend(context: SparkContext, evidence: Path) -> None:
    while not (evidence / "borrower.pid").exists():
        _work(context, CPUS)
    _capture(evidence, "before")
    (evidence / "idle").touch()
    wait_for("the borrower notes its loan", (evidence / "lent").exists, WAIT_SECONDS)
    again = threading.Thread(target=lambda: _work(context, CPUS, seconds=40.0))
    again.start()
    own = allowed(_pid(evidence, "lender"))
    borrower = _pid(evidence, "borrower")
    wait_for("CPUs are given back", lambda: not allowed(borrower) & own, WAIT_SECONDS)
    time.sleep(1.0)  # threads that were being made
    _capture(evidence, "after")
    (evidence / "over").touch()
    again.join()


def _borrow(context: SparkContext, evidence: Path) -> None:
    wait_for("the lender is idle", (evidence / "idle").exists, WAIT_SECONDS)
    working = threading.Thread(target=lambda: _until_over(context, evidence))
    working.start()
    pid, own = _pid(evidence, "borrower"), allowed(_pid(evidence, "borrower"))
    wait_for("CPUs are lent", lambda: allowed(pid) > own, WAIT_SECONDS)
    _capture(evidence, "during")
    (evidence / "lent").touch()
    working.join()


def _until_over(context: SparkContext, evidence: Path) -> None:
    deadline = time.monotonic() + 2 * WAIT_SECONDS
    while not (evidence / "over").exists() and time.monotonic() < deadline:
        _work(context, 4 * CPUS)


def _work(context: SparkContext, tasks: int, seconds: float = TASK_SECONDS) -> None:
    context.parallelize(range(tasks), tasks).foreach(lambda _: _compute(seconds))


def _compute(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def _pid(evidence: Path, role: str) -> int:
    return int((evidence / f"{role}.pid").read_text(encoding="ascii"))


def allowed(pid: int) -> set[int]:
    """CPUs on which a process's first thread may run."""
    return os.sched_getaffinity(pid)


def _capture(evidence: Path, moment: str) -> None:
    for role in ("lender", "borrower"):
        capture_process(_pid(evidence, role), evidence / moment / role)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
