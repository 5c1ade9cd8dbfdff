"""Compose what a record holds to one document (`hearth.analysis.document`)."""

import re
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

from hearth.analysis import metrics
from hearth.analysis.cache import key_of, read_cached, write_cached
from hearth.analysis.counter_samples import Counts, read_counts
from hearth.analysis.document import (
    AnalysedMachine,
    AnalysedRun,
    Analysis,
    Counted,
    Durations,
    Metrics,
    Node,
    Phases,
    Places,
    ReadBytes,
    Sql,
    Stage,
    StageWidth,
    TasksSample,
    ThreadName,
    ThreadTrace,
    Totals,
)
from hearth.analysis.eventlog import EventLog, LoggedSql
from hearth.analysis.evidence import Evidence, gather, gather_event_log
from hearth.analysis.executors import executors
from hearth.analysis.failure import cause_of
from hearth.analysis.findings import findings
from hearth.analysis.samples import Key, SampleFile
from hearth.analysis.sqlplan import resolved
from hearth.analysis.stages import StageTally
from hearth.analysis.taskrows import STATES, Slots
from hearth.analysis.timeline import step_function, timeline
from hearth.base.absent import Absent, Measured
from hearth.base.ids import parse_ids
from hearth.base.redaction import Redaction
from hearth.record.schema import CpuGroup
from hearth.record.store import read_record

#: Of Spark's settings those that decide how fast it runs, in the order in which to read them.
TELLING = (
    "spark.executor.instances",
    "spark.executor.cores",
    "spark.executor.memory",
    "spark.memory.offHeap.size",
    "spark.driver.memory",
    "spark.default.parallelism",
    "spark.sql.shuffle.partitions",
    "spark.sql.adaptive.enabled",
    "spark.dynamicAllocation.enabled",
    "spark.speculation",
    "spark.serializer",
    "spark.shuffle.manager",
    "spark.memory.fraction",
    "spark.local.dir",
)
#: Parts that hold no text of the user's, and much else.
_NUMBERS = ("timeline", "tasks_sample", "counters", "metrics")


def analyse(directory: Path) -> Analysis:
    """Return the analysis of one record, kept beside it.

    Raise UserError where the directory is none.
    """
    record = read_record(directory.resolve())
    key = key_of(record)
    analysis = read_cached(record, key)
    if analysis is None:
        analysis = compose(gather(record.directory))
        write_cached(record, key, analysis)
    return analysis


def analyse_counted_after(directory: Path, wall_ms: int) -> Analysis:
    """Return the analysis of one record whose counters begin at a moment, in ms since 1970."""
    evidence = gather(directory.resolve())
    if evidence.record is None or isinstance(evidence.counters, Absent):
        return analyse(directory)
    after_s = wall_ms / 1000 - evidence.record.head.clock.wall_ns / 1e9
    samples = SampleFile(evidence.record.directory / "samples" / "counters.jsonl")
    evidence.counters = read_counts(samples, after_s)
    return replace(analyse(directory), counters=_counters(evidence), metrics=_metrics(evidence))


def analyse_event_log(path: Path) -> Analysis:
    """Return the analysis of a bare event log, of hearth's making or not.

    Raise UserError without one.
    """
    return compose(gather_event_log(path))


def compose(evidence: Evidence) -> Analysis:
    """Return the document, from evidence that was read before."""
    analysis = Analysis(
        schema="hearth/analysis/1",
        record=_run(evidence),
        machine=_machine(evidence),
        probes=[] if evidence.record is None else evidence.record.head.probes,
        warnings=evidence.warnings,
        executors=executors(evidence),
        stages=_stages(evidence),
        sql=_sql(evidence),
        totals=_totals(evidence),
        vmstat=_vmstat(evidence),
        timeline=timeline(evidence),
        tasks_sample=_tasks(evidence),
        threads=_threads(evidence),
        counters=_counters(evidence),
        metrics=_metrics(evidence),
        hand_overs=evidence.hand_overs,
        phases=_phases(evidence),
    )
    analysis = replace(analysis, findings=findings(analysis))
    redaction = Redaction.of(_settings(evidence))
    shown = [each.name for each in fields(Analysis) if each.name not in _NUMBERS]
    return replace(
        analysis, **{name: redaction.document(getattr(analysis, name)) for name in shown}
    )


def _settings(evidence: Evidence) -> dict[str, str]:
    if evidence.record is not None:
        return evidence.record.head.configuration
    return evidence.log.properties if isinstance(evidence.log, EventLog) else {}


def _run(evidence: Evidence) -> AnalysedRun:
    log, record = evidence.log, evidence.record
    known = log if isinstance(log, EventLog) else EventLog()
    head = record.head if record else None
    master = known.properties.get("spark.master")
    return AnalysedRun(
        id=record.id if record else None,
        application=head.application if head else known.name,
        application_id=known.application_id,
        spark_version=known.spark_version,
        java_version=known.java_version,
        arguments=head.arguments if head else [],
        master=(head.master if head else None) or master,
        arm=head.arm if head else None,
        state=record.state if record else "finished" if known.ended else "unfinished",
        started=head.started if head else None,
        wall_s=round(evidence.span_s, 3),
        exit_code=record.end.exit_code if record and record.end else None,
        settings=_telling({**(head.configuration if head else {}), **known.properties}),
    )


