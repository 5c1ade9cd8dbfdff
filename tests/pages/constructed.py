"""An analysis made up for the page's tests; every number in it is known. Not a measurement."""

import random
from typing import Any

from hearth.analysis import metrics
from hearth.analysis.counts import Count

WALL_S = 60.0


def analysis(tasks: int = 400, arm: str | None = None, seed: int = 1) -> dict[str, Any]:
    """A run of two executors on two nodes, with four stages."""
    rows = _tasks(tasks, random.Random(seed))
    return {
        "format": 1,
        "record": {
            "id": "20260101-000000-shop-0001",
            "application": "shop <window> & co",
            "master": "local-numa[2x4]",
            "arm": arm,
            "state": "finished",
            "wall_s": WALL_S,
        },
        "machine": {"nodes": [_node("0", "0-3"), _node("8", "4-7")]},
        "probes": [
            {"name": "process", "status": "on", "reason": None},
            {"name": "counters", "status": "absent", "reason": "perf is not installed"},
        ],
        "warnings": ["the event log's last line was cut off"],
        "executors": [_executor("0", "0", "0-3", 0.99), _executor("1", "8", "4-7", 0.61)],
        "stages": [_stage(i, tasks // 4) for i in range(4)],
        "totals": {"time": _time(4), "tasks": tasks, "wall_s": WALL_S, "idle_slot_share": 0.25},
        "jobs": [],
        "timeline": _timeline(),
        "tasks_sample": rows,
        "threads": _threads(random.Random(seed)),
        "counters": {"absent": "perf is not installed"},
        "metrics": {"absent": "perf is not installed"},
        "findings": [
            {
                "id": "remote-memory",
                "severity": "error",
                "sentence": "Executor 1 has 39 % of its memory on another node.",
                "evidence": ["/executors/1/local_share"],
                "next_step": "Bind its memory: hearth submit.",
            }
        ],
    }


def _node(number: str, cpus: str) -> dict[str, Any]:
    return {"id": number, "cpus": cpus, "memory_bytes": 64 << 30}


def _executor(name: str, node: str, cpus: str, local: float) -> dict[str, Any]:
    known = {"pid": 100 + int(name), "cpus": cpus, "nodes": [node], "tasks": 200, "reason": None}
    measured = {
        "gc": {"share": 0.08},
        "memory": {"local_share": local},
        "use": {"rss_max_mb": 8192},
    }
    return {"id": name, **known, **measured}


def _time(scale: int) -> dict[str, int]:
    return {
        "run": 40_000 * scale,
        "compute": 30_000 * scale,
        "gc": 4_000 * scale,
        "deserialise": 1_000 * scale,
        "shuffle_read_wait": 2_000 * scale,
        "shuffle_write": 2_000 * scale,
        "scheduler_delay": 1_000 * scale,
        "result_serialise": 100 * scale,
        "getting_result": 0,
    }


def _stage(number: int, tasks: int) -> dict[str, Any]:
    return {
        "id": number,
        "attempt": 0,
        "name": f"map at Shop.scala:{number}",
        "submitted_s": number * 15.0,
        "completed_s": number * 15.0 + 14.0,
        "tasks": tasks,
        "failed": 0,
        "time": _time(1),
        "duration": {"p50": 500, "max": 3000},
        "skew": 6.0,
        "spill": {"memory": 0, "disk": 1 << 20},
        "bytes": {
            "shuffle_read_local": 1 << 30,
            "shuffle_read_remote": 0,
            "shuffle_write": 1 << 29,
        },
    }


def counted(run: dict[str, Any]) -> dict[str, Any]:
    """The same run on a machine that counts: top-down, Awan's shares, and memory bandwidth."""
    level_one = {"slots": 1000, "topdown-retiring": 250, "topdown-bad-spec": 50}
    events = {"cycles": 4e9, "topdown-fe-bound": 150, "topdown-mem-bound": 400, **level_one}
    events["mem_load_uops_llc_miss_retired.remote_dram"] = 2e6
    counts = {name: Count(value, "", 60, 0.5) for name, value in events.items()}
    derived = metrics.derive(counts, {})
    shares = [abs(t % 40 - 20) / 20 for t in range(61)]
    sustained = {"sustained_gb_s": 50.0, "seconds": {"constant": 1, "linear": 1, "exponential": 1}}
    node = {"gb_s": [50.0 * share for share in shares], "share": shares, **sustained}
    bandwidth = {"source": "resctrl", "nodes": {"0": node}}
    documents = {name: count.document() for name, count in counts.items()}
    documents["LLC-loads"] = {"absent": "<not supported>"}
    return {
        **run,
        "counters": {"1": documents},
        "metrics": {"total": derived, "by_executor": {"1": derived}},
        "timeline": {**run["timeline"], "bandwidth": bandwidth},
    }


def _timeline() -> dict[str, Any]:
    times = [float(second) for second in range(61)]
    return {
        "step_s": 1.0,
        "t": times,
        "running_tasks": [min(8, int(t) % 16) for t in times],
        "slots": [8] * 61,
        "cpu_by_node": {"0": [0.9] * 61, "8": [0.5] * 61},
        "gc": [["0", 5.0 + i, 120.0, "young", "Allocation", 4000, 900] for i in range(20)],
        "local_share_by_executor": {"0": [0.99] * 61, "1": [0.61] * 61},
        "bandwidth": {"absent": "no uncore counters on this machine"},
    }


def _tasks(count: int, dice: random.Random) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {
        name: [] for name in ("executor", "slot", "start_s", "end_s", "stage", "state", "straggler")
    }
    free = {(executor, slot): 0.0 for executor in (0, 1) for slot in range(4)}
    for number in range(count):
        place = min(free, key=lambda place: free[place])
        start, length = free[place], dice.uniform(0.5, 1.0) * WALL_S * 8 / count
        free[place] = start + length
        values = (*place, start, start + length, number * 4 // count, "success", number % 97 == 96)
        for name, value in zip(columns, values, strict=True):
            columns[name].append(value)
    return {"executors": ["0", "1"], "stride": 1, **columns}


def _threads(dice: random.Random) -> dict[str, Any]:
    moments = [
        (float(t), tid, (tid * 3 + dice.randrange(2)) % 8) for t in range(60) for tid in (1, 2, 3)
    ]
    t, tid, cpu = (list(column) for column in zip(*moments, strict=True))
    return {"columns": {"t": t, "tid": tid, "cpu": cpu}, "node_transitions": {"0>8": 10, "8>0": 7}}


def comparison() -> dict[str, Any]:
    """Three arms, one faster than native beyond doubt, one skipped by name."""
    return {
        "format": 1,
        "baseline": "native",
        "arms": [
            {"name": "native", "seconds": [10.0, 10.5, 11.0], "median_s": 10.5},
            {
                "name": "bound",
                "seconds": [8.0, 8.4, 8.8],
                "median_s": 8.4,
                "ratio": {"value": 0.8, "pairs": 3, "low": 0.75, "high": 0.86},
            },
            {"name": "balanced", "seconds": [], "skipped": "the kernel has no numa_balancing"},
        ],
        "verdict": {
            "sentence": "Bind: the plan takes 0.80 of native's time.",
            "why": ["GC share fell from 20 % to 8 %"],
        },
        "warnings": [{"kind": "drift", "sentence": "all became 9% slower: let it come to rest"}],
    }
