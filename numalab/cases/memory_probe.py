"""Processes whose pages lie where we put them, as hearth's memory probe tells of them.

Both directions: a process on node 1's CPUs with its memory on node 1, and one with its memory on
node 0. The probe's rows are kept beside the kernel's own numa_maps.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from hearth.base.processes import start_ticks
from hearth.record.probes.base import Roots, SampledProcess
from hearth.record.probes.memory import MemoryProbe
from numalab.guest.capture import capture_process

HELD_MB = 48
# Python and the C library of the holder itself, all of it bound alike.
HOLDER = f"""
import mmap, time
size = {HELD_MB} * 2**20
held = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for start in range(0, size, 4096): held[start] = 1
print('ready', flush=True)
time.sleep(600)
"""


def collect(job: dict[str, object], evidence: Path) -> None:
    """Starts a holder for each direction, samples it, captures it, ends it."""
    cpus = str(job["control_cpus"])
    for name, node in (("local", "1"), ("remote", "0")):
        prefix = ["numactl", f"--physcpubind={cpus}", f"--membind={node}"]
        _sample_one([*prefix, sys.executable, "-c", HOLDER], evidence / name)


def _sample_one(command: list[str], evidence: Path) -> None:
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is None or process.stdout.readline().strip() != "ready":
                raise RuntimeError(f"{command[0]} did not start: exit {process.poll()}")
            time.sleep(0.2)
            target = SampledProcess(process.pid, start_ticks(process.pid) or 0, "executor")
            rows = [row for _, row in MemoryProbe(Roots()).sample([target])]
            capture_process(process.pid, evidence)
            (evidence / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
        finally:
            process.kill()
