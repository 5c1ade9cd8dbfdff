"""Groups, a sort and a repartition between executors on two guests; one is lost before the last."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from numalab.guest.waiting import wait_for

ROWS = 20_000
EXECUTORS = 3
WAIT_SECONDS = 300.0


def main(evidence: Path) -> None:
    """Writes `report.json`."""
    spark = SparkSession.builder.appName("two machines").getOrCreate()
    _await_executors(spark)
    rows = spark.range(0, ROWS, 1, 6)
    spread = rows.selectExpr("id % 10 as key", "repeat(cast(id as string), 20) as text")
    spread = spread.repartition(6, "text")
    groups = spread.groupBy("key").agg({"text": "max", "*": "count"}).collect()
    ordered = rows.selectExpr(f"(id * 7919) % {ROWS} as x").orderBy("x").collect()
    report: dict[str, Any] = {
        "groups": {row["key"]: row["count(1)"] for row in groups},
        "in_order": [row["x"] for row in ordered] == list(range(ROWS)),
    }
    shuffled = spread._jdf.toJavaRDD()  # its shuffle's files are read again below
    report["count"] = shuffled.count()
    time.sleep(2.5)  # metrics are written each second
    report["remote"] = _remote_bytes(spark)
    (evidence / "before.json").write_text(json.dumps(report), encoding="ascii")
    (evidence / "kill").touch()
    report["count_after_kill"] = shuffled.count()
    (evidence / "report.json").write_text(json.dumps(report), encoding="ascii")
    spark.stop()


def _await_executors(spark: SparkSession) -> None:
    status = spark.sparkContext._jsc.sc().getExecutorMemoryStatus  # of the driver too
    wait_for("executors", lambda: status().size() > EXECUTORS, WAIT_SECONDS)


def _remote_bytes(spark: SparkSession) -> int:
    gateway: Any = spark.sparkContext._gateway
    none = gateway.jvm.java.util.ArrayList()
    no_quantiles = gateway.new_array(gateway.jvm.double, 0)
    store = spark.sparkContext._jsc.sc().statusStore()
    stages = store.stageList(none, False, False, no_quantiles, none)
    return sum(stages.apply(i).shuffleRemoteBytesRead() for i in range(stages.size()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
