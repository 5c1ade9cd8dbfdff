"""The Spark job of `local_numa` with its executors in containers, of an engine inside the guest."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from numalab.cases import local_numa

# Where Debian and Docker's own packages put the engine's programs.
FURTHER_PATH = "/usr/local/bin:/usr/sbin"
# Far more than the engine takes, emulated.
START_SECONDS = 180.0


def collect(job: dict[str, object], evidence: Path) -> None:
    """Leaves what `local_numa` leaves, and the engine's log."""
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:{FURTHER_PATH}"}
    with _engine(evidence / "dockerd.log", environment):
        settings = {"spark.hearth.launcher": "docker"}
        local_numa.submit(job, evidence, settings, environment)


def _answers(environment: dict[str, str]) -> bool:
    words = ["docker", "version"]
    return subprocess.run(words, env=environment, capture_output=True, check=False).returncode == 0


@contextlib.contextmanager
def _engine(log: Path, environment: dict[str, str]) -> Iterator[None]:
    """Without networks, and with copies in place of overlays: the image holds nothing."""
    words = ["dockerd", "--storage-driver", "vfs", "--bridge=none", "--iptables=false"]
    with log.open("wb") as output:
        engine = subprocess.Popen(
            [*words, "--ip6tables=false"], env=environment, stdout=output, stderr=output
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not _answers(environment):
            if engine.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"dockerd did not start, exit {engine.poll()}")
            time.sleep(1.0)
        yield
    finally:
        engine.terminate()
        engine.wait(timeout=60)
