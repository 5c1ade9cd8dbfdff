"""Rounds of short tasks on both executors; what each has counted goes to the file given.

It ends when the file's neighbour `enough` is there, and prints the different counts.
"""

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
rounds = Path(sys.argv[1])
deadline = time.monotonic() + LIMIT_S
while not rounds.with_name("enough").exists() and time.monotonic() < deadline:
    counted = spark.sparkContext.range(8, numSlices=8).map(work).count()
    with rounds.open("a") as file:
        print(counted, file=file)
print("RESULT", json.dumps({"counts": sorted({int(n) for n in rounds.read_text().split()})}))
spark.stop()
