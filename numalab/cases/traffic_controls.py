"""Programs whose memory lies where we put it: what traffic.c has to count of them is known.

On node 1's CPUs, a buffer far larger than the plug-in's cache is read again and again.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HELD_MB = 64
SECONDS = 12
# The search reads the whole buffer without an instruction of Python's between.
READER = f"""
import time
held = bytearray(b"a") * ({HELD_MB} * 2**20)
print("ready", flush=True)
end = time.monotonic() + {SECONDS}
while time.monotonic() < end: held.find(b"b")
"""


def collect(job: dict[str, object], evidence: Path) -> None:
    """Run the reader with its memory on its own node, then on the other one."""
    cpus = str(job["control_cpus"])
    for name, node in (("local", "1"), ("remote", "0")):
        command = ["numactl", f"--physcpubind={cpus}", f"--membind={node}", sys.executable, "-c"]
        with subprocess.Popen([*command, READER], stdout=subprocess.PIPE, text=True) as reader:
            if reader.stdout is None or reader.stdout.readline().strip() != "ready":
                raise RuntimeError(f"the reader did not start: exit {reader.wait()}")
            print(f"numalab: count on {name}", flush=True)
            reader.wait()
            print(f"numalab: count off {name}", flush=True)
    (evidence / "cpus").write_text(cpus, encoding="ascii")
