"""Runs one task until the file given is there; settings are made in code, and read back."""

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

LIMIT_S = 300


def wait(name: str) -> str:
    deadline = time.monotonic() + LIMIT_S
    while not Path(name).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return name


own = dict(pair.split("=", 1) for pair in sys.argv[2:])
builder = SparkSession.builder.appName("hold")
for key, value in own.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
held = spark.sparkContext.parallelize([sys.argv[1]], 1).map(wait).collect()
read = {key: spark.sparkContext.getConf().get(key) for key in own}
print("RESULT", json.dumps({"held": held, "read": read}))
spark.stop()
