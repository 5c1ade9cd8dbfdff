"""Queries with shuffles: what they count, in how many partitions, how sides were joined, and which
Spark ran it.
"""

import json
import re

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("sql").getOrCreate()
spark.range(0, 1000, 1, 4).selectExpr("id", "id % 7 AS day").createOrReplaceTempView("sales")
query = spark.sql("SELECT day, count(*) AS n, sum(id) AS total FROM sales GROUP BY day")


def final_plan(frame):
    return frame._jdf.queryExecution().executedPlan().toString().split("Initial Plan")[0]


days = {str(r.day): [r.n, r.total] for r in query.collect()}
shuffled = [int(n) for n in re.findall(r"hashpartitioning\(.*?, (\d+)\)", final_plan(query))]
spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
twice = spark.sql("SELECT count(*) AS n FROM sales a JOIN sales b ON a.id = b.id")
((pairs,),) = twice.collect()
report = {"spark": spark.version, "days": days, "partitions": shuffled, "pairs": pairs}
report["joins"] = re.findall(r"(\w+Join)\b", final_plan(twice))
print("RESULT", json.dumps(report))
spark.stop()
