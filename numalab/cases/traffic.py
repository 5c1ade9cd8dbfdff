"""The same work in one JVM, in executors that are not bound, also with NUMA balancing, and bound.

The threads of the JVMs that work are followed over the nodes; then, between marks on the console,
traffic.c counts where cache misses go.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from numalab.cases import local_numa
from numalab.cases.local_numa_app import executor_processes
from numalab.guest.capture import capture_process

PARTITIONS = 8
MEGABYTES = 8  # of each partition
SECONDS = 25  # counted; the workload goes on for as long before
FOLLOWED_SECONDS = SECONDS - 5
LIMIT_SECONDS = 900.0
CLASSES = "/numalab/classes"
BALANCING = Path("/proc/sys/kernel/numa_balancing")
JVM = "-XX:+UseParallelGC -XX:TieredStopAtLevel=1"


@dataclass(frozen=True)
class Arm:
    """Settings of Spark, the kernel's NUMA balancing, and one JVM or the shape's executors."""

    settings: dict[str, str] = field(default_factory=dict)
    balanced: bool = False
    one_jvm: bool = False


UNBOUND = {"spark.hearth.binding": "off"}
ARMS = {
    "one-jvm": Arm(one_jvm=True),
    "unbound": Arm(UNBOUND),
    "unbound-balanced": Arm(UNBOUND, balanced=True),
    "bound": Arm(),
}


def collect(job: dict[str, object], evidence: Path) -> None:
    """Run the job's workload in the job's arm."""
    if ARMS[str(job["arm"])].balanced:
        BALANCING.write_text("1", encoding="ascii")
    with (
        (evidence / "log").open("wb") as log,
        subprocess.Popen(
            _command(job, str(job["workload"]), str(job["arm"])),
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, "HEARTH_STATE": "/tmp/hearth-traffic"},
        ) as driver,
    ):
        try:
            _follow(driver, evidence)
        finally:
            driver.kill()


def _follow(driver: subprocess.Popen[str], evidence: Path) -> None:
    """Turn the driver's lines into marks; follow its threads after them."""
    if driver.stdout is None:
        raise RuntimeError("the driver has no output")
    result: dict[str, float] = {}
    for line in driver.stdout:
        words = line.split()
        if words[:2] == ["traffic:", "warm"]:
            workers = executor_processes(words[2]) or {"driver": driver.pid}
            result |= _moves([*workers.values()])
            for worker, pid in workers.items():
                capture_process(pid, evidence / "workers" / worker)
        elif words[:2] == ["traffic:", "counting"]:
            print("numalab: count on arm", flush=True)
        elif words[:2] == ["traffic:", "counted"]:
            print("numalab: count off arm", flush=True)
            result["rounds"] = int(words[2])
        print(f"numalab: {line.rstrip()}", flush=True)
    if driver.wait():
        raise RuntimeError(f"the driver ended with {driver.returncode}: see log")
    (evidence / "result.json").write_text(json.dumps(result), encoding="ascii")


def _moves(pids: list[int]) -> dict[str, float]:
    """How often threads that ran were on another node than a look before, in all."""
    nodes = _nodes()
    began = time.monotonic()
    before: dict[str, tuple[int, int]] = {}
    moves = looks = 0
    while time.monotonic() < began + FOLLOWED_SECONDS:
        now = {key: state for pid in pids for key, state in _threads(pid)}
        ran = [key for key in now.keys() & before.keys() if now[key][1] > before[key][1]]
        looks += len(ran)
        moves += sum(nodes[now[key][0]] != nodes[before[key][0]] for key in ran)
        before = now
        time.sleep(1.0)
    return {"thread_looks": looks, "moves": moves, "seconds": round(time.monotonic() - began, 1)}


def _threads(pid: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield of each thread the CPU that it last ran on and its ticks of CPU time."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            fields = (task / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        yield str(task), (int(fields[36]), int(fields[11]) + int(fields[12]))


def _nodes() -> dict[int, int]:
    """Return the node of each CPU."""
    links = Path("/sys/devices/system/cpu").glob("cpu[0-9]*/node[0-9]*")
    return {int(link.parent.name[3:]): int(link.name[4:]) for link in links}


def _command(job: dict[str, object], workload: str, name: str) -> list[str]:
    arm = ARMS[name]
    jars = sorted(Path(os.environ["SPARK_HOME"], "jars").glob("*.jar"))
    class_path = ":".join([str(job["jar"]), *map(str, jars), CLASSES])
    settings = {
        **local_numa.CONFIGURATION,
        "spark.executor.extraJavaOptions": _java_options("executor"),
        "spark.executor.extraClassPath": class_path,
        **arm.settings,
    }
    return [
        *(f"{os.environ['JAVA_HOME']}/bin/java", *_java_options("driver").split()),
        *("-Xmx1200m" if arm.one_jvm else "-Xmx512m", "-cp", class_path),
        *("org.apache.spark.deploy.SparkSubmit", "--class", "Traffic", "--master"),
        "local[*]" if arm.one_jvm else str(job["master"]),
        *(word for key, value in settings.items() for word in ("--conf", f"{key}={value}")),
        *(str(job["jar"]), workload, str(PARTITIONS), str(MEGABYTES), str(SECONDS)),
    ]


def _java_options(process: str) -> str:
    archive = local_numa.ARCHIVES / f"{process}.jsa"
    return f"{JVM} -XX:SharedArchiveFile={archive}" if archive.is_file() else JVM
