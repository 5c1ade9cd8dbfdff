"""Shuffles of 200, 32 and 8 partitions: a file for each partition in each map task, or one at once.

    .venv/bin/python benchmarks/one_file.py --pairs 12 --results FILE

One JVM, local[2], Spark's defaults. Each shape is run under 200 (Spark's own) and under 2 as
spark.shuffle.sort.bypassMergeThreshold in turn, the first of them changing from pair to pair, two
pairs before the first that counts. Up to that number of partitions each map task writes a file for
each partition and then joins them; above it, SQL writes one file. Spark reads the key when a
shuffle is registered, so it can change within an application. The number of rows grows in a way
that the plan cannot know, so hearth's rule leaves these shuffles Spark's number.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, count, explode, lit, sequence
from pyspark.sql.functions import sum as total
from results import Row, shown, table

from hearth import Ratio, paired_ratio

KEY = "spark.shuffle.sort.bypassMergeThreshold"
SIDES = ("200", "2")
WARM = 2


def grown(spark: SparkSession, rows: int) -> DataFrame:
    """Rows whose number the plan does not know, and so their shuffle's partitions."""
    frame = spark.range(0, rows, 1, 16).select((col("id") * 7919 % rows).alias("k"), "id")
    return frame.select("k", "id", explode(sequence(lit(1), lit(3))).alias("x"))


def sql(spark: SparkSession, rows: int, partitions: int) -> object:
    spark.conf.set("spark.sql.shuffle.partitions", partitions)
    found = grown(spark, rows).groupBy("k").agg(total("id"), count("*"))
    return found.selectExpr("count(*)", "sum(k)").collect()


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


SHAPES: dict[str, Callable[[SparkSession], object]] = {
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


def ratio(rows: Sequence[Row], shape: str) -> Ratio:
    """Return the ratio of the time with one file to that with a file for each partition."""
    one, many = (
        [r["seconds"] for r in rows if (r.get("shape"), r.get("threshold")) == (shape, side)]
        for side in reversed(SIDES)
    )
    return paired_ratio(one, many)


def page(rows: Sequence[Row]) -> list[str]:
    """Return the table of one series."""
    shapes = dict.fromkeys(row["shape"] for row in rows if "shape" in row)
    lines = [
        (shape, f"{sum(r.get('shape') == shape for r in rows) // 2}", shown(ratio(rows, shape)))
        for shape in shapes
    ]
    return table(("Shuffled", "Pairs", "One file to 200 files, 95 % interval"), lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--results", required=True, help="a file of JSON lines, appended to")
    parser.add_argument("--shape", action="append", choices=SHAPES, help="these alone")
    asked = parser.parse_args()
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.adaptive.coalescePartitions.enabled", "true").getOrCreate()
    settings: Any = spark.sparkContext._jsc.sc().conf()
    with Path(asked.results).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"load": os.getloadavg(), "cpus": os.cpu_count()}) + "\n")
        for shape in asked.shape or SHAPES:
            run = SHAPES[shape]
            for pair in range(-WARM, asked.pairs):
                answers = []
                for side in SIDES[:: 1 if pair % 2 else -1]:
                    settings.set(KEY, side)
                    start = time.monotonic()
                    answers.append(run(spark))
                    seconds = round(time.monotonic() - start, 4)
                    line = {"shape": shape, "pair": pair, "threshold": side, "seconds": seconds}
                    if pair >= 0:
                        file.write(json.dumps(line) + "\n")
                        file.flush()
                if answers[0] != answers[1]:
                    raise SystemExit(f"{shape}: the answers differ")
    spark.stop()


if __name__ == "__main__":
    main()
