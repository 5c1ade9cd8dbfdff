"""A task asks the kernel for every CPU, and says what it had before and what it has then."""

import json
import os

from pyspark.sql import SparkSession


def ask(_: object) -> tuple[str, str]:
    own = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    after = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    return own, after


spark = SparkSession.builder.appName("escape").getOrCreate()
tried = sorted(set(spark.sparkContext.parallelize(range(8), 8).map(ask).collect()))
print("RESULT", json.dumps({"tried": tried}))
spark.stop()
