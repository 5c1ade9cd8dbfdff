"""What tasks see, may do and may not do in the containers of their executors, on one application.

Arguments: a directory with `list.csv` to read and to write to, a file to which goes what rounds of
short tasks count afterwards, until its neighbour `enough` is there. In the variable UNNAMED: a
directory that nobody names to the executors; in PROBES: paths to look for, separated by colons.
"""

import json
import os
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

LIMIT_S = 300
named = Path(sys.argv[1])
unnamed = Path(os.environ["UNNAMED"])
probes = os.environ["PROBES"].split(":")

spark = SparkSession.builder.appName("contained").getOrCreate()
context = spark.sparkContext


def on_all(ask: Callable[[int], object]) -> list:
    """The different answers of tasks on both executors."""

    def slowly(n: int) -> str:
        time.sleep(0.5)
        return json.dumps(ask(n))

    return [
        json.loads(text)
        for text in sorted(set(context.range(8, numSlices=8).map(slowly).collect()))
    ]


def place(_: int) -> dict[str, object]:
    status = dict(
        line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines()
    )
    policy = {line.split()[1] for line in Path("/proc/self/numa_maps").read_text().splitlines()}
    java = os.getppid()
    while "java" not in Path(f"/proc/{java}/comm").read_text():
        java = int(Path(f"/proc/{java}/stat").read_text().rsplit(")", 1)[1].split()[1])
    rights = {name: status[name] for name in ("CapBnd", "NoNewPrivs")}
    cpus = status["Cpus_allowed_list"]
    return {"executor": java, "cpus": cpus, "policy": sorted(policy), "rights": rights}


def escape(_: int) -> list[list[int]]:
    own = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    return [own, sorted(os.sched_getaffinity(0))]


def sight(_: int) -> dict[str, object]:
    import tempfile

    import beside  # of the folder of this program

    import hearth  # of the same Python as the driver's, with its packages

    with tempfile.TemporaryFile() as scratch:
        scratch.write(b"x")
    return {
        "seen": [path for path in probes if os.path.lexists(path)],
        "version": hearth.__version__,
        "variables": sorted(os.environ.keys() & {"PROBES", "OWN_KEY", "WANTED", "PATH", "HOME"}),
        "found": [beside.WORD, Path("relative.txt").read_text()],
    }


def writes(n: int) -> dict[str, str]:
    def attempt(path: Path) -> str:
        try:
            path.write_text("written")
        except OSError as e:
            return e.strerror
        return "written"

    places = {
        "named": named,
        "unnamed": unnamed,
        "tmp": Path("/tmp"),
        "usr": Path("/usr"),
        "root": Path("/"),
    }
    return {name: attempt(folder / f"task-{n}") for name, folder in places.items()}


def failure(work: Callable[[], object]) -> str:
    try:
        work()
    except Exception as e:
        return str(e)
    return "none"


def holders_of_the_lease() -> int:
    """Locks on this application's lease, as the kernel lists them (proc(5), `/proc/locks`)."""
    leases = Path(os.environ["HEARTH_LEASES"]).glob("hearth-lease-*.json")
    inodes = {
        str(lease.stat().st_ino) for lease in leases if context.applicationId in lease.read_text()
    }
    rows = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return sum(row[1] == "OFDLCK" and row[5].rsplit(":", 1)[1] in inodes for row in rows)


def shuffled() -> dict[str, object]:
    pairs = context.range(400, numSlices=8).map(lambda n: (n % 10, 1))
    right = dict(pairs.reduceByKey(lambda a, b: a + b, 8).collect()) == dict(
        Counter(n % 10 for n in range(400))
    )
    ui = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages"
    stages = json.load(urllib.request.urlopen(ui))
    return {"right": right} | {
        name: sum(stage[name] for stage in stages)
        for name in ("shuffleRemoteBytesRead", "shuffleLocalBytesRead")
    }


report = {
    "workers": on_all(place),
    "lease_holders": holders_of_the_lease(),
    "sight": on_all(sight),
    "writes": on_all(lambda n: writes(n % 2)),
    "read": [row.a for row in spark.read.csv(f"{named}/list.csv", header=True).collect()],
    "shuffle": shuffled(),
    "failure": failure(lambda: spark.read.csv(f"{unnamed}/list.csv", "a STRING").collect()),
}
context.range(4, numSlices=2).saveAsTextFile(f"{named}/out")
report["saved"] = sorted(
    int(line) for part in (named / "out").glob("part-*") for line in part.open()
)
report["tried"] = on_all(escape)
print("RESULT", json.dumps(report), flush=True)
rounds, end = Path(sys.argv[2]), time.monotonic() + LIMIT_S
while not rounds.with_name("enough").exists() and time.monotonic() < end:
    counted = context.range(8, numSlices=8).map(lambda n: time.sleep(0.3)).count()
    with rounds.open("a") as file:
        print(counted, file=file)
spark.stop()
