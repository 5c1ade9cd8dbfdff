"""One task is slow on the executor that takes it first; a second attempt elsewhere is quick."""

import json
import os
import time
from pathlib import Path

from pyspark import TaskContext
from pyspark.sql import SparkSession

marks = Path("attempts")
marks.mkdir()


def work(x: int) -> int:
    attempt = TaskContext.get().attemptNumber()
    (marks / f"{x}-{attempt}").write_text(os.environ.get("HEARTH_UNUSED", ""))
    time.sleep(60 if x == 0 and attempt == 0 else 0.5)
    return x


marks = marks.resolve()
spark = SparkSession.builder.appName("speculate").getOrCreate()
spark.sparkContext.parallelize(range(2), 2).count()
begin = time.monotonic()
total = spark.sparkContext.parallelize(range(8), 8).map(work).sum()
seconds = time.monotonic() - begin
second = (marks / "0-1").exists()
print("RESULT", json.dumps({"total": total, "seconds": seconds, "second_attempt": second}))
spark.stop()
