"""Generated joins, aggregations and windows of skewed data.

Prints each one's answer, or that it failed, and how many partitions its shuffles had.
"""

import json
import random
import re
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
folder, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def noise(hashes: int) -> str:
    """Text that cannot be compressed to less than half."""
    return f"concat({', '.join(f'sha2(string(id + {n}), 256)' for n in range(hashes))})"


#: Rows, and their columns: the key `k`, a number, a text of any width, and one that is empty.
TABLES = {
    "hot": (
        280_000,
        "if(id % 4 > 0, 7, id) AS k",
        f"if(id % 4 > 0, repeat('unknown ', 60), {noise(15)}) AS x",
    ),
    "absent": (
        120_000,
        "if(id % 3 = 0, NULL, id % 50000) AS k",
        f"if(id % 5 = 0, '', {noise(4)}) AS x",
    ),
    "once": (70_000, "id * 4 + 1 AS k", f"{noise(2)} AS x"),
    "twice": (20_000, "id % 10000 AS k", "repeat(string(id), 100) AS x"),
    "ids": (1_000_000, "id % 300000 AS k", "CAST(NULL AS STRING) AS x"),
}


def case(seed: int) -> tuple[str, dict[str, str]]:
    """A query, and settings of its session."""
    chosen = random.Random(seed)
    large = chosen.choice(["hot", "absent"])
    sides = [large, chosen.choice(["once", "twice", "ids"])]
    chosen.shuffle(sides)
    kind = chosen.choice(["", "LEFT", "RIGHT", "FULL"])
    joined = f"SELECT l.k, l.v, l.x, r.v AS w, r.x AS y FROM {sides[0]} l {kind} JOIN {sides[1]} r"
    joined += " ON l.k = r.k"
    if chosen.random() < 0.3:
        joined = f"SELECT j.*, o.x AS z FROM ({joined}) j LEFT JOIN once o ON j.k = o.k"
    rows = chosen.choice(
        [
            joined,
            f"SELECT k, max(x), min(y), sum(v), size(collect_list(w)) FROM ({joined}) GROUP BY k",
            f"SELECT *, row_number() OVER (PARTITION BY k ORDER BY v, w) FROM ({joined})",
            f"SELECT l.*, 0 FROM {large} l LEFT SEMI JOIN {sides[0]} r ON l.k = r.k",
            f"SELECT k, size(collect_list(v)), max(x), avg(v) FROM {large} GROUP BY k",
        ]
    )
    settings = {
        "spark.sql.autoBroadcastJoinThreshold": chosen.choice(["-1", "10m"]),
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": chosen.choice(["1m", "16m", "64m"]),
    }
    return f"SELECT count(*), bit_xor(xxhash64(*)) FROM ({rows})", settings


def asked(query: str) -> dict[str, object]:
    """Its rows, and how many partitions its shuffles had; or how it failed."""
    frame = spark.sql(query)
    try:
        rows = [list(row) for row in frame.collect()]
    except Exception as fault:
        return {"failed": str(fault)[:500]}
    final = frame._jdf.queryExecution().executedPlan().toString().split("Initial Plan")[0]
    found = [int(n) for n in re.findall(r"hashpartitioning\(.*?, (\d+)\)", final)]
    return {"rows": rows, "partitions": found}


def answers(seed: int) -> dict[str, object]:
    """With Spark's own number of partitions, which then stands, and with hearth's."""
    query, settings = case(seed)
    for key, value in settings.items():
        spark.conf.set(key, value)
    spark.conf.set("spark.sql.shuffle.partitions", "200")
    sparks = asked(query)
    spark.conf.unset("spark.sql.shuffle.partitions")
    return {"seed": seed, "query": query, "sparks": sparks, "ours": asked(query)}


for name, (rows, key, text) in TABLES.items():
    place = f"{folder}/{name}"
    spark.range(0, rows, 1, 4).selectExpr(key, "id AS v", text).write.parquet(place)
    spark.read.parquet(place).createOrReplaceTempView(name)
print("RESULT", json.dumps({"cases": [answers(seed) for seed in range(first, first + count)]}))
spark.stop()