def _telling(settings: dict[str, str]) -> dict[str, str]:
    """Return the settings of a run that decide its speed; what Spark reports takes precedence."""
    return {name: settings[name] for name in TELLING if name in settings}


def _machine(evidence: Evidence) -> Measured[AnalysedMachine]:
    if evidence.record is None:
        return Absent("an event log does not describe the machine")
    machine = evidence.record.machine
    if isinstance(machine, Absent):
        return machine
    return AnalysedMachine(
        architecture=machine.architecture,
        cpus=machine.cpus,
        packages=len(machine.packages),
        nodes=[
            Node(
                str(node.id),
                node.cpus,
                node.memory_bytes,
                cores=_within(node.cpus, machine.cores),
                caches=_within(node.cpus, machine.caches),
            )
            for node in machine.nodes
        ],
        settings=evidence.record.head.machine_settings,
        processor=machine.processor or Absent("the kernel's /proc/cpuinfo names none"),
    )


def _within(cpus: str, groups: Sequence[CpuGroup]) -> list[str]:
    """Return those of the groups that have CPUs among these."""
    wanted = set(parse_ids(cpus))
    return [group.cpus for group in groups if not wanted.isdisjoint(parse_ids(group.cpus))]


def _counters(evidence: Evidence) -> Measured[dict[str, dict[str, Measured[Counted]]]]:
    """Return hardware events of each executor."""
    if isinstance(evidence.counters, Absent):
        return evidence.counters
    return {
        name: {event: count.measured() for event, count in evidence.counters.events[key].items()}
        for name, key in _counted(evidence, evidence.counters)
    }


def _counted(evidence: Evidence, counts: Counts) -> list[tuple[str, Key]]:
    """Return the JVMs of which perf counted anything, by name."""
    names = {p.key: p.executor_id or "driver" for p in evidence.processes}
    return [(names.get(key, f"pid {key[0]}"), key) for key in counts.events]


def _metrics(evidence: Evidence) -> Measured[Metrics]:
    """Return top-down and Awan's formulas of each JVM, and of all executors (or the driver)."""
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
    return Metrics(total, by_name)


def _stages(evidence: Evidence) -> Measured[list[Stage]]:
    if isinstance(evidence.log, Absent):
        return evidence.log
    stages = evidence.log.stages
    return [_stage(evidence, stages[key]) for key in sorted(stages)]


def _stage(evidence: Evidence, stage: StageTally) -> Stage:
    skew, sums = stage.skew(), stage.sums
    durations, read = stage.durations, stage.read_bytes
    return Stage(
        id=stage.id,
        attempt=stage.attempt,
        name=stage.name,
        submitted_s=evidence.seconds(stage.submitted_ms),
        completed_s=evidence.seconds(stage.completed_ms),
        failure=stage.failure and cause_of(stage.failure),
        tasks=sums.tasks,
        failed=sums.failed,
        killed=sums.killed,
        time=sums.time(),
        spill=sums.spill(),
        bytes=sums.bytes(),
        duration=Durations(
            p5=durations.quantile(0.05),
            p50=durations.quantile(0.5),
            p95=durations.quantile(0.95),
            max=durations.maximum if durations.count else None,
        ),
        read_bytes=ReadBytes(read.quantile(0.5), read.maximum if read.count else None),
        skew=None if skew is None else round(skew, 2),
        stragglers=stage.stragglers(),
        straggler_cause=stage.straggler_cause(),
        sql=stage.sql,
        operators=_operators(evidence, stage),
        label=_label(evidence, stage),
        widths=[
            StageWidth(evidence.seconds(at_ms), tasks, planned, because)
            for at_ms, tasks, planned, because in stage.widths
        ],
    )


#: Of a query's description and of a stage's operators in its label, in characters.
_DESCRIPTION, _OPERATORS = 60, 80
#: What Spark calls a query that the user gave no description: where it was started.
_CALL_SITE = re.compile(r"(?<!\S)\S+ at \S+:\d+")


def _query(evidence: Evidence, stage: StageTally) -> LoggedSql | None:
    log = evidence.log
    return log.sql.get(stage.sql) if isinstance(log, EventLog) and stage.sql is not None else None


def _operators(evidence: Evidence, stage: StageTally) -> list[str]:
    query = _query(evidence, stage)
    return stage.operators if query is None else resolved(stage.operators, query.plan)


