"""One run of a workload, plain or under `hearth profile`, with the CPU seconds that it took."""

import argparse
import json
import os
import platform
import resource
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hearth.machine import paths
from hearth.record.store import new_name
from hearth.studies.engine.target import PROFILE
from hearth.workloads import cases, catalogue, datasets, suites

ROOT = Path(__file__).resolve().parents[1]
ARMS: dict[str, tuple[str, ...]] = {"plain": (), "profile": (*PROFILE, "--arm", "profile")}
WARM_UP = "sort-by"
LISTENERS = "spark-listener-"  # what the kernel keeps of spark-listener-group-eventLog and others
LOOK_S = 1.0
Row = dict[str, Any]


def write(output: Path, row: Row) -> None:
    with output.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def nothing(folder: Path) -> Row:
    """Profile of a second's sleep in place of Spark: CPU seconds, and seconds beyond that one."""
    home = folder / "nothing"
    (home / "bin").mkdir(parents=True, exist_ok=True)
    if not (home / "jars").exists():
        (home / "jars").symlink_to(paths.spark_home() / "jars")
        (home / "bin" / "spark-submit").write_text("#!/bin/sh\nexec sleep 1\n")
        (home / "bin" / "spark-submit").chmod(0o755)
    begin, cpu_s = time.monotonic(), children_cpu_s()
    words = [*ARMS["profile"], "--master", "local[*]", "nothing.py"]
    environment = {**os.environ, "SPARK_HOME": str(home)}
    done = subprocess.run(words, env=environment, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"profile of nothing failed: {done.stderr.decode()}")
    row = {"cpu_s": children_cpu_s() - cpu_s, "added_s": time.monotonic() - begin - 1}
    record = done.stderr.decode().split()[-1]
    return {name: round(value, 3) for name, value in row.items()} | sampler_cpu_s(record)


@contextmanager
def listeners_cpu_s(cost: Row) -> Iterator[None]:
    """Into `cost`: CPU seconds of the listener threads of the JVMs that run meanwhile."""
    seen: dict[Path, int] = {}
    over = threading.Event()

    def look() -> None:
        while not over.wait(LOOK_S):
            for process in Path("/proc").glob("[0-9]*"):
                seen.update(listeners_of(process))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()
        cost["listeners_cpu_s"] = round(sum(seen.values()) / 1e9, 3)


def listeners_of(process: Path) -> dict[Path, int]:
    """Nanoseconds that each listener thread of a JVM on our CPUs has run; else none."""
    found = {}
    try:
        ours = os.sched_getaffinity(int(process.name)) == os.sched_getaffinity(0)
        if ours and (process / "comm").read_text() == "java\n":
            for thread in (process / "task").iterdir():
                if (thread / "comm").read_text().startswith(LISTENERS):
                    found[thread] = int((thread / "schedstat").read_text().split()[0])
    except OSError:
        pass  # it has ended; what was read before stays
    return found


def make_data(
    offer: catalogue.Catalogue, entry: suites.SuiteEntry, options: argparse.Namespace
) -> cases.Case:
    """Make an entry's data before any measurement (a generator is a child); return its case."""
    sizes = [datasets.default_bytes(item.generator) for item in entry.job.inputs]
    size = options.times * max(sizes) if sizes else None  # some make their data by parameters
    case = cases.Case(entry.job, dict(entry.parameters), size)
    datasets.ensure_all(datasets.wanted_by(offer, case.job, case.parameters, size, case.seed))
    return case


def one_run(
    offer: catalogue.Catalogue, entry: suites.SuiteEntry, options: argparse.Namespace, arm: str
) -> dict[str, Any]:
    case = make_data(offer, entry, options)
    load = os.getloadavg()[0]
    begin, cpu_s = time.monotonic(), children_cpu_s()
    cost: Row = {}
    record = new_name(entry.job.name)
    on_record = ("--record", record) if ARMS[arm] else ()
    with listeners_cpu_s(cost):
        done = cases.run(offer, case, options.master, program=(*ARMS[arm], *on_record))
    row = cost | {
        "size_bytes": case.size_bytes,
        "seconds": done.document["seconds"],
        "wall_s": done.document["wall_s"],
        "cpu_s": round(children_cpu_s() - cpu_s, 3),
        "checked_s": round(time.monotonic() - begin, 3),
        "answer": done.document["verdict"]["status"],
        "master": done.document["spark"]["master"],
        "load": load,
        "cpus": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
    }
    return row | (sampler_cpu_s(record) if on_record else {})


def children_cpu_s() -> float:
    """Of all processes that were started and have ended: Spark, and what profile runs beside it."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def sampler_cpu_s(record: str) -> dict[str, float]:
    """CPU seconds of the sampling process, as its record tells."""
    costs = paths.state_home() / "records" / record / "samples" / "cost.jsonl"
    rows = map(json.loads, costs.read_text().splitlines())
    return {"sampler_cpu_s": {row["probe"]: row["cpu_s"] for row in rows}["sampler"]}
