"""Composes what a record holds to one document, contract/analysis.schema.json.

Times that end in `_s` are seconds on the record's axis, zero being its start; `time` of stages and
totals is in milliseconds. What was not measured is `{"absent": reason}`, never zero.
"""

from pathlib import Path
from typing import Any

from hearth.analysis import metrics
from hearth.analysis.counts import NO_VALUE, Counts
from hearth.analysis.eventlog import EventLog, Executor
from hearth.analysis.evidence import Evidence, Process, gather, gather_event_log
from hearth.analysis.findings import findings
from hearth.analysis.gclog import GcLog
from hearth.analysis.kept_analysis import SCHEMA, keep, kept, key_of
from hearth.analysis.locality import Threads
from hearth.analysis.samples import Key
from hearth.analysis.stages import StageTally, TaskSums
from hearth.analysis.taskrows import STATES, Slots
from hearth.analysis.timeline import step_function, timeline
from hearth.measure.record import read_record
from hearth.measure.shapes import Probe
from hearth.model.documents import to_json
from hearth.model.ids import parse_ids
from hearth.model.measured import Absent, Measured
from hearth.model.redaction import Redaction

#: Parts that hold no text of the user's, and much else.
_NUMBERS = ("timeline", "tasks_sample", "counters", "metrics")


def analyse(directory: Path) -> dict[str, Any]:
    """The analysis of one record, kept beside it; raises UserError where the directory is none."""
    record = read_record(directory.resolve())
    key = key_of(record)
    analysis = kept(record, key)
    if analysis is None:
        analysis = compose(gather(record.directory))
        keep(record, key, analysis)
    return analysis


def analyse_event_log(path: Path) -> dict[str, Any]:
    """The analysis of a bare event log, of hearth's making or not; raises UserError without one."""
    return compose(gather_event_log(path))


def compose(evidence: Evidence) -> dict[str, Any]:
    """The document, from evidence that was read before."""
    executors = _executors(evidence)
    document = to_json(
        {
            "schema": SCHEMA,
            "record": _record(evidence),
            "machine": _machine(evidence),
            "probes": _probes(evidence),
            "warnings": evidence.warnings,
            "executors": executors,
            "stages": _stages(evidence),
            "jobs": _jobs(evidence),
            "sql": _sql(evidence),
            "totals": _totals(evidence),
            "system": _system(evidence),
            "timeline": timeline(evidence),
            "tasks_sample": _tasks(evidence),
            "threads": _threads(evidence),
            "counters": _counters(evidence),
            "metrics": _metrics(evidence),
        }
    )
    document["findings"] = findings(document)
    redaction = Redaction.of(_settings(evidence))
    return {
        name: part if name in _NUMBERS else redaction.document(part)
        for name, part in document.items()
    }


def _settings(evidence: Evidence) -> dict[str, str]:
    if evidence.record is not None:
        return dict(evidence.record.head.configuration)
    return evidence.log.properties if isinstance(evidence.log, EventLog) else {}


def _record(evidence: Evidence) -> dict[str, Any]:
    log, record = evidence.log, evidence.record
    known = log if isinstance(log, EventLog) else EventLog()
    application = {"application_id": known.application_id, "spark_version": known.spark_version}
    if record is None:
        state = "finished" if known.ended else "unfinished"
        return {
            "id": None, "application": known.name, **application, "arm": None, "state": state,
            "master": known.properties.get("spark.master"), "started": None,
            "wall_s": round(evidence.span_s, 3), "exit_code": None,
        }  # fmt: skip
    return {
        "id": record.id,
        "application": record.head.application,
        **application,
        "master": record.head.master or known.properties.get("spark.master"),
        "arm": record.head.arm,
        "state": record.state,
        "started": record.head.started,
        "wall_s": round(evidence.span_s, 3),
        "exit_code": record.end and record.end.exit_code,
    }


def _machine(evidence: Evidence) -> Measured[dict[str, Any]]:
    if evidence.record is None:
        return Absent("an event log does not tell the machine")
    machine = evidence.record.machine
    if isinstance(machine, Absent):
        return machine
    return {
        "architecture": machine.architecture,
        "cpus": machine.cpus,
        "packages": len(machine.packages),
        "nodes": [{"id": str(n.id), "cpus": n.cpus, "memory_bytes": n.memory_bytes}
                  for n in machine.nodes],
        "settings": evidence.record.head.machine_settings,
    }  # fmt: skip


def _probes(evidence: Evidence) -> list[Probe]:
    return [] if evidence.record is None else evidence.record.head.probes


