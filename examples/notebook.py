"""The first cell of a notebook: it needs no hearth command, only the master and the jar.

python examples/notebook.py
"""

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import hearth

session = (
    SparkSession.builder.master("local-numa[1x1]")
    .config("spark.driver.extraClassPath", hearth.jar_path())
    .config("spark.executor.memory", "512m")
    .getOrCreate()
)
numbers = session.range(1_000_000).withColumn("bucket", f.col("id") % 10)
numbers.groupBy("bucket").agg(f.sum("id").alias("sum")).orderBy("bucket").show()
session.stop()
