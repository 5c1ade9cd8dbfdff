"""Groups, sorts and joins between executors, one of which is killed while others read from it, or
is decommissioned when its map outputs have been read once.
"""

import json
import os
import signal
import socket
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from fetched import remote_bytes
from pyspark.sql import SparkSession

BRIEF = "brief" in sys.argv[1:]  # without Python's workers
KILLS = "kill" in sys.argv[1:]
LEAVES = "leave" in sys.argv[1:]

spark = SparkSession.builder.appName("wire").getOrCreate()
context = spark.sparkContext
rows = 5000


def executors() -> set[tuple[str, int]]:
    """Host and process of each."""

    def parent(_: object) -> tuple[str, int]:
        time.sleep(0.4)
        stat = Path(f"/proc/{os.getppid()}/stat").read_text()
        return socket.gethostname(), int(stat.rsplit(")", 1)[1].split()[1])

    return set(context.parallelize(range(8), 8).map(parent).collect())


def counted(name: str) -> int:
    """The last value of a metric of hearth's, over all executors."""
    folder = Path(context.getConf().get("spark.metrics.conf.executor.sink.csv.directory"))
    files = folder.glob(f"*.hearth.shuffle.{name}.csv")
    return sum(int(file.read_text().splitlines()[-1].split(",")[1]) for file in files)


def kill(host: str, process: int) -> None:
    """A pod is deleted: its processes are known to it alone."""
    if context.master.startswith("k8s://"):
        api = context._gateway.jvm.io.fabric8.kubernetes.client.KubernetesClientBuilder().build()
        api.pods().inNamespace("default").withName(host).withGracePeriod(0).delete()
        api.close()
    else:
        os.kill(process, signal.SIGKILL)


def kill_while_read(victim: tuple[str, int]) -> None:
    """As soon as a stage that reads has begun: it has no map output of its own."""
    tracker = context.statusTracker()
    readers: list[int] = []
    while not readers:
        infos = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        readers = [i.stageId for i in infos if i and "collect" in i.name and i.numActiveTasks]
        time.sleep(0.02)
    kill(*victim)


def in_python() -> dict[str, bool]:
    """Whether grouping and sorting by Python's workers are right."""
    grouped = dict(pairs.groupByKey(4).mapValues(len).collect())
    mixed = pairs.map(lambda pair: (pair[1] * 7919) % rows)
    return {
        "grouped": grouped == in_groups,
        "sorted": mixed.sortBy(lambda x: x, True, 4).collect() == list(range(rows)),
    }


known = set() if BRIEF else executors()
pairs = context.parallelize(range(rows), 4).map(lambda x: (x % 10, x))
in_groups = dict(Counter(x % 10 for x in range(rows)))
right = {} if BRIEF else in_python()
long = spark.range(0, 100000, 1, 4).selectExpr("id", "repeat(cast(id as string), 20) as text")
lengths = long.repartition(4, "id").selectExpr("sum(length(text))").collect()[0][0]
time.sleep(2.5)  # metrics are written each second
report = {
    "executors": context._jsc.sc().getExecutorMemoryStatus().size() - 1,  # the driver is one
    **right,
    "lengths": lengths == 20 * sum(len(str(x)) for x in range(100000)),
    "remote": remote_bytes(context),
    "ucx": counted("ucx.fetchedBytes"),
    "tcp": counted("tcp.fetchedBytes"),
    "blocks": counted("ucx.fetchedBlocks") + counted("tcp.fetchedBlocks"),
    "handed_over": counted("handedOverBlocks"),
}


def slowly(pair: tuple[int, object]) -> tuple[int, int]:
    time.sleep(0.2)
    return pair[0], len(list(pair[1]))  # type: ignore[call-overload]


if KILLS:
    killer = threading.Thread(target=kill_while_read, args=(min(known),))
    killer.start()
    after = dict(pairs.groupByKey(8).map(slowly).collect())
    killer.join()
    report["right_after_kill"] = after == in_groups
    report["lost"] = min(known) not in executors()
if LEAVES:
    kept = pairs.groupByKey(4).mapValues(len)
    before = dict(kept.collect())
    os.kill(min(known)[1], signal.SIGPWR)
    end = time.monotonic() + 240
    while min(known) in (now := executors()) or len(now) < 2:
        assert time.monotonic() < end, now
    time.sleep(1.5)  # the last values of the executor that has left
    over_the_wire = counted("tcp.fetchedBytes")
    context.setJobGroup("again", "what has been moved is read again")
    report["right_after_leave"] = dict(kept.collect()) == before == in_groups
    tracker = context.statusTracker()
    (again,) = (tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup("again"))
    stages = [tracker.getStageInfo(stage) for stage in again.stageIds]
    report["tasks_after_leave"] = sum(stage.numCompletedTasks for stage in stages if stage)
    time.sleep(2.5)
    report["moved"] = counted("tcp.fetchedBytes") - over_the_wire
print("RESULT", json.dumps(report))