def _label(evidence: Evidence, stage: StageTally) -> str | None:
    """Return a stage of a query by its operators and the query's description, else by its name."""
    query = _query(evidence, stage)
    if query is None:
        return stage.name
    chain = " <- ".join(reversed(_operators(evidence, stage)))[:_OPERATORS]
    description = query.description.partition("\n")[0][:_DESCRIPTION]
    if chain and _CALL_SITE.fullmatch(description):
        return chain
    return f"{chain} ({description})" if chain and description else chain or description


def _sql(evidence: Evidence) -> list[Sql]:
    if isinstance(evidence.log, Absent):
        return []
    return [
        Sql(
            id=number,
            description=execution.description,
            submitted_s=evidence.seconds(execution.submitted_ms),
            completed_s=evidence.seconds(execution.completed_ms),
        )
        for number, execution in sorted(evidence.log.sql.items())
    ]


def _totals(evidence: Evidence) -> Measured[Totals]:
    log = evidence.log
    if isinstance(log, Absent):
        return log
    sums = log.totals()
    slots = step_function(log)
    first_ms, last_ms = log.first_task_ms or 0, log.last_task_ms or 0
    slot_ms = sum(
        count * max(min(end, last_ms) - max(start, first_ms), 0) for start, end, count in slots
    )
    held_ms = sums.duration_ms + sum(
        (log.last_ms or 0) - launch_ms for _, _, launch_ms, _ in log.running.values()
    )
    idle = 1 - held_ms / slot_ms if slot_ms else None
    return Totals(
        tasks=sums.tasks,
        failed=sums.failed,
        killed=sums.killed,
        running=len(log.running),
        time=sums.time(),
        spill=sums.spill(),
        bytes=sums.bytes(),
        wall_s=round(((log.last_ms or 0) - (log.first_ms or 0)) / 1000, 3),
        slots=max((count for _, _, count in slots), default=None),
        idle_slot_share=None if idle is None else round(max(idle, 0.0), 4),
    )


def _phases(evidence: Evidence) -> Measured[Phases]:
    """Return the parts of the run."""
    log = evidence.log
    if isinstance(log, Absent):
        return log
    if log.first_task_ms is None or log.last_task_ms is None:
        return Absent("no task is in the event log")
    whole, tasks = evidence.span_s, log.tasks_ms / 1000
    start = min(max(evidence.seconds(log.first_task_ms), 0.0), whole)
    end = min(max(evidence.seconds(log.last_task_ms), start), whole)
    tasks = min(tasks, end - start)
    if log.running and evidence.record is not None and evidence.record.running:
        tasks, end = tasks + whole - end, whole
    parts = (start, tasks, end - start - tasks, whole - end)
    return Phases(*(round(part, 3) for part in parts))


def _vmstat(evidence: Evidence) -> Measured[dict[str, float]]:
    system = evidence.system
    return system if isinstance(system, Absent) else system.vmstat_growth()


def _tasks(evidence: Evidence) -> Measured[TasksSample]:
    log = evidence.log
    if isinstance(log, Absent):
        return log
    columns = log.rows.columns
    slow = {task for stage in log.stages.values() for task in stage.stragglers()}
    origin = evidence.origin_ms
    sample = TasksSample(
        stride=log.rows.stride,
        executors=list(log.rows.executors),
        task=columns["task"].tolist(),
        executor=columns["executor"].tolist(),
        slot=columns["slot"].tolist(),
        start_s=[(ms - origin) / 1000 for ms in columns["start_ms"]],
        end_s=[(ms - origin) / 1000 for ms in columns["end_ms"]],
        stage=columns["stage"].tolist(),
        attempt=columns["attempt"].tolist(),
        state=[STATES[state] for state in columns["state"]],
        straggler=[task in slow for task in columns["task"]],
    )
    _add_running(evidence, log, sample)
    return sample


def _add_running(evidence: Evidence, log: EventLog, sample: TasksSample) -> None:
    """Add the tasks that started and never ended, to the end of the log."""
    slots: dict[str, Slots] = {}
    for task, (stage, attempt, launch_ms, executor) in sorted(log.running.items()):
        if executor not in sample.executors:
            sample.executors.append(executor)
        end_ms = log.last_ms or launch_ms
        sample.task.append(task)
        sample.executor.append(sample.executors.index(executor))
        sample.slot.append(slots.setdefault(executor, Slots()).take(launch_ms, end_ms))
        sample.start_s.append(evidence.seconds(launch_ms))
        sample.end_s.append(evidence.seconds(end_ms))
        sample.stage.append(stage)
        sample.attempt.append(attempt)
        sample.state.append("running")
        sample.straggler.append(False)


def _threads(evidence: Evidence) -> Measured[ThreadTrace]:
    threads = evidence.threads
    if isinstance(threads, Absent):
        return threads
    return ThreadTrace(
        stride=threads.stride,
        columns=Places(**threads.columns),
        names=[
            ThreadName(pid, tid, name, kind)
            for (pid, tid), (name, kind) in sorted(threads.names.items())
        ],
        node_transitions=threads.node_transitions,
    )
