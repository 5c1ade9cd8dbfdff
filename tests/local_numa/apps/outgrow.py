"""One task asks for more heap than its executor has."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("outgrow").getOrCreate()
spark.range(1).selectExpr("length(repeat('x', cast(id AS int) + 1900000000)) AS n").show()
