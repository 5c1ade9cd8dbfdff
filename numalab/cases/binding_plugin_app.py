"""A Spark application that leaves the kernel's view of its executors and their Python workers.

Runs as `spark-submit binding_plugin_app.py EVIDENCE EXECUTORS`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from numalab.cases.local_numa_app import Clock, fill_and_look


def main(evidence: Path, wanted: int) -> None:
    """Has each executor do some work, then looks at all."""
    clock = Clock()
    context = SparkSession.builder.appName("numalab").getOrCreate().sparkContext
    clock.mark("context and executors")
    fill_and_look(context, wanted, evidence)
    clock.mark("seen")
    context.stop()
    clock.mark("stopped")
    (evidence / "result.json").write_text(json.dumps(clock.seconds), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
