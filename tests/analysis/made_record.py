"""A record made by hand, whose samples are known: a run on two nodes, killed after ten seconds."""

import json
import shutil
from pathlib import Path
from typing import Any

from hearth.analysis.samples import SampleFile
from support import ROOT

CPUS_OF_NODE = {"0": "0-1", "8": "2-3"}


def write(file: Path, rows: list[dict[str, Any]], tail: str = "") -> SampleFile:
    """A file of samples, with what a kill left of its last line."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows) + tail, encoding="utf-8")
    return SampleFile(file)


def process(t: float, utime: int, **more: Any) -> dict[str, Any]:
    """A sample of process 7."""
    return {"t": t, "pid": 7, "start_ticks": 1, "utime": utime, "stime": 0, **more}


def make_record(directory: Path, **head_changes: Any) -> None:
    """A record of a run that was killed: no end, a torn line, most probes absent."""
    head = {
        "schema": "hearth/record/1", "id": directory.name, "application": "app", "arm": None,
        "started": "2026-11-21T09:00:00+00:00", "command": ["app"], "master": "local[2]",
        "clock": {"wall_ns": 1_795_252_947_000_000_000, "monotonic_ns": 5},
        "owner": {"pid": 999_999_999, "start_ticks": 1}, "clock_ticks_per_s": 100,
        "cpus_of_node": CPUS_OF_NODE,
        "probes": [{"name": "memory", "status": "absent", "reason": "no NUMA in this kernel"}],
        **head_changes,
    }  # fmt: skip
    directory.mkdir()
    (directory / "record.json").write_text(json.dumps(head))
    (directory / "eventlog").mkdir()
    seen = {"t": 0.1, "pid": 7, "start_ticks": 1, "role": "executor", "executor_id": "0",
            "event": "seen", "cpus_allowed": "2-3", "mems_allowed": "0,8",
            "policy": "bind:8"}  # fmt: skip
    gone = {"t": 9.5, "pid": 7, "start_ticks": 1, "event": "gone", "exit": None}
    write(directory / "processes.jsonl", [seen, gone], '{"t"')
    (directory / "gc").mkdir()
    shutil.copy(ROOT / "fixtures" / "gc" / "g1-17.log", directory / "gc" / "executor-7.log")
    rows = [process(t, 100 * t, involuntary=300 * t) for t in range(10)]
    write(directory / "samples" / "process.jsonl", rows, '{"t": 10')
