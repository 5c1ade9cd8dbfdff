"""The settings of a machine that change how fast Spark runs, each with where it was read.

What a machine does not report is `{"absent": reason}`, so that two records can be compared by name.
"""

import os
import platform
import re
from pathlib import Path

from hearth.base.absent import Absent, Measured
from hearth.machine.tree import NotSeen, Tree
from hearth.record.schema import Setting

_SYSFS = {
    "transparent_huge_pages": "sys/kernel/mm/transparent_hugepage/enabled",
    "transparent_huge_pages_defrag": "sys/kernel/mm/transparent_hugepage/defrag",
    "transparent_huge_pages_shmem": "sys/kernel/mm/transparent_hugepage/shmem_enabled",
    "numa_balancing": "proc/sys/kernel/numa_balancing",
    "zone_reclaim_mode": "proc/sys/vm/zone_reclaim_mode",
    "swappiness": "proc/sys/vm/swappiness",
    "overcommit_memory": "proc/sys/vm/overcommit_memory",
    "huge_pages": "proc/sys/vm/nr_hugepages",
    "perf_event_paranoid": "proc/sys/kernel/perf_event_paranoid",
    "smt": "sys/devices/system/cpu/smt/control",
    "governor": "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "turbo_off": "sys/devices/system/cpu/intel_pstate/no_turbo",
    "cpus_online": "sys/devices/system/cpu/online",
    "nodes_online": "sys/devices/system/node/online",
    "clock_source": "sys/devices/system/clocksource/clocksource0/current_clocksource",
}


def machine_settings(root: Path = Path("/")) -> dict[str, Measured[Setting]]:
    """Return each by its name; `root` holds `proc` and `sys`."""
    tree = Tree(root)
    settings = {name: _read(tree, path) for name, path in _SYSFS.items()}
    return {**settings, **_cgroup_limits(tree)}


def _read(tree: Tree, path: str) -> Measured[Setting]:
    try:
        return Setting(tree.chosen(path), f"/{path}")
    except NotSeen as reason:
        return Absent(str(reason))


def _cgroup_limits(tree: Tree) -> dict[str, Measured[Setting]]:
    """Return the limits of this process's own control group, version 2 or 1 (cgroups(7))."""
    try:
        lines = tree.table("proc/self/cgroup")
    except NotSeen as reason:
        return dict.fromkeys(("cgroup_cpu", "cgroup_memory", "cgroup_cpuset"), Absent(str(reason)))
    groups = {kind: path for _, kind, path in (line.split(":", 2) for line in lines)}
    wanted = {
        "cgroup_cpu": ("cpu", "cpu.max", "cpu.cfs_quota_us"),
        "cgroup_memory": ("memory", "memory.max", "memory.limit_in_bytes"),
        "cgroup_cpuset": ("cpuset", "cpuset.cpus.effective", "cpuset.effective_cpus"),
    }
    return {name: _limit(tree, groups, *files) for name, files in wanted.items()}


def _limit(tree: Tree, groups: dict[str, str], kind: str, v2: str, v1: str) -> Measured[Setting]:
    controller = next((name for name in groups if kind in name.split(",")), None)
    base = "sys/fs/cgroup"
    candidates = [f"{base}{groups.get('', '/')}/{v2}".replace("//", "/")]
    if controller is not None:
        folder = f"{base}/{controller}{groups[controller]}".rstrip("/")
        candidates = [f"{folder}/{v1}", f"{base}/{controller}/{v1}"]
    read = [_read(tree, path) for path in candidates]
    return next((setting for setting in read if isinstance(setting, Setting)), read[0])


def versions(hearth: str, spark_home: Path, java: Path) -> dict[str, str]:
    """Return the versions of hearth, Spark, Java, Python and the kernel; `unknown` if not known."""
    return {
        "hearth": hearth,
        "spark": spark_version(spark_home),
        "java": java_version(java),
        "python": platform.python_version(),
        "kernel": os.uname().release,
    }


def spark_version(home: Path) -> str:
    """Return the version of the Spark at a home, by the name of a jar; `unknown` without one."""
    names = sorted(path.name for path in (home / "jars").glob("spark-core_*.jar"))
    match = re.search(r"spark-core_[\d.]+-(.+)\.jar", names[-1]) if names else None
    return match[1] if match else "unknown"


def java_version(java: Path) -> str:
    """Read the version from the JDK's `release` file: to start a JVM takes most of a second."""
    release = java.parent.parent / "release"
    text = release.read_text(encoding="utf-8", errors="replace") if release.is_file() else ""
    match = re.search(r'JAVA_VERSION="([^"]+)"', text)
    return match[1] if match else "unknown"
