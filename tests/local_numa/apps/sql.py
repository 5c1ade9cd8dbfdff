"""A query with a shuffle: what it counts, and which Spark ran it."""

import json

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("sql").getOrCreate()
spark.range(0, 1000, 1, 4).selectExpr("id", "id % 7 AS day").createOrReplaceTempView("sales")
rows = spark.sql("SELECT day, count(*) AS n, sum(id) AS total FROM sales GROUP BY day").collect()
print(
    "RESULT",
    json.dumps({"spark": spark.version, "days": {str(r.day): [r.n, r.total] for r in rows}}),
)
spark.stop()
