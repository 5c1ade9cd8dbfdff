"""What needs two executors and harms none for long, one after the other on one application.

Argument: a folder for marks. At the end a task fails for good, and the application with it.
"""

import json
import os
import signal
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.sql import SparkSession

# More steps than any directory is deep: from the root one goes no higher.
ROOT = "../" * 40
TRAVERSALS = (
    (ROOT + "etc", "passwd"),
    ("0", ROOT + "etc/passwd"),
    ("0/../..", "run.json"),
    (ROOT.replace("/", "%2F") + "etc", "passwd"),
)
LIMIT_S = 120

marks = Path(sys.argv[1]).resolve()
spark = SparkSession.builder.appName("many").getOrCreate()
context = spark.sparkContext
ui = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}"
record = Path(os.environ["HEARTH_STATE"]).resolve() / "applications" / context.applicationId


def where(_: object) -> tuple[int, str, str]:
    """The executor, the CPUs and the memory policies of a Python worker, as the kernel has them."""
    time.sleep(0.5)
    status = dict(
        line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines()
    )
    policy = {line.split()[1] for line in Path("/proc/self/numa_maps").read_text().splitlines()}
    java = os.getppid()
    while "java" not in Path(f"/proc/{java}/comm").read_text():
        java = int(Path(f"/proc/{java}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return java, status["Cpus_allowed_list"], " ".join(sorted(policy))


def workers() -> list[dict[str, Any]]:
    """Those of both executors: of a slow one's task, a second attempt may have been quicker."""
    found: set[tuple[int, str, str]] = set()

    def of_both() -> bool:
        found.update(context.parallelize(range(8), 8).map(where).collect())
        return len({executor for executor, *_ in found}) == 2

    until(of_both)
    return [{"executor_pid": e, "cpus": cpus, "policy": policy} for e, cpus, policy in found]


def processes(found: list[dict[str, Any]]) -> set[int]:
    return {worker["executor_pid"] for worker in found}


def ids() -> list[str]:
    return sorted(context._jsc.sc().getExecutorIds().mkString(",").split(","))


def until(check: Callable[[], object]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not check() and time.monotonic() < deadline:
        time.sleep(0.1)


def seen() -> list[dict[str, Any]]:
    """What hearth has read from the kernel of the executors there are now, when it has of each."""

    def read() -> list[dict[str, Any]]:
        file = record / "placement.json"
        return json.loads(file.read_text())["executors"] if file.exists() else []

    until(lambda: sorted(e["executor_id"] for e in read() if "kernel" in e) == ids())
    return read()


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read().decode()


def shop_window() -> dict[str, object]:
    """What the driver's UI shows of the executors' logs, and on which ports everything stands."""
    executors = [e for e in json.loads(get(f"{ui}/executors")) if e["id"] != "driver"]
    page = executors[0]["executorLogs"]["stderr"].split("?")[0]
    return {
        "ui": context.uiWebUrl,
        "driver_port": int(context.getConf().get("spark.driver.port")),
        "block_managers": [e["hostPort"] for e in executors],
        "logs": {
            e["id"]: {name: get(url) for name, url in e["executorLogs"].items()} for e in executors
        },
        "tab": get(f"{context.uiWebUrl}/hearth/"),
        "refused": [get(f"{page}?executor={e}&name={n}") for e, n in TRAVERSALS],
    }


def crash(attempts: int) -> Callable[[int], int]:
    """A task whose worker is killed in its first attempts."""

    def work(x: int) -> int:
        if x == 0 and TaskContext.get().attemptNumber() < attempts:
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    return work


def late(x: int) -> int:
    """The first attempt of the first task is."""
    attempt = TaskContext.get().attemptNumber()
    (marks / f"{x}-{attempt}").touch()
    time.sleep(LIMIT_S if x == 0 and attempt == 0 else 0.5)
    return x


def speculation() -> dict[str, object]:
    total = context.parallelize(range(8), 8).map(late).sum()
    return {"total": total, "second_attempt": (marks / "0-1").exists()}


def slow(x: int) -> tuple[int, int]:
    time.sleep(0.01)
    return x % 10, 1


def shuffle_bytes() -> dict[str, int]:
    """Bytes read in all shuffles so far, by where they came from."""
    stages = json.loads(get(f"{ui}/stages"))
    names = ("shuffleRemoteBytesRead", "shuffleLocalBytesRead")
    return {name: sum(stage[name] for stage in stages) for name in names}


def shuffle(victim: int) -> dict[str, object]:
    """A shuffle between all executors, one of which is killed between two of its reads."""
    pairs = context.parallelize(range(400), 8).map(slow)
    sums = pairs.reduceByKey(lambda a, b: a + b, 8)
    first = dict(sums.collect())
    before = shuffle_bytes()
    # Of one executor, so that the other one finds them gone.
    scratch = Path(context.getConf().get("spark.hearth.internal.executors"))
    files = sorted(scratch.rglob("*.index"))
    for file in files:
        if file.parents[1] == files[0].parents[1]:
            file.unlink()
    again = dict(sums.collect())
    os.kill(victim, signal.SIGKILL)
    second = dict(sums.collect())
    third = dict(pairs.groupByKey(6).mapValues(len).collect())
    expected = dict(Counter(x % 10 for x in range(400)))
    right = first == again == second == third == expected
    return {"right": right, "executors": 2, "before": before, "after": shuffle_bytes()}


report: dict[str, Any] = {"workers": workers(), "placement": seen(), "window": shop_window()}
crashed_once = context.parallelize(range(8), 8).map(crash(1)).sum()
same = processes(workers()) == processes(report["workers"])
report |= {"crashed": {"sum": crashed_once, "same": same}, "speculation": speculation()}
old = ids()
report["shuffle"] = shuffle(min(processes(report["workers"])))
until(lambda: ids() != old and len(ids()) == 2)
seen()
print("RESULT", json.dumps({**report, "workers_after": workers()}), flush=True)
context.parallelize(range(8), 8).map(crash(99)).sum()
