"""What the name of a bound Worker decides, counted on two machines with two Workers each.

    .venv/bin/python benchmarks/locality.py --repeat 3

In the arm `machine` all Workers of a machine have its one name, as 'hearth workers' starts them; in
the arm `place` each is one of Spark's own with a name of its own, which leads to the same machine.
Counted are, from Spark's event log: the locality of tasks that read cached partitions, those of
one busy executor for 4 s each, so that others take them over; the bytes of a shuffle that tasks
read from files and over the network; and the map tasks that run again after one Worker is killed.
The machines are network namespaces of this one (benchmarks/two_machines.py, as root): times would
mean little, and none is kept. Raw values go to benchmarks/results/.
"""

import argparse
import json
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from results import FOLDER, Row, table
from two_machines import URL, Machine, two_machines, why_not

from hearth.spark.workers import WORKER

ARMS = ("machine", "place")
LEVELS = {"PROCESS_LOCAL": "process", "NODE_LOCAL": "node", "ANY": "any"}
SIZES = ["--executor-cores", "1", "--executor-memory", "600m", "--driver-memory", "500m"]
SETTINGS = {
    "spark.cores.max": "4",
    "spark.scheduler.minRegisteredResourcesRatio": "1",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "240s",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
}
LIMIT_S = 300.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    if reason := why_not():
        parser.error(reason)
    output = FOLDER / f"locality-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
    rows = []
    for repetition in range(options.repeat):
        for arm in ARMS:
            with tempfile.TemporaryDirectory(prefix="hearth-locality-") as scratch:
                row = {"arm": arm, "repetition": repetition, **counted(Path(scratch), arm)}
            rows.append(row)
            with output.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
    print("\n".join(page(rows)))
    print(f"raw values: {output}")


def page(rows: Iterable[Row]) -> list[str]:
    """Return the tables of benchmarks/README.md."""
    heads = ["A Worker's name is that of its", *(f"Tasks: {each}" for each in LEVELS.values())]
    heads += ["Shuffle from files", "over the network", "Maps again"]
    found = list(rows)
    return table(heads, (_line(arm, [row for row in found if row["arm"] == arm]) for arm in ARMS))


def _line(arm: str, rows: list[Row]) -> list[str]:
    tasks = [[row["tasks"].get(level, 0) for row in rows] for level in LEVELS]
    size = [[row[name] / 1e3 for row in rows] for name in ("local_bytes", "remote_bytes")]
    maps = [row["maps_again"] for row in rows]
    return [arm, *map(_range, tasks), *(f"{_range(each)} kB" for each in size), _range(maps)]


def _range(values: list[float]) -> str:
    low, high = round(min(values)), round(max(values))
    return f"{low}" if low == high else f"{low} to {high}"


def counted(scratch: Path, arm: str) -> Row:
    """Run the application once, a Worker of the second machine killed before its last job."""
    with two_machines(scratch) as (big1, big2), ExitStack() as ends:
        ends.enter_context(_process(big1.master()))
        _until("a master", lambda: big1.leads(0))
        for machine in (big1, big2):
            if arm == "place":
                for process in _one_each(machine):
                    ends.enter_context(_process(process))
            else:
                sizes = ["--executors", "2", "--cores", "1", "--memory", "600m", "--wait", "4m"]
                machine.hearth("workers", "start", URL, *sizes)
        _until("four workers", lambda: big1.leads(4))
        ready, go_on, log = (scratch / name for name in ("ready", "go-on", "log"))
        log.mkdir()
        settings = {**SETTINGS, "spark.eventLog.dir": f"file://{log}"}
        conf = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
        program = str(Path(__file__).with_name("locality_app.py"))
        application = big1.submit(URL, *SIZES, *conf, program, str(ready), str(go_on))
        ends.enter_context(_process(application))
        _until(f"a shuffle: {big1.said()[-2000:]}", ready.exists)
        big2.kill(big2.running(f" {WORKER} ")[0])
        _until("three workers", lambda: not big1.leads(4))
        _until("four workers", lambda: big1.leads(4) or arm == "place")
        time.sleep(5)  # the driver hears of it by the master
        go_on.touch()
        if application.wait(LIMIT_S):
            raise RuntimeError(big1.said()[-3000:])
        (events,) = log.iterdir()
        return _counts(events)


def _process(started: "subprocess.Popen[bytes]") -> ExitStack:
    """End the process with the block; its machine has ended what it has started."""
    end = ExitStack()
    end.callback(started.wait)
    end.callback(started.kill)
    return end


def _one_each(machine: Machine) -> Iterator["subprocess.Popen[bytes]"]:
    for place in "ab":
        name = f"{machine.name}{place}"
        words = ["--host", name, "--cores", "1", "--memory", "600m", "--webui-port", "0"]
        work = machine.folder / name
        command = [machine.spark("spark-class"), WORKER, *words, "--work-dir", str(work), URL]
        yield machine.begin(f"{name}.log", *command)


def _until(what: str, there: Callable[[], bool]) -> None:
    until = time.monotonic() + LIMIT_S
    while not there():
        if time.monotonic() > until:
            raise TimeoutError(f"not within {LIMIT_S:.0f} s: {what}")
        time.sleep(0.2)


def _counts(events: Path) -> Row:
    """Count what Spark's event log says of tasks that have ended well."""
    jobs: dict[int, str] = {}  # by stage
    tasks: Counter[str] = Counter()
    size: Counter[str] = Counter()
    maps_again = 0
    for line in events.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["Event"] == "SparkListenerJobStart":
            job = event["Properties"].get("spark.job.description", "")
            jobs |= {stage: job for stage in event["Stage IDs"] if stage not in jobs}
            again = {stage for stage in event["Stage IDs"] if job == "again"}
            jobs |= dict.fromkeys(again, "again")
        if (
            event["Event"] != "SparkListenerTaskEnd"
            or event["Task End Reason"]["Reason"] != "Success"
        ):
            continue
        job = jobs[event["Stage ID"]]
        if job == "cached":
            tasks[event["Task Info"]["Locality"]] += 1
        if job == "shuffle":
            read = event["Task Metrics"]["Shuffle Read Metrics"]
            size["local"] += read["Local Bytes Read"]
            size["remote"] += read["Remote Bytes Read"]
        maps_again += job == "again" and event["Task Type"] == "ShuffleMapTask"
    return {
        "tasks": dict(tasks),
        "local_bytes": size["local"],
        "remote_bytes": size["remote"],
        "maps_again": maps_again,
    }


if __name__ == "__main__":
    main()
