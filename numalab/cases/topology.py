"""The machine as its kernel shows it, and as hearth and hwloc read it at the same time."""

from __future__ import annotations

import subprocess
from pathlib import Path

FILES = (
    "sys/devices/system/node/online",
    "sys/devices/system/node/has_cpu",
    "sys/devices/system/node/has_memory",
    "sys/devices/system/node/node*/cpulist",
    "sys/devices/system/node/node*/distance",
    "sys/devices/system/node/node*/meminfo",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/cpu*/topology/physical_package_id",
    "sys/devices/system/cpu/cpu*/topology/package_cpus_list",
    "sys/devices/system/cpu/cpu*/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu*/cache/index*/level",
    "sys/devices/system/cpu/cpu*/cache/index*/shared_cpu_list",
    "proc/self/status",
    "proc/self/cgroup",
)
LIMIT_SECONDS = 120


def collect(job: dict[str, object], evidence: Path) -> None:
    """Saves the kernel's files, lstopo's XML and `hearth topology`'s JSON."""
    root = Path("/")
    for pattern in FILES:
        for path in root.glob(pattern):
            target = evidence / "kernel" / path.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    _save(["lstopo-no-graphics", "--of", "xml", "--whole-system"], evidence / "lstopo")
    _save(
        [
            "bash",
            "-c",
            f"exec java -XX:TieredStopAtLevel=1 -Xshare:auto -cp "
            f'"{job["jar"]}:$SPARK_HOME/jars/*" io.hearth.core.cli.Main topology',
        ],
        evidence / "hearth",
    )


def _save(command: list[str], stem: Path) -> None:
    done = subprocess.run(command, capture_output=True, check=False, timeout=LIMIT_SECONDS)
    stem.with_suffix(".out").write_bytes(done.stdout)
    stem.with_suffix(".err").write_bytes(done.stderr)
    stem.with_suffix(".status").write_text(str(done.returncode), encoding="ascii")
