"""Shuffles until a file is there, and says on which machine and CPUs its tasks ran.

Where a second file is named, it waits for that, reads its last shuffle again, and says how many
records that counted, and how many map tasks ran once more.
"""

import json
import re
import socket
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

context = SparkSession.builder.getOrCreate().sparkContext
maps = context.accumulator(0)


def where(_: int) -> tuple[str, int]:
    maps.add(1)
    time.sleep(0.3)
    status = Path("/proc/self/status").read_text()
    allowed = re.search(r"Cpus_allowed_list:\t(.*)", status)
    assert allowed
    return f"{socket.gethostname()}:{allowed[1]}", 1


stop, *later = map(Path, sys.argv[1:])
rounds, seen = 0, dict[str, int]()
while rounds < 2 or not stop.exists():
    shuffled = context.parallelize(range(8), 8).map(where).reduceByKey(lambda a, b: a + b, 2)
    for place, tasks in shuffled.collect():
        seen[place] = seen.get(place, 0) + tasks
    rounds += 1
    print("round", rounds, flush=True)
answer: dict[str, object] = {"rounds": rounds, "where": seen}
if later:
    print("waiting", flush=True)
    while not later[0].exists():
        time.sleep(0.2)
    before = maps.value
    counted = sum(tasks for _, tasks in shuffled.collect())
    answer["again"] = {"counted": counted, "maps": maps.value - before}
print(json.dumps(answer), flush=True)
