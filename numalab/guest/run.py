"""Inside the guest: enters the shape's cpuset, runs the cases, writes their evidence to a disk.

Only collects. A case that fails leaves its traceback in `CASE/error.txt`, and the rest still run.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import time
import traceback
from pathlib import Path

from numalab.guest import cable

EVIDENCE = Path("/evidence")
DISK = "/dev/vdc"
CGROUP = Path("/sys/fs/cgroup")


def main() -> None:
    """Runs the job that the host packed in /numalab/job.json."""
    job = json.loads(Path("/numalab/job.json").read_text(encoding="utf-8"))
    if not job["whole_machine"]:
        enter_cpuset(",".join(str(cpu) for cpu in job["cpuset"]))
    if job["cable"] is not None:
        cable.plug_in(job["cable"])
    seconds = {}
    for name in job["cases"]:
        began = time.monotonic()
        _run_case(name, job)
        seconds[name] = round(time.monotonic() - began, 1)
        print(f"numalab: case {name} collected in {seconds[name]} s", flush=True)
    uptime = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
    (EVIDENCE / "times.json").write_text(json.dumps({"cases": seconds, "uptime": uptime}))
    subprocess.run(["tar", "-C", str(EVIDENCE), "-cf", DISK, "."], check=True)


def enter_cpuset(cpus: str) -> None:
    """Moves this process, and so all it starts, into a cgroup (v2) that may use these CPUs only."""
    (CGROUP / "cgroup.subtree_control").write_text("+cpuset", encoding="ascii")
    group = CGROUP / "lab"
    group.mkdir()
    (group / "cpuset.cpus").write_text(cpus, encoding="ascii")
    (group / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")


def _run_case(name: str, job: dict[str, object]) -> None:
    evidence = EVIDENCE / name
    evidence.mkdir(parents=True)
    try:
        importlib.import_module(f"numalab.cases.{name}").collect(job, evidence)
    except Exception:
        (evidence / "error.txt").write_text(traceback.format_exc(), encoding="utf-8")
        print(f"numalab: case {name} failed\n{traceback.format_exc()}", flush=True)


if __name__ == "__main__":
    main()
