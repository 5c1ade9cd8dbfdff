"""A Spark job whose executors are bound to packages: all CPUs of one, memory of all its nodes."""

from __future__ import annotations

import os
from pathlib import Path

from numalab.cases import local_numa

EXECUTORS = 2
SETTINGS = {"spark.hearth.binding.scope": "package"}


def collect(job: dict[str, object], evidence: Path) -> None:
    """As the case `local_numa`, with an executor for each of two packages."""
    planned = {**job, "master": f"local-numa[{EXECUTORS}x2]", "executors": EXECUTORS}
    local_numa.submit(planned, evidence, SETTINGS, os.environ)
