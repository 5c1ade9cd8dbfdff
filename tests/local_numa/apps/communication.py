"""The CPUs that each communication thread of the driver and of an executor may use."""

import json
import os
import re
import time
from pathlib import Path

from pyspark.sql import SparkSession

LIMIT_S = 20
NAMES = re.compile(r"rpc-|shuffle-|files-")


def threads(pid: int) -> dict[str, list[str]]:
    """Lists of CPUs by the beginning of a thread's name."""
    cpus_by_name: dict[str, set[str]] = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            status = (task / "status").read_text()
        except (FileNotFoundError, ProcessLookupError):  # the thread has just ended
            continue
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        cpus_by_name.setdefault(fields["Name"], set()).add(fields["Cpus_allowed_list"])
    return {name: sorted(cpus) for name, cpus in cpus_by_name.items()}


def alone(cpus_by_name: dict[str, list[str]]) -> bool:
    lists = [
        cpus for name, several in cpus_by_name.items() if NAMES.match(name) for cpus in several
    ]
    return bool(lists) and all(cpus.isdigit() for cpus in lists)


context = SparkSession.builder.appName("communication").getOrCreate().sparkContext
driver = context._jvm.java.lang.ProcessHandle.current().pid()
daemon = context.parallelize([0], 1).map(lambda _: os.getppid()).first()
executor = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
end = time.monotonic() + LIMIT_S
while not (alone(threads(driver)) and alone(threads(executor))) and time.monotonic() < end:
    time.sleep(0.2)
print("RESULT", json.dumps({"driver": threads(driver), "executor": threads(executor)}))
context.stop()
