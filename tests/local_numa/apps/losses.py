"""Short tasks on both executors until the file given is there, then what each round counted."""

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

LIMIT_S = 300


def work(n: int) -> int:
    time.sleep(0.3)
    return n


spark = SparkSession.builder.appName("losses").getOrCreate()
deadline = time.monotonic() + LIMIT_S
counts = set()
while not Path(sys.argv[1]).exists() and time.monotonic() < deadline:
    counts.add(spark.sparkContext.range(8, numSlices=8).map(work).count())
print("RESULT", json.dumps({"counts": sorted(counts)}))
spark.stop()