def _counters(evidence: Evidence) -> Measured[dict[str, Any]]:
    """Hardware events of each executor."""
    if isinstance(evidence.counters, Absent):
        return evidence.counters
    return {
        name: {event: count.document() for event, count in evidence.counters.events[key].items()}
        for name, key in _counted(evidence, evidence.counters)
    }


def _counted(evidence: Evidence, counts: Counts) -> list[tuple[str, Key]]:
    """The JVMs of which perf counted anything, by name."""
    names = {p.key: p.executor_id or "driver" for p in evidence.processes}
    return [(names.get(key, f"pid {key[0]}"), key) for key in counts.events]


def _metrics(evidence: Evidence) -> Measured[dict[str, Any]]:
    """Top-down and Awan's formulas of each JVM, and of the executors (else the driver) in all."""
    counts = evidence.counters
    if isinstance(counts, Absent):
        return counts
    named = _counted(evidence, counts)
    of_total = [(name, key) for name, key in named if name != "driver"] or named
    total = metrics.derive(
        metrics.added((name, counts.events[key]) for name, key in of_total),
        metrics.averaged(counts.metrics.get(key, {}) for _, key in of_total),
    )
    by_name = {
        name: metrics.derive(counts.events[key], counts.metrics.get(key, {})) for name, key in named
    }
    return {"total": total, "by_executor": by_name}


# Executors: what the log, the kernel's samples and the GC log each tell of one.


def _executors(evidence: Evidence) -> list[dict[str, Any]]:
    log = evidence.log if isinstance(evidence.log, EventLog) else EventLog()
    processes = {p.executor_id or "driver": p for p in evidence.processes
                 if p.role in ("executor", "driver")}  # fmt: skip
    names = sorted({*log.executors, *processes}, key=_executor_order)
    return [_executor(evidence, n, log.executors.get(n), processes.get(n), log) for n in names]


def _executor_order(name: str) -> tuple[bool, int, str]:
    number = int(name) if name.isascii() and name.isdigit() and len(name) < 10 else 1 << 31
    return (name != "driver", number, name)


