"""Prints how many partitions the shuffles of queries had, and whether all gave the same answers."""

import json
import re
import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, count, explode, lit, sequence
from pyspark.sql.functions import sum as total

spark = SparkSession.builder.getOrCreate()
NUMBER = "spark.sql.shuffle.partitions"
ADVISORY = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
folder = sys.argv[1]
spark.range(200_000).selectExpr("id % 5000 AS k", "id AS v").write.parquet(f"{folder}/many")
spark.range(5_000).selectExpr("id AS k", "id * 7 AS w").write.parquet(f"{folder}/few")
many, few = spark.read.parquet(f"{folder}/many"), spark.read.parquet(f"{folder}/few")


def joined():
    return many.join(few, "k").groupBy((col("w") % 10).alias("g")).agg(total("v"), count("*"))


def summed_first():
    """The upper shuffle reads a stage that has made 5,000 rows of 200,000."""
    sums = many.groupBy("k").agg(total("v").alias("s"))
    return sums.groupBy((col("s") % 3).alias("g")).agg(count("*"))


def numbers(make, **conf):
    """The partitions of the shuffles that were run, outermost first, and the rows."""
    keys = {"advisory": ADVISORY, "number": NUMBER}
    for name, value in conf.items():
        spark.conf.set(keys[name], value)
    frame = make()
    rows = sorted(map(tuple, frame.collect()))
    final = frame._jdf.queryExecution().executedPlan().toString().split("Initial Plan")[0]
    for name in conf:
        spark.conf.unset(keys[name])
    return [int(n) for n in re.findall(r"(?:hash|range)partitioning\(.*?, (\d+)\)", final)], rows


def grown_rows():
    rows = many.select("k", explode(sequence(lit(1), lit(3))).alias("x"))
    return rows.groupBy("x").count()


little, answer = numbers(joined)
users, same = numbers(joined, number="7")
report = {
    "slots": spark.sparkContext.defaultParallelism,
    "little": little,
    "users": users,
    "same": answer == same,
}
if "all" in sys.argv[2:]:
    by_size, same_by_size = numbers(joined, advisory="40k")
    sparks, same_sparks = numbers(joined, number="200")
    report |= {
        "by_size": by_size,
        "sparks": sparks,
        "ran_before": numbers(summed_first, advisory="40k")[0],
        "grown": numbers(grown_rows)[0],
        "ordered": numbers(lambda: joined().orderBy("g"))[0],
        "asked": numbers(lambda: many.repartition(5, "k").groupBy("k").count())[0],
        "same": answer == same == same_by_size == same_sparks,
    }
print("RESULT", json.dumps(report))
spark.stop()
