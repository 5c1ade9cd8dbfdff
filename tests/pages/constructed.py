"""An analysis made up for the page's tests; every number in it is known. Not a measurement."""

import random
from dataclasses import replace
from typing import Any

from hearth.analysis import metrics
from hearth.analysis.counter_samples import Count
from hearth.analysis.document import (
    Analysis,
    Bandwidth,
    Metrics,
    NodeBandwidth,
    Regions,
)
from hearth.base.absent import Absent
from hearth.base.codec import typed
from hearth.studies.compare.result import (
    SCHEMA,
    Compared,
    ComparedArm,
    ComparisonSettings,
    ComparisonVerdict,
    PairedRatio,
)
from hearth.studies.engine.validity import ValidityWarning

WALL_S = 60.0


def analysis(tasks: int = 400, arm: str | None = None, seed: int = 1) -> Analysis:
    """A run of two executors on two nodes, with four stages."""
    return typed(document(tasks, arm, seed), Analysis)


def document(tasks: int = 400, arm: str | None = None, seed: int = 1) -> dict[str, Any]:
    """The same as JSON (`hearth schema analysis`)."""
    rows = _tasks(tasks, random.Random(seed))
    return {
        "schema": "hearth/analysis/1",
        "record": {
            "id": "20260101-000000-shop-0001",
            "application": "shop <window> & co",
            "application_id": "local-1",
            "spark_version": "4.3.0",
            "java_version": "17.0.15 (Debian)",
            "arguments": ["shop.py", "--day", "monday"],
            "master": "local-numa[2x4]",
            "arm": arm,
            "state": "finished",
            "started": None,
            "wall_s": WALL_S,
            "exit_code": 0,
            "settings": {"spark.executor.cores": "4", "spark.executor.memory": "16g"},
        },
        "machine": {
            "architecture": "x86_64",
            "cpus": "0-7",
            "packages": 2,
            "nodes": [_node("0", "0-3"), _node("8", "4-7")],
            "settings": {
                "smt": {"value": "on", "source": "/sys"},
                "governor": {"absent": "none here"},
            },
            "processor": "POWER9",
        },
        "probes": [
            {"name": "process", "status": "on", "reason": None},
            {"name": "counters", "status": "absent", "reason": "perf is not installed"},
        ],
        "warnings": [{"what": "the event log's last line was cut off", "remedy": None}],
        "executors": [_executor("0", "0", "0-3", 0.99), _executor("1", "8", "4-7", 0.61)],
        "stages": [_stage(i, tasks // 4) for i in range(4)],
        "totals": {
            **_counts(tasks),
            **_sums(4),
            "running": 0,
            "wall_s": WALL_S,
            "slots": 8,
            "idle_slot_share": 0.25,
        },
        "sql": [],
        "vmstat": {"absent": "it was not sampled"},
        "timeline": _timeline(),
        "tasks_sample": rows,
        "threads": _threads(random.Random(seed), bound=arm == "bound"),
        "counters": {"absent": "perf is not installed"},
        "metrics": {"absent": "perf is not installed"},
        "findings": [
            {
                "id": "remote-memory",
                "severity": "error",
                "sentence": "Executor 1 has 39 % of its memory on another node.",
                "evidence": ["/executors/1/local_share"],
                "next_step": f"Bind its memory: hearth submit{' --bind node' * 30}.",
            }
        ],
    }


def _node(number: str, cpus: str) -> dict[str, Any]:
    first = int(cpus[0])
    cores = [f"{first},{first + 2}", f"{first + 1},{first + 3}"]
    return {"id": number, "cpus": cpus, "memory_bytes": 64 << 30, "cores": cores, "caches": [cpus]}


def _executor(name: str, node: str, cpus: str, local: float) -> dict[str, Any]:
    known = {"pid": 100 + int(name), "cpus": cpus, "nodes": [node], "tasks": 200, "failed": 0}
    unknown = ("policy", "cores", "heap_setting", "heap_peak_bytes", "added_s", "removed_s")
    return {
        "id": name,
        "role": "executor",
        **known,
        **dict.fromkeys((*unknown, "reason")),
        "gc": _GC,
        "local_share": local,
        "use": _USE,
    }


_GC: dict[str, Any] = {
    "collector": "G1", "pauses": 20, "pause_ms": 4800.0, "allocation_stall_ms": 0.0,
    "heap_after_max_mb": None,
}  # fmt: skip
_USE: dict[str, Any] = {
    "cpu_s": 51.0,
    **dict.fromkeys(("run_delay_s", "voluntary", "involuntary")),
    "minor_faults": None,
    "major_faults": None,
    "written_bytes": None,
    "rss_max_mb": 8192,
}


def _counts(tasks: int) -> dict[str, int]:
    return {"tasks": tasks, "failed": 0, "killed": 0}


def _sums(scale: int) -> dict[str, Any]:
    shuffled = {"shuffle_read_local": 1 << 30, "shuffle_read_remote": 0, "shuffle_write": 1 << 29}
    return {
        "time": _time(scale),
        "spill": {"memory": 0, "disk": 1 << 20},
        "bytes": {"input": 0, "output": 0, **shuffled},
    }


def _time(scale: int) -> dict[str, int]:
    return {
        "duration": 42_100 * scale,
        "run": 40_000 * scale,
        "cpu": 30_000 * scale,
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
        "failure": None,
        **_counts(tasks),
        **_sums(1),
        "duration": {"p5": 400, "p50": 500, "p95": 900, "max": 3000},
        "read_bytes": {"p50": None, "max": None},
        "skew": 6.0,
        "stragglers": [],
    }


def counted(run: Analysis) -> Analysis:
    """The same run on a machine that counts: top-down, Awan's shares, and memory bandwidth."""
    level_one = {"slots": 1000, "topdown-retiring": 250, "topdown-bad-spec": 50}
    events = {"cycles": 4e9, "topdown-fe-bound": 150, "topdown-mem-bound": 400, **level_one}
    events["mem_load_uops_llc_miss_retired.remote_dram"] = 2e6
    counts = {name: Count(value, "", 60, 0.5) for name, value in events.items()}
    derived = metrics.derive(counts, {})
    shares = [abs(t % 40 - 20) / 20 for t in range(61)]
    node = NodeBandwidth([50.0 * share for share in shares], 50.0, [*shares], Regions(1, 1, 1))
    events_of_1 = {name: count.measured() for name, count in counts.items()}
    events_of_1["LLC-loads"] = Absent("<not supported>")
    return replace(
        run,
        counters={"1": events_of_1},
        metrics=Metrics(derived, {"1": derived}),
        timeline=replace(run.timeline, bandwidth=Bandwidth("resctrl", {"0": node})),
    )


def _timeline() -> dict[str, Any]:
    times = [float(second) for second in range(61)]
    return {
        "step_s": 1.0,
        "t": times,
        "running_tasks": [min(8, int(t) % 16) for t in times],
        "slots": [8] * 61,
        "cpu_by_executor": {},
        "cpu_by_node": {"0": [0.9] * 61, "8": [0.5] * 61},
        "gc": [["0", 5.0 + i, 120.0, "young"] for i in range(20)],
        "local_share_by_executor": {"0": [0.99] * 61, "1": [0.61] * 61},
        "bandwidth": {"absent": "no uncore counters on this machine"},
    }


_COLUMNS = (
    *("task", "executor", "slot", "start_s", "end_s"),
    *("stage", "attempt", "state", "straggler"),
)


def _tasks(count: int, dice: random.Random) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    free = {(executor, slot): 0.0 for executor in (0, 1) for slot in range(4)}
    for number in range(count):
        place = min(free, key=lambda place: free[place])
        start, length = free[place], dice.uniform(0.5, 1.0) * WALL_S * 8 / count
        free[place] = start + length
        stage, late = number * 4 // count, number % 97 == 96
        values = (number, *place, start, start + length, stage, 0, "success", late)
        for name, value in zip(columns, values, strict=True):
            columns[name].append(value)
    return {"executors": ["0", "1"], "stride": 1, **columns}


def _threads(dice: random.Random, *, bound: bool) -> dict[str, Any]:
    """Four task threads of each executor, on its own node where they are bound, and one of GC."""
    moments = [
        (float(t), pid, tid, dice.randrange(4) + 4 * (pid - 100) if bound else dice.randrange(8))
        for t in range(60) for pid in (100, 101) for tid in range(1, 6)
    ]  # fmt: skip
    t, pid, tid, cpu = (list(column) for column in zip(*moments, strict=True))
    kinds = {tid: "gc" if tid == 5 else "task" for tid in range(1, 6)}
    return {
        "stride": 1,
        "columns": {"t": t, "pid": pid, "tid": tid, "cpu": cpu},
        "names": [
            {"pid": pid, "tid": tid, "name": kind, "kind": kind}
            for pid in (100, 101)
            for tid, kind in kinds.items()
        ],
        "node_transitions": {"gc": 3} if bound else {"task": 1014, "gc": 3},
    }


def comparison() -> Compared:
    """Three arms, one faster than native beyond doubt, one skipped by name."""
    return Compared(
        schema=SCHEMA,
        id="c",
        application="shop.py",
        started="2026-01-01T00:00:00+00:00",
        baseline="native",
        settings=ComparisonSettings(warmup=1, seed=1, repeat=3),
        confidence=0.95,
        confidence_each=0.95,
        arms=[
            ComparedArm("native", [10.0, 10.5, 11.0]),
            ComparedArm("bound", [8.0, 8.4, 8.8], ratio=PairedRatio(0.8, 3, 0.75, 0.86)),
            ComparedArm("balanced", [], skipped="the kernel has no numa_balancing"),
        ],
        verdict=ComparisonVerdict(
            "bound",
            "Bind: the plan takes 0.80 of native's time.",
            ["GC share fell from 20 % to 8 %"],
        ),
        warnings=[ValidityWarning("drift", "all became 9% slower: let it come to rest")],
    )
