"""Executors that Spark's standalone cluster starts, and that bind themselves by hearth's plugin."""

from __future__ import annotations

import os
from pathlib import Path

from numalab.cases import local_numa

EXECUTORS = 2
CORES = 2
#: Their heaps are touched, wherever the kernel has them run, before the plugin is asked.
HEAP_MB = 64
SETTINGS = {
    "spark.plugins": "io.hearth.plugin.BindingPlugin",
    "spark.executor.defaultJavaOptions": f"-Xms{HEAP_MB}m -XX:+AlwaysPreTouch",
    "spark.scheduler.minRegisteredResourcesRatio": "1",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s",
}


def collect(job: dict[str, object], evidence: Path) -> None:
    """As the case `local_numa`, under a master and two Workers that know nothing of hearth."""
    planned = {
        **job,
        "master": f"local-cluster[{EXECUTORS},{CORES},512]",
        "executors": EXECUTORS,
    }
    # A Worker reads it from a release's file otherwise, which pyspark lacks.
    environment = {**os.environ, "SPARK_SCALA_VERSION": "2.13"}
    local_numa.submit(planned, evidence, SETTINGS, environment, "binding_plugin_app")
