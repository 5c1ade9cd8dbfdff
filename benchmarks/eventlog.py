"""How long a Spark event log takes to analyse, and how much memory, against its size.

    python benchmarks/eventlog.py [--tasks 10000 100000 1000000] [--repeat 3]

Each log is a real one (fixtures/eventlogs/skew.jsonl), its stage of 13 tasks repeated under new
ids and later times until it has that many tasks: every line is as Spark writes it, the
accumulables included. The reader runs in a process of its own; its time and the kernel's peak of
its resident memory go to benchmarks/results, a line after each run.
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
SOURCE = HERE.parent / "fixtures" / "eventlogs" / "skew.jsonl"
#: Tasks of one stage of the made logs: the recorded stage over and over, as a wide one has them.
STAGE_TASKS = 1000


def make_log(target: Path, tasks: int) -> None:
    """Write a log of so many tasks."""
    lines = SOURCE.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if '"Event":"SparkListenerTask' not in line]
    ends = [json.loads(line) for line in lines if '"Event":"SparkListenerTaskEnd"' in line]
    starts = [json.loads(line) for line in lines if '"Event":"SparkListenerTaskStart"' in line]
    pattern = [(s, e) for e in ends for s in starts
               if s["Task Info"]["Task ID"] == e["Task Info"]["Task ID"]]  # fmt: skip
    last = max(end["Task Info"]["Finish Time"] for end in ends)
    first = min(start["Task Info"]["Launch Time"] for start in starts)
    with target.open("w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in kept[:-1])
        for task in range(tasks):
            later_ms = (task // len(pattern)) * (last - first)
            for event in pattern[task % len(pattern)]:
                file.write(_moved(event, task, later_ms) + "\n")
        end = json.loads(kept[-1])
        end["Timestamp"] += (tasks // len(pattern)) * (last - first)
        file.write(json.dumps(end, separators=(",", ":")) + "\n")


def _moved(event: dict[str, Any], task: int, later_ms: int) -> str:
    info = event["Task Info"]
    moved = {**info, "Task ID": task, "Launch Time": info["Launch Time"] + later_ms}
    if info["Finish Time"]:
        moved["Finish Time"] += later_ms
    stage = 100 + task // STAGE_TASKS
    return json.dumps({**event, "Stage ID": stage, "Task Info": moved}, separators=(",", ":"))


def measure(log: Path) -> dict[str, Any]:
    """Analyses one log in this process; seconds and peak resident megabytes."""
    from hearth.analysis.analysis import analyse_event_log
    from hearth.base.absent import known

    start, cpu = time.monotonic(), time.process_time()
    analysis = analyse_event_log(log)
    return {
        "tasks": known([analysis.totals])[0].tasks,
        "log_mb": round(log.stat().st_size / 1e6, 1),
        "wall_s": round(time.monotonic() - start, 2),
        "cpu_s": round(time.process_time() - cpu, 2),
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def run(tasks: int, repeat: int, results: Path) -> None:
    """Make one log, have it read `repeat` times, and note each."""
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "log"
        make_log(log, tasks)
        for repetition in range(repeat):
            command = [sys.executable, __file__, "--read", str(log)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            row = {"repetition": repetition, **json.loads(done.stdout)}
            row["load_1m"] = round(os.getloadavg()[0], 1)
            print(json.dumps(row), flush=True)
            with results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


def page(rows: list[dict[str, Any]]) -> list[str]:
    """Return the table in Markdown: each repetition."""
    from results import table

    lines = []
    for tasks in dict.fromkeys(row["tasks"] for row in rows if "tasks" in row):
        some = [row for row in rows if row.get("tasks") == tasks]
        cells = [f"{tasks:,}", f"{some[0]['log_mb']:.0f} MB"]
        cells += [", ".join(f"{row[what]:.2f}" for row in some) for what in ("cpu_s", "wall_s")]
        lines.append([*cells, f"{max(row['peak_rss_mb'] for row in some)} MB"])
    return table(["Tasks", "Log", "CPU s", "Wall s", "Peak resident"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--read", type=Path, help="read this log and print what it took")
    options = parser.parse_args()
    if options.read:
        print(json.dumps(measure(options.read)))
        return
    stamp = datetime.now(UTC).strftime("%Y-%m-%d-%H%M")
    results = HERE / "results" / f"eventlog-{stamp}.jsonl"
    about = {"cpus": os.cpu_count(), "architecture": platform.machine(),
             "python": platform.python_version()}  # fmt: skip
    results.write_text(json.dumps(about) + "\n", encoding="utf-8")
    for tasks in options.tasks:
        run(tasks, options.repeat, results)


if __name__ == "__main__":
    main()
