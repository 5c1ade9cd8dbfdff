"""Processes whose placement is known, so that the judge is seen to pass and to fail.

`bound` is bound as an executor must be; `unbound` is not bound; `half_bound` has the right CPUs and
its memory on another node, the mistake that a look at the CPU mask alone does not find.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from numalab.guest.capture import capture_process

WAIT_SECONDS = 60.0
HOLDER = """
import sys, time
held = bytearray(32 * 2**20)
for start in range(0, len(held), 4096): held[start] = 1
print('ready', flush=True)
time.sleep(600)
"""


def collect(job: dict[str, object], evidence: Path) -> None:
    """Starts the controls on node 1, captures each once it holds its memory, ends them."""
    cpu, node, other = str(job["control_cpus"]), "1", "0"
    prefixes = {
        "bound": ["numactl", f"--physcpubind={cpu}", f"--membind={node}"],
        "unbound": [],
        "half_bound": ["numactl", f"--physcpubind={cpu}", f"--membind={other}"],
    }
    for name, prefix in prefixes.items():
        _capture_one([*prefix, sys.executable, "-c", HOLDER], evidence / name)


def _capture_one(command: list[str], evidence: Path) -> None:
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is None or process.stdout.readline().strip() != "ready":
                raise RuntimeError(f"{command[0]} did not start: exit {process.poll()}")
            time.sleep(0.2)
            capture_process(process.pid, evidence)
        finally:
            process.kill()
