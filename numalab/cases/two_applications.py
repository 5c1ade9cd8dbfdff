"""Two applications at once: each on a node of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

from numalab.cases import local_numa

LIMIT_SECONDS = 1000.0
NAMES = ("one", "other")


def collect(job: dict[str, object], evidence: Path) -> None:
    """Submits both at the same instant; leaves their evidence, their output and hearth's record."""
    if not job["jar"]:
        raise FileNotFoundError("no hearth jar was built: run `make setup`")
    options = {
        of: local_numa.archive_use(local_numa.ARCHIVES / f"{of}.jsa")
        for of in ("driver", "executor")
    }
    # Both have to fit on the smallest of machines.
    settings = {"spark.executor.memoryOverhead": "128m"}
    state = Path("/tmp/hearth-two")
    running: dict[str, subprocess.Popen[bytes]] = {}
    deadline = time.monotonic() + LIMIT_SECONDS
    try:
        for name in NAMES:
            own = {**settings, "spark.local.dir": f"/tmp/spark-{name}", "spark.app.name": name}
            call = local_numa.command(
                str(job["jar"]), "local-numa[1x2]", options, os.environ, own, "two_applications_app"
            )
            environment = {**os.environ, "HEARTH_STATE": str(state)}
            with (evidence / f"{name}.txt").open("wb") as output:
                running[name] = subprocess.Popen(
                    [*call, name, str(evidence)], stderr=output, env=environment
                )
        for process in running.values():
            process.wait(timeout=max(1.0, deadline - time.monotonic()))
    finally:
        for name, process in running.items():
            process.kill()
            (evidence / f"{name}.status").write_text(str(process.wait()), encoding="ascii")
        if state.is_dir():
            left_out = shutil.ignore_patterns("*.jsa", "*.sock")
            shutil.copytree(state, evidence / "state", ignore=left_out)
