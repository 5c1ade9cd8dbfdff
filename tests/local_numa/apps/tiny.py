"""A Python program: sums in tasks of both executors."""

import json

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("tiny").getOrCreate()
total = spark.sparkContext.parallelize(range(8), 8).map(lambda n: n * n).sum()
print("RESULT", json.dumps({"sum": total}))
spark.stop()
