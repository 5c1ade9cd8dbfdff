"""Prints how many partitions the shuffles of queries had, and whether all gave the same answers."""

import json
import re
import sys
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, collect_list, count, explode, expr, lit, sequence
from pyspark.sql.functions import max as most
from pyspark.sql.functions import sum as total

spark = SparkSession.builder.getOrCreate()
NUMBER = "spark.sql.shuffle.partitions"
ADVISORY = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
SMALLEST = "spark.sql.adaptive.coalescePartitions.minPartitionSize"
MERGING = "spark.sql.adaptive.coalescePartitions.enabled"
spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
folder = sys.argv[1]
spark.range(0, 200_000, 1, 2).selectExpr("id % 5000 k", "id v").write.parquet(f"{folder}/many")
spark.range(0, 5_000, 1, 2).selectExpr("id AS k", "id * 7 AS w").write.parquet(f"{folder}/few")
many, few = spark.read.parquet(f"{folder}/many"), spark.read.parquet(f"{folder}/few")


def joined():
    """Each key is once in the right side, so the upper shuffle has as many rows as the left."""
    once = few.groupBy("k").agg(most("w").alias("w"))
    return many.join(once, "k").groupBy((col("w") % 10).alias("g")).agg(total("v"), count("*"))


def multiplied():
    """Keys repeat on both sides."""
    return many.join(few, "k").groupBy("w").agg(most("v"))


def first_of(rows):
    """One row for each of a few keys, of a shuffle that carries all columns."""
    ranked = rows.selectExpr("*", "row_number() OVER (PARTITION BY id % 7 ORDER BY -id) AS n")
    return ranked.where("n = 1").drop("n")


def widened():
    """Rows of 16 bytes, which become 816 bytes."""
    return first_of(spark.range(50_000).selectExpr("id", *(f"id * {n} c{n}" for n in range(100))))


def texts():
    """Rows of 2 KB, of which the types of their columns say 28 bytes."""
    hashes = ", ".join(f"sha2(string(id + {n}), 512)" for n in range(0, 160_000, 10_000))
    return spark.range(3_000).selectExpr("id", f"concat({hashes}) AS x", *numbered("id"))


def numbered(value):
    return [f"{value} AS c{n}" for n in range(20)]


def summed_first():
    """The upper shuffle reads a stage that has made 5,000 rows of 200,000."""
    sums = many.groupBy("k").agg(total("v").alias("s"))
    return sums.groupBy((col("s") % 3).alias("g")).agg(count("*"))


def numbers(make, **conf):
    """The partitions of the shuffles that were run, outermost first, and the rows."""
    keys = {"advisory": ADVISORY, "number": NUMBER, "smallest": SMALLEST, "merging": MERGING}
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


def stateful():
    """Partitions of a stream's state, which it keeps when it goes on from its checkpoint."""
    rows = spark.readStream.schema(many.schema).parquet(f"{folder}/many")
    counts = rows.groupBy((col("k") % 3).alias("g")).count()
    checkpoint = counts.writeStream.option("checkpointLocation", f"{folder}/checkpoint")
    memory = checkpoint.format("memory").queryName("counts").outputMode("complete")
    query = memory.trigger(availableNow=True).start()
    query.awaitTermination()
    return query.lastProgress["stateOperators"][0]["numShufflePartitions"]


def generated():
    """Classes that the driver has generated for 150 projections, and for the same once more.

    A union would make one class of its fifteen, were they not coalesced.
    """
    metrics = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics
    counts = []
    for _ in range(2):
        for first in range(3, 153, 15):
            rows = spark.range(0, 3, 1, 3)
            each = [rows.selectExpr(f"id * {n} AS x").coalesce(3) for n in range(first, first + 15)]
            reduce(DataFrame.union, each).collect()
        counts.append(metrics.METRIC_COMPILATION_TIME().getCount())
    return counts


little, answer = numbers(joined)
busy, same_busy = numbers(joined, smallest="100b")
users, same = numbers(joined, number="7")
report = {
    "slots": spark.sparkContext.defaultParallelism,
    "little": little,
    "users": users,
    "busy": busy,
    "same": answer == same == same_busy,
}
if "classes" in sys.argv[2:]:
    report["generated"] = generated()
if "all" in sys.argv[2:]:
    by_size, same_by_size = numbers(joined, advisory="40k")
    sparks, same_sparks = numbers(joined, number="200")
    made = numbers(lambda: first_of(texts()))[0]
    texts().write.parquet(f"{folder}/texts")
    kept = texts().cache()
    read = spark.read.parquet(f"{folder}/texts").select("id", "x")
    report |= {
        "multiplied": numbers(multiplied)[0],
        "widened": numbers(widened, advisory="400k")[0],
        "texts": made,
        "texts_read": numbers(lambda: first_of(read), advisory="400k")[0],
        "texts_kept": numbers(lambda: first_of(kept.select("id", "x")), advisory="400k")[0],
        "listed": numbers(lambda: many.groupBy("k").agg(collect_list("v")))[0],
        "sketched": numbers(lambda: many.groupBy("k").agg(expr("percentile(v, 0.5)")))[0],
        "unmerged": numbers(joined, merging="false")[0],
        "by_size": by_size,
        "sparks": sparks,
        "ran_before": numbers(summed_first, advisory="40k")[0],
        "grown": numbers(grown_rows)[0],
        "state": stateful(),
        "ordered": numbers(lambda: joined().orderBy("g"))[0],
        "asked": numbers(lambda: many.repartition(5, "k").groupBy("k").count())[0],
        "same": answer == same == same_by_size == same_sparks,
    }
print("RESULT", json.dumps(report))
spark.stop()
