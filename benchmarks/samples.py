"""How long a day of samples takes to analyse, and how much memory.

    python benchmarks/samples.py [--hours 1 6 24] [--executors 8]

Makes a record in the format that `hearth profile` writes: each second a sample of every executor,
of its busy threads and of the machine's CPUs, each ten seconds one of the memory. The values are
made up; their number and shape are what matters here. No event log is in it.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CPUS = 64
BUSY_THREADS = 12


def make_record(directory: Path, seconds: int, executors: int) -> None:
    """Write the record."""
    (directory / "samples").mkdir(parents=True)
    head = {
        "schema": "hearth/record/1", "id": directory.name, "application": "made up",
        "started": "2026-01-01T00:00:00+00:00", "clock_ticks_per_s": 100,
        "clock": {"wall_ns": 1_767_225_600_000_000_000, "monotonic_ns": 0},
        "owner": {"pid": 999_999_999, "start_ticks": 1},
        "cpus_of_node": {str(n): f"{16 * n}-{16 * n + 15}" for n in range(4)},
    }  # fmt: skip
    (directory / "record.json").write_text(json.dumps(head), encoding="utf-8")
    with (directory / "processes.jsonl").open("w", encoding="utf-8") as file:
        for executor in range(executors):
            row = _of(0, executor) | {"role": "executor", "executor_id": str(executor)}
            row |= {"cpus_allowed": "0-63", "event": "seen"}
            file.write(json.dumps(row) + "\n")
    rows = {"system": system_row, "process": process_row, "threads": threads_row,
            "memory": memory_row}  # fmt: skip
    for name, make in rows.items():
        with (directory / "samples" / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            for t in range(0, seconds, 10 if name == "memory" else 1):
                for executor in range(1 if name == "system" else executors):
                    file.write(json.dumps(make(t, executor), separators=(",", ":")) + "\n")


def _of(t: int, executor: int) -> dict[str, Any]:
    return {"t": float(t), "pid": 100 + executor, "start_ticks": 5}


def system_row(t: int, _: int) -> dict[str, Any]:
    ticks = [60 * t, 0, 10 * t, 25 * t, 5 * t, 0, 0, 0]
    return {"t": float(t), "cpu": {str(cpu): ticks for cpu in range(CPUS)}, "ctxt": 1000 * t,
            "running": 3, "blocked": 0}  # fmt: skip


def process_row(t: int, executor: int) -> dict[str, Any]:
    names = ("utime", "stime", "minflt", "majflt", "voluntary", "involuntary", "run_ns",
             "run_delay_ns", "blkio_ticks", "read_bytes", "write_bytes", "rchar",
             "wchar")  # fmt: skip
    values = {name: t * (17 + place) for place, name in enumerate(names)}
    return {**_of(t, executor), **values, "threads": 80, "rss_kb": 9_000_000,
            "rss_max_kb": 9_500_000, "anon_kb": 8_900_000, "file_kb": 100_000}  # fmt: skip


def threads_row(t: int, executor: int) -> dict[str, Any]:
    ran = [[1000 + i, (t + i) % CPUS, 90 * t, 5 * t] for i in range(BUSY_THREADS)]
    names = {str(1000 + i): ["Executor task l", "task"] for i in range(BUSY_THREADS)}
    return {**_of(t, executor), "alive": 80, "ran": ran, "names": names if t == 0 else {}}


def memory_row(t: int, executor: int) -> dict[str, Any]:
    nodes = {str(n): {"anon_kb": 2_000_000 + t, "file_kb": 10, "huge_kb": 0} for n in range(4)}
    return {**_of(t, executor), "nodes": nodes, "policies": {"default": 900}}


def measure(directory: Path) -> dict[str, Any]:
    """Analyses one record in this process."""
    from hearth.analysis.analysis import analyse
    from hearth.base.absent import known

    start, cpu = time.monotonic(), time.process_time()
    analysis = analyse(directory)
    size = sum(file.stat().st_size for file in directory.glob("samples/*"))
    return {
        "sampled_s": known([analysis.executors[0].use])[0].sampled_s,
        "executors": len(analysis.executors),
        "samples_mb": round(size / 1e6, 1),
        "wall_s": round(time.monotonic() - start, 2),
        "cpu_s": round(time.process_time() - cpu, 2),
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def page(rows: list[dict[str, Any]]) -> list[str]:
    """Return the table in Markdown."""
    from results import table

    lines = [
        [
            f"{row['sampled_s'] / 3600:.0f}",
            f"{row['samples_mb']:.0f} MB",
            f"{row['cpu_s']:.2f}",
            f"{row['wall_s']:.2f}",
            f"{row['peak_rss_mb']} MB",
        ]
        for row in rows
        if "sampled_s" in row
    ]
    return table(["Hours", "Samples", "CPU s", "Wall s", "Peak resident"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hours", type=float, nargs="+", default=[1, 6, 24])
    parser.add_argument("--executors", type=int, default=8)
    parser.add_argument("--read", type=Path, help="read this record and print what it took")
    options = parser.parse_args()
    if options.read:
        print(json.dumps(measure(options.read)))
        return
    stamp = datetime.now(UTC).strftime("%Y-%m-%d-%H%M")
    results = HERE / "results" / f"samples-{stamp}.jsonl"
    about = {"cpus": os.cpu_count(), "architecture": platform.machine(),
             "python": platform.python_version()}  # fmt: skip
    results.write_text(json.dumps(about) + "\n", encoding="utf-8")
    for hours in options.hours:
        with tempfile.TemporaryDirectory() as scratch:
            directory = Path(scratch) / "20260101-000000-made-up-0000"
            make_record(directory, int(hours * 3600), options.executors)
            command = [sys.executable, __file__, "--read", str(directory)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
        row = {**json.loads(done.stdout), "load_1m": round(os.getloadavg()[0], 1)}
        print(json.dumps(row), flush=True)
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
