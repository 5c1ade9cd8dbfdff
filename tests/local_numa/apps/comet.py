"""Runs a query on Comet and by Spark itself, and prints what both gave and where Comet ran."""

import json
import re
import sys
from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, count
from pyspark.sql.functions import sum as total

#: How the names of threads begin that Comet's runtime starts.
WORKER = "tokio-"
spark = SparkSession.builder.getOrCreate()
spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
folder = sys.argv[1]
spark.range(400_000).selectExpr("id % 5000 AS k", "id AS v").write.parquet(f"{folder}/many")
spark.range(5_000).selectExpr("id AS k", "id * 7 AS w").write.parquet(f"{folder}/few")


def ran(enabled):
    """The rows, the operators and the numbers of shuffle partitions of a query."""
    spark.conf.set("spark.comet.enabled", enabled)
    many, few = spark.read.parquet(f"{folder}/many"), spark.read.parquet(f"{folder}/few")
    groups = many.join(few, "k").groupBy((col("w") % 10).alias("g"))
    frame = groups.agg(total("v").alias("s"), count("*").alias("n")).orderBy("g")
    rows = [tuple(row) for row in frame.collect()]
    plan = frame._jdf.queryExecution().executedPlan().toString().split("Initial Plan")[0]
    operators = {word for word in plan.replace("(", " ").split() if word[:1].isupper()}
    return rows, sorted(operators), re.findall(r"hashpartitioning\(.*?, (\d+)\)", plan)


def status(task):
    lines = (line.partition(":") for line in (task / "status").read_text().splitlines())
    return {name: value.strip() for name, _, value in lines}


def threads(process):
    """How many threads have which name, of Comet's, and CPUs."""
    found = (status(task) for task in (process / "task").iterdir())
    return [[s["Name"].startswith(WORKER), s["Cpus_allowed_list"]] for s in found]


def memory(process):
    """The memory policies of anonymous memory, in pages."""
    policies = Counter()
    for line in (process / "numa_maps").read_text().splitlines():
        _, policy, *words = line.split()
        pages = [int(w.partition("=")[2]) for w in words if w.startswith("anon=")]
        policies[policy] += pages[0] if pages else 0
    return dict(policies)


by_comet, operators, partitions = ran(True)
by_spark, sparks, _ = ran(False)
java = spark._jvm.java.lang.ProcessHandle
running = java.current().descendants().iterator()
executors = []
while running.hasNext():
    process = Path("/proc") / str(running.next().pid())
    if "CoarseGrainedExecutorBackend" in (process / "cmdline").read_text():
        executors.append({"threads": threads(process), "memory": memory(process)})
if not executors:
    executors.append({"threads": threads(Path("/proc") / str(java.current().pid()))})
report = {
    "spark": spark.version,
    "rows": len(by_comet),
    "same": by_comet == by_spark,
    "operators": operators,
    "partitions": sorted({int(number) for number in partitions}),
    "extensions": spark.conf.get("spark.sql.extensions").split(","),
    "sparks": sparks,
    "executors": executors,
    "manager": spark.conf.get("spark.shuffle.manager"),
}
print("RESULT", json.dumps(report))
spark.stop()
