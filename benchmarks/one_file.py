"""Is one file for each map task faster than one for each partition: shuffles of 200, 32, 8 partitions?

    .venv/bin/python benchmarks/one_file.py --pairs 8

One JVM, local[2], Spark's defaults. Arms: spark.shuffle.sort.bypassMergeThreshold of 200 (Spark's
own), up to which each map task writes a file for each partition and then joins them, and of 2,
above which it writes one file. Spark reads the key when a shuffle is registered, so it can change
within an application. The number of rows grows in a way that the plan cannot know, so hearth's rule
leaves these shuffles Spark's number. Answers must be equal.
"""  # noqa: E501

import time
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from harness import Benchmark, Turn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, count, explode, lit, sequence
from pyspark.sql.functions import sum as total
from results import Row, names, pairs, ratio, shown, table

KEY = "spark.shuffle.sort.bypassMergeThreshold"
ARMS = ("200", "2")


def grown(spark: SparkSession, rows: int) -> DataFrame:
    """Rows whose number the plan does not know, and so their shuffle's partitions."""
    frame = spark.range(0, rows, 1, 16).select((col("id") * 7919 % rows).alias("k"), "id")
    return frame.select("k", "id", explode(sequence(lit(1), lit(3))).alias("x"))


def sql(spark: SparkSession, rows: int, partitions: int) -> object:
    spark.conf.set("spark.sql.shuffle.partitions", partitions)
    grouped = grown(spark, rows).groupBy("k").agg(total("id"), count("*"))
    return grouped.selectExpr("count(*)", "sum(k)").collect()


def rdd(spark: SparkSession, rows: int, partitions: int) -> object:
    context = spark.sparkContext
    pairs = context.range(0, rows, 1, 16).map(lambda n: (n * 7919 % rows, n))
    return pairs.partitionBy(partitions).count()


def objects(spark: SparkSession, rows: int, partitions: int) -> object:
    """Strings of some 100 characters and numbers, JVM objects that no step combines."""
    text = spark.range(0, rows, 1, 16).selectExpr(f"id * 7919 % {rows} AS k", "repeat('x', 80) v")
    jvm: Any = spark.sparkContext._jvm
    pairs = cast(Any, text)._jdf.toJSON().toJavaRDD().zipWithUniqueId()
    return pairs.partitionBy(jvm.org.apache.spark.HashPartitioner(partitions)).count()


CASES: dict[str, Callable[[SparkSession], object]] = {
    f"{what}, {partitions} partitions": partial(run, rows=rows, partitions=partitions)
    for what, run, rows in (
        ("SQL, 300,000 rows", sql, 100_000),
        ("SQL, 6,000,000 rows", sql, 2_000_000),
        ("RDD, 20,000 pairs", rdd, 20_000),
        ("RDD of strings, 1,000,000 pairs", objects, 1_000_000),
        ("RDD of strings, 8,000,000 pairs", objects, 8_000_000),
    )
    for partitions in (200, 32, 8)
}


def main() -> None:
    bench = Benchmark(__doc__, page, arms=ARMS, repeat=12, warm_ups=2)
    bench.parser.add_argument("--shape", action="append", choices=CASES, help="these alone")
    bench.cases = bench.parse().shape or list(CASES)
    bench.begin()
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.adaptive.coalescePartitions.enabled", "true").getOrCreate()
    conf: Any = spark.sparkContext._jsc.sc().conf()
    answers: dict[str, object] = {}

    def run(turn: Turn) -> Row:
        conf.set(KEY, turn.arm)
        begin = time.monotonic()
        answer = CASES[turn.case](spark)
        seconds = round(time.monotonic() - begin, 4)
        if answers.setdefault(turn.case, answer) != answer:
            return {"failure": "another answer than before"}
        return {"seconds": seconds}

    bench.measure(run)
    spark.stop()
    bench.report()


def page(rows: list[Row]) -> list[str]:
    """Return the table in Markdown."""
    lines = []
    for case in names(rows, "case"):
        some = [row for row in rows if row.get("case") == case]
        number = len(pairs(some, "2", "200", "seconds"))
        lines.append([case, str(number), shown(ratio(some, "2", "200", "seconds"))])
    return table(["Shuffled", "Pairs", "One file to a file for each partition"], lines)


if __name__ == "__main__":
    main()
