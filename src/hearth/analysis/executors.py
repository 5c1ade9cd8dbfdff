"""Executors: what the event log, the kernel's samples and the GC log each say of one."""

from hearth.analysis.document import Executor, Gc, Use
from hearth.analysis.eventlog import EventLog, LoggedExecutor
from hearth.analysis.evidence import Evidence, Process
from hearth.base.absent import Absent, Measured
from hearth.base.ids import parse_ids


def executors(evidence: Evidence) -> list[Executor]:
    """Return the driver first, then by number."""
    log = evidence.log if isinstance(evidence.log, EventLog) else EventLog()
    processes = {p.executor_id or "driver": p for p in evidence.processes
                 if p.role in ("executor", "driver")}  # fmt: skip
    names = sorted({*log.executors, *processes}, key=_order)
    return [_executor(evidence, n, log.executors.get(n), processes.get(n), log) for n in names]


def _order(name: str) -> tuple[bool, int, str]:
    number = int(name) if name.isascii() and name.isdigit() and len(name) < 10 else 1 << 31
    return (name != "driver", number, name)


def _executor(
    evidence: Evidence,
    name: str,
    logged: LoggedExecutor | None,
    process: Process | None,
    log: EventLog,
) -> Executor:
    logged = logged or LoggedExecutor(name)
    heap = "spark.driver.memory" if name == "driver" else "spark.executor.memory"
    added = evidence.seconds(logged.added_ms)
    removed = evidence.seconds(logged.removed_ms)
    return Executor(
        id=name,
        role="driver" if name == "driver" else "executor",
        pid=process.pid if process else None,
        cpus=process.cpus_allowed if process else None,
        nodes=_nodes(evidence, process),
        policy=process.policy if process else None,
        cores=logged.slots,
        heap_setting=log.properties.get(heap),
        heap_peak_bytes=logged.heap_peak_bytes or None,
        added_s=process.seen_s if added is None and process else added,
        removed_s=process.gone_s if removed is None and process else removed,
        reason=logged.reason,
        tasks=logged.tasks,
        failed=logged.failed,
        gc=_gc(evidence, process, name),
        use=_use(evidence, process),
        local_share=_local_share(evidence, process),
    )


def _nodes(evidence: Evidence, process: Process | None) -> Measured[list[str]]:
    """Return the nodes to which its CPUs belong."""
    if process is None or process.cpus_allowed is None:
        return Absent("no sample of its process")
    allowed = set(parse_ids(process.cpus_allowed))
    return [n for n, ids in evidence.cpus_of_node.items() if allowed & set(parse_ids(ids))]


def _gc(evidence: Evidence, process: Process | None, name: str) -> Measured[Gc]:
    logs = evidence.gc
    if isinstance(logs, Absent):
        return logs
    log = logs.get(process.pid) if process else None
    if process is None or log is None:
        return Absent(f"there is no GC log of executor {name}")
    return Gc(
        collector=log.collector,
        pauses=log.pauses,
        pause_ms=round(log.pause_ms, 3),
        allocation_stall_ms=round(log.allocation_stall_ms, 3),
        heap_after_max_mb=log.heap_after_max_mb,
    )


def _use(evidence: Evidence, process: Process | None) -> Measured[Use]:
    if isinstance(evidence.use, Absent):
        return evidence.use
    use = evidence.use.get(process.key) if process else None
    if process is None or use is None:
        return Absent("its process was never sampled")
    ticks, total = evidence.ticks_per_s, use.total
    return Use(
        cpu_s=_scaled(total("utime", "stime"), ticks),
        run_delay_s=_scaled(total("run_delay_ns"), 1e9),
        voluntary=total("voluntary"),
        involuntary=total("involuntary"),
        minor_faults=total("minflt"),
        major_faults=total("majflt"),
        written_bytes=total("write_bytes"),
        rss_max_mb=use.rss_max_kb // 1024,
    )


def _scaled(value: float | None, unit: float) -> float | None:
    return None if value is None else round(value / unit, 3)


def _local_share(evidence: Evidence, process: Process | None) -> Measured[float]:
    if isinstance(evidence.memory, Absent):
        return evidence.memory
    memory = evidence.memory.get(process.key) if process else None
    if memory is None:
        return Absent("its memory was never sampled")
    share = memory.share()
    why = "its CPUs span several nodes, and there is no thread trace to show where it ran"
    return Absent(why) if share is None else round(share, 4)