def _executor(
    evidence: Evidence, name: str, told: Executor | None, process: Process | None, log: EventLog
) -> dict[str, Any]:
    told = told or Executor(name)
    heap = "spark.driver.memory" if name == "driver" else "spark.executor.memory"
    added = evidence.seconds(told.added_ms)
    removed = evidence.seconds(told.removed_ms)
    return {
        "id": name,
        "role": "driver" if name == "driver" else "executor",
        "pid": process and process.pid,
        "host": told.host,
        "cpus": process and process.cpus_allowed,
        "nodes": _nodes(evidence, process),
        "policy": process and process.policy,
        "cores": told.slots,
        "heap_setting": log.properties.get(heap),
        "heap_peak_bytes": told.heap_peak_bytes or None,
        "added_s": added if added is not None else process and process.seen_s,
        "removed_s": removed if removed is not None else process and process.gone_s,
        "reason": told.reason,
        "tasks": told.tasks,
        "failed": told.failed,
        "task_time": {"run": told.run_ms, "cpu": told.cpu_ns // 1_000_000, "gc": told.gc_ms},
        **_gc_of(evidence, process, told),
        **_use_of(evidence, process),
        **_memory_of(evidence, process),
    }


def _nodes(evidence: Evidence, process: Process | None) -> Measured[list[str]]:
    if process is None or process.cpus_allowed is None:
        return Absent("no sample of its process")
    return _nodes_of(evidence, process.cpus_allowed)


def _nodes_of(evidence: Evidence, cpus: str) -> list[str]:
    """The nodes to which some CPUs belong."""
    allowed = set(parse_ids(cpus))
    return [n for n, ids in evidence.cpus_of_node.items() if allowed & set(parse_ids(ids))]


def _gc_of(evidence: Evidence, process: Process | None, told: Executor) -> dict[str, Any]:
    logs = evidence.gc
    if isinstance(logs, Absent):
        return {"gc": logs}
    log = logs.get(process.pid) if process else None
    if process is None or log is None:
        return {"gc": Absent(f"there is no GC log of executor {told.id}")}
    # Not to the log's last line: a JVM that does not collect for long logs nothing.
    gone_s = evidence.span_s if process.gone_s is None else process.gone_s
    return {"gc": _gc(log, gone_s - (process.seen_s or 0.0))}


def _gc(log: GcLog, life_s: float) -> dict[str, Any]:
    rounded = {kind: round(ms, 3) for kind, ms in log.pause_ms_by_kind.items()}
    return {
        "collector": log.collector,
        "pauses": log.pauses,
        "pause_ms": round(log.pause_ms, 3),
        "longest_pause_ms": log.longest_pause_ms,
        "share": round(log.pause_ms / 1000 / life_s, 5) if life_s > 0 else None,
        "pause_ms_by_kind": rounded,
        "count_by_kind": log.count_by_kind,
        "count_by_cause": log.count_by_cause,
        "concurrent_ms": round(log.concurrent_ms, 3),
        "allocation_stall_ms": round(log.allocation_stall_ms, 3),
        "heap_after_max_mb": log.heap_after_max_mb,
        "safepoints": log.safepoints,
        "safepoint_ms": round(log.safepoint_ms, 3),
    }


def _use_of(evidence: Evidence, process: Process | None) -> dict[str, Any]:
    if isinstance(evidence.use, Absent):
        return {"use": evidence.use}
    use = evidence.use.get(process.key) if process else None
    if use is None:
        return {"use": Absent("its process was never sampled")}
    ticks = evidence.ticks_per_s
    seconds = {name: use.total(name) for name in ("utime", "stime")}
    return {
        "use": {
            "cpu_s": {"user": _scaled(seconds["utime"], ticks),
                      "system": _scaled(seconds["stime"], ticks)},
            "run_delay_s": _scaled(use.total("run_delay_ns"), 1e9),
            "disk_wait_s": _scaled(use.total("blkio_ticks"), ticks),
            "voluntary": use.total("voluntary"),
            "involuntary": use.total("involuntary"),
            "migrations": _migrations(evidence, process),
            "faults": {"minor": use.total("minflt"), "major": use.total("majflt")},
            "io_bytes": {"read": use.total("read_bytes"), "write": use.total("write_bytes")},
            "rss_max_mb": use.rss_max_kb // 1024,
            "sampled_s": round((use.clock.last_s or 0.0) - (use.first_s or 0.0), 3),
        }
    }  # fmt: skip


def _migrations(evidence: Evidence, process: Process | None) -> Measured[float]:
    """How often the kernel moved a thread to another CPU, where perf counted it."""
    if isinstance(evidence.scheduler, Absent):
        return evidence.scheduler
    counted = evidence.scheduler.events.get(process.key, {}) if process else {}
    count = counted.get("cpu-migrations")
    if count is None:
        return Absent("perf did not count it for this process")
    return count.value if count.intervals else Absent(count.absent or NO_VALUE)


def _scaled(value: float | None, unit: float) -> float | None:
    return None if value is None else round(value / unit, 3)


def _memory_of(evidence: Evidence, process: Process | None) -> dict[str, Any]:
    if isinstance(evidence.memory, Absent):
        return {"memory": evidence.memory}
    memory = evidence.memory.get(process.key) if process else None
    if memory is None:
        return {"memory": Absent("its memory was never sampled")}
    share = memory.share()
    why = "its CPUs span several nodes, and no thread trace tells where it ran"
    return {
        "memory": {
            "local_share": round(share, 4) if share is not None else Absent(why),
            "pages_kb_by_node": memory.last_kb,
            "samples": memory.samples,
        }
    }


# Stages, jobs, tasks.


def _stages(evidence: Evidence) -> Measured[list[dict[str, Any]]]:
    if isinstance(evidence.log, Absent):
        return evidence.log
    stages = evidence.log.stages
    return [_stage(evidence, stages[key]) for key in sorted(stages)]


def _stage(evidence: Evidence, stage: StageTally) -> dict[str, Any]:
    skew = stage.skew()
    quantile = stage.durations.quantile
    return {
        "id": stage.id,
        "attempt": stage.attempt,
        "name": stage.name,
        "submitted_s": evidence.seconds(stage.submitted_ms),
        "completed_s": evidence.seconds(stage.completed_ms),
        "failure": stage.failure and stage.failure.partition("\n")[0][:500],
        "planned_tasks": stage.planned_tasks,
        **_counts(stage.sums),
        "time": stage.sums.time(),
        "spill": stage.sums.spill(),
        "bytes": stage.sums.bytes(),
        "duration": {"p5": quantile(0.05), "p50": quantile(0.5), "p95": quantile(0.95),
                     "max": stage.durations.maximum if stage.durations.count else None},
        "read_bytes": {"p50": stage.read_bytes.quantile(0.5),
                       "max": stage.read_bytes.maximum if stage.read_bytes.count else None},
        "skew": None if skew is None else round(skew, 2),
        "straggler_limit_ms": stage.straggler_limit_ms(),
        "stragglers": stage.stragglers(),
        "locality": stage.locality,
    }  # fmt: skip


def _counts(sums: TaskSums) -> dict[str, int]:
    return {
        "tasks": sums.tasks,
        "failed": sums.failed,
        "killed": sums.killed,
        "speculative": sums.speculative,
    }


def _jobs(evidence: Evidence) -> list[dict[str, Any]]:
    if isinstance(evidence.log, Absent):
        return []
    return [
        {
            "id": job,
            "submitted_s": evidence.seconds(told["submitted_ms"]),
            "completed_s": evidence.seconds(told["completed_ms"]),
            "result": told["result"],
            "sql": told["sql"],
            "description": told["description"],
        }
        for job, told in sorted(evidence.log.jobs.items())
    ]


def _sql(evidence: Evidence) -> list[dict[str, Any]]:
    if isinstance(evidence.log, Absent):
        return []
    return [
        {
            "id": execution,
            "description": told["description"],
            "submitted_s": evidence.seconds(told["submitted_ms"]),
            "completed_s": evidence.seconds(told["completed_ms"]),
        }
        for execution, told in sorted(evidence.log.sql.items())
    ]


def _totals(evidence: Evidence) -> Measured[dict[str, Any]]:
    log = evidence.log
    if isinstance(log, Absent):
        return log
    sums = log.totals()
    slots = step_function(log)
    slot_ms = sum(count * (end - start) for start, end, count in slots)
    held_ms = sums.duration_ms + sum(
        (log.last_ms or 0) - launch_ms for _, _, launch_ms, _ in log.running.values()
    )
    idle = 1 - held_ms / slot_ms if slot_ms else None
    return {
        **_counts(sums),
        "running": len(log.running),
        "time": sums.time(),
        "spill": sums.spill(),
        "bytes": sums.bytes(),
        "wall_s": round(((log.last_ms or 0) - (log.first_ms or 0)) / 1000, 3),
        "slots": max((count for _, _, count in slots), default=None),
        "slot_s": round(slot_ms / 1000, 3),
        "idle_slot_share": None if idle is None else round(max(idle, 0.0), 4),
        "streaming_batches": log.streaming_batches,
    }


def _system(evidence: Evidence) -> Measured[dict[str, Any]]:
    system = evidence.system
    if isinstance(system, Absent):
        return system
    return {
        "cpu_s": system.cpu_seconds(evidence.ticks_per_s),
        "numastat": system.grown("numastat"),
        "vmstat": system.grown("vmstat"),
    }


def _tasks(evidence: Evidence) -> Measured[dict[str, Any]]:
    log = evidence.log
    if isinstance(log, Absent):
        return log
    columns = log.rows.columns
    names = list(log.rows.executors)
    slow = {task for stage in log.stages.values() for task in stage.stragglers()}
    origin = evidence.origin_ms
    sample = {
        "stride": log.rows.stride,
        "executors": names,
        "task": columns["task"].tolist(),
        "executor": columns["executor"].tolist(),
        "slot": columns["slot"].tolist(),
        "start_s": [(ms - origin) / 1000 for ms in columns["start_ms"]],
        "end_s": [(ms - origin) / 1000 for ms in columns["end_ms"]],
        "stage": columns["stage"].tolist(),
        "attempt": columns["attempt"].tolist(),
        "state": [STATES[state] for state in columns["state"]],
        "straggler": [task in slow for task in columns["task"]],
    }
    _add_running(evidence, log, sample)
    return sample


def _add_running(evidence: Evidence, log: EventLog, sample: dict[str, Any]) -> None:
    """Tasks that started and never ended, to the end of the log."""
    slots: dict[str, Slots] = {}
    for task, (stage, attempt, launch_ms, executor) in sorted(log.running.items()):
        if executor not in sample["executors"]:
            sample["executors"].append(executor)
        end_ms = log.last_ms or launch_ms
        slot = slots.setdefault(executor, Slots()).take(launch_ms, end_ms)
        row = {
            "task": task, "executor": sample["executors"].index(executor), "slot": slot,
            "start_s": evidence.seconds(launch_ms), "end_s": evidence.seconds(end_ms),
            "stage": stage, "attempt": attempt, "state": "running", "straggler": False,
        }  # fmt: skip
        for name, value in row.items():
            sample[name].append(value)


def _threads(evidence: Evidence) -> Measured[dict[str, Any]]:
    threads = evidence.threads
    if isinstance(threads, Absent):
        return threads
    return {
        "stride": threads.stride,
        "columns": threads.columns,
        "names": _thread_names(threads),
        "node_transitions": threads.node_transitions,
        "cpu_transitions": threads.cpu_transitions,
        "observations": threads.observations,
    }


def _thread_names(threads: Threads) -> list[dict[str, Any]]:
    return [{"pid": pid, "tid": tid, "name": name, "kind": kind}
            for (pid, tid), (name, kind) in sorted(threads.names.items())]  # fmt: skip
