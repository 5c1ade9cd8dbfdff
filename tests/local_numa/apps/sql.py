"""A query with a shuffle: what it counts, in how many partitions, and which Spark ran it."""

import json
import re

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("sql").getOrCreate()
spark.range(0, 1000, 1, 4).selectExpr("id", "id % 7 AS day").createOrReplaceTempView("sales")
query = spark.sql("SELECT day, count(*) AS n, sum(id) AS total FROM sales GROUP BY day")
days = {str(r.day): [r.n, r.total] for r in query.collect()}
plan = query._jdf.queryExecution().executedPlan().toString().split("Initial Plan")[0]
shuffled = [int(n) for n in re.findall(r"hashpartitioning\(.*?, (\d+)\)", plan)]
print("RESULT", json.dumps({"spark": spark.version, "days": days, "partitions": shuffled}))
spark.stop()
