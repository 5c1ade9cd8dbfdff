"""What benchmarks/locality.py runs: cached data beside a busy place, a shuffle, and that again.

    spark-submit locality_app.py READY GO_ON

Between the last two it makes the file READY and waits for GO_ON.
"""

import os
import socket
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from pyspark.sql import SparkSession

PARTITIONS = 16
ready, go_on = map(Path, sys.argv[1:])
context = SparkSession.builder.getOrCreate().sparkContext


def parent(_: object) -> str:
    """Names the executor: its machine, and the JVM that the Python workers' daemon belongs to."""
    daemon = os.getppid()
    stat = Path(f"/proc/{daemon}/stat").read_text()
    return f"{socket.gethostname()}:{stat.rsplit(')', 1)[1].split()[1]}"


def held(part: int, _: Iterable[int]) -> Iterator[tuple[int, str]]:
    time.sleep(0.5)
    yield part, parent(None)


def records(part: int, _: Iterable[int]) -> Iterator[tuple[int, bytes]]:
    time.sleep(0.2)
    # Such that no two are alike, and nothing is gained by compressing them.
    yield from ((part * 100 + number, os.urandom(500).hex().encode()) for number in range(100))


parts = context.parallelize(range(PARTITIONS), PARTITIONS)
cached = parts.mapPartitionsWithIndex(held).cache()
where = dict(cached.collect())
busy = min(where.values())


def read(block: Iterable[tuple[int, str]]) -> Iterator[int]:
    for _, place in block:
        time.sleep(4 if place == busy else 0.2)
        yield 1


context.setJobDescription("cached")
assert cached.mapPartitions(read).count() == PARTITIONS
context.setJobDescription("shuffle")
shuffled = parts.mapPartitionsWithIndex(records).groupByKey(PARTITIONS)
assert shuffled.count() == PARTITIONS * 100
ready.touch()
while not go_on.exists():
    time.sleep(0.2)
context.setJobDescription("again")
assert shuffled.count() == PARTITIONS * 100
