"""Keeps both executors busy for the seconds given, then says how many elements it counted."""

import json
import sys
import time

from pyspark.sql import SparkSession

seconds = float(sys.argv[1])
tasks = int(sys.argv[2]) if len(sys.argv) > 2 else 4


def wait(x: int) -> int:
    time.sleep(seconds)
    return x


spark = SparkSession.builder.appName("pause").getOrCreate()
counted = spark.sparkContext.parallelize(range(tasks), tasks).map(wait).count()
print("RESULT", json.dumps({"counted": counted}))
spark.stop()
