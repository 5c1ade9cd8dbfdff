"""Read a Spark event log, of any size, once and in bounded memory.

The events are those of Spark 4.3's JsonProtocol. What no figure needs is skipped before it is
parsed, by the event's name; of a task's end, its accumulables, most of the line, are cut out.
Nothing in a log is fatal: what cannot be read is counted and reported in `EventLog.warnings`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from hearth.analysis.coverage import Coverage
from hearth.analysis.event_checks import LATEST_MS, maybe, moment, text, whole
from hearth.analysis.logfile import MOST_BYTES, LineSource, event_log_parts
from hearth.analysis.sqlplan import PlanNode, read_plan
from hearth.analysis.stages import MOST_WIDTHS, StageTally, TaskSums, check_task
from hearth.analysis.taskrows import TaskRows
from hearth.base.sizes import counted

#: Stages listed one by one: those with the most run time. The sums cover all of them.
MOST_STAGES = 5000
MOST_SQL = 10_000
MOST_OPERATORS = 50
#: Of the whole log, and without an event: no application writes more.
MOST_LINES = 100_000_000
MOST_FOREIGN_LINES = 1_000_000

_PREFIX = b'{"Event":"'
_SQL = "org.apache.spark.sql.execution.ui."
_WIDTH = "io.hearth.width.StageWidthFound"
_STREAMING = "org.apache.spark.sql.streaming.StreamingQueryListener$"
_HEAP = "JVMHeapMemory"
_DIGITS = re.compile(r"[0-9]{1,18}")
_STARTED = re.compile(
    rb'\A(?>.*?"Stage ID":)(\d{1,18}),"Stage Attempt ID":(\d{1,18}),'
    rb'"Task Info":\{"Task ID":(\d{1,18}),(?>.*?"Launch Time":)(\d{1,13}),"Executor ID":"([^"]*)"'
)

#: Known to Spark 4.3, and without anything that the analysis needs.
_SKIPPED = frozenset(
    (
        "SparkListenerBlockManagerAdded", "SparkListenerBlockManagerRemoved",
        "SparkListenerBlockUpdated", "SparkListenerExecutorMetricsUpdate",
        "SparkListenerJobStart", "SparkListenerJobEnd", "SparkListenerJobStartWithFullStages",
        "SparkListenerNodeExcluded",
        "SparkListenerNodeUnexcluded", "SparkListenerResourceProfileAdded",
        "SparkListenerSpeculativeTaskSubmitted", "SparkListenerTaskGettingResult",
        "SparkListenerUnpersistRDD", "SparkListenerUnschedulableTaskSetAdded",
        "SparkListenerUnschedulableTaskSetRemoved", "SparkListenerMiscellaneousProcessAdded",
        "SparkListenerExecutorExcluded", "SparkListenerExecutorUnexcluded",
        "SparkListenerExecutorExcludedForStage", "SparkListenerNodeExcludedForStage",
        _SQL + "SparkListenerSQLAdaptiveSQLMetricUpdates", _SQL + "SparkListenerDriverAccumUpdates",
        *(_STREAMING + f"Query{what}Event" for what in ("Started", "Progress", "Idle")),
        _STREAMING + "QueryTerminatedEvent",
    )
)  # fmt: skip


@dataclass
class LoggedExecutor:
    """One executor as the log has it; times are wall-clock milliseconds."""

    id: str
    slots: int | None = None
    added_ms: int | None = None
    removed_ms: int | None = None
    reason: str | None = None
    tasks: int = 0
    failed: int = 0
    heap_peak_bytes: int = 0


@dataclass
class LoggedSql:
    """One SQL execution."""

    submitted_ms: int
    description: str
    completed_ms: int | None = None
    plan: list[PlanNode] = field(default_factory=list)


@dataclass
class EventLog:
    """The content of one event log; ended: whether the application's end is in it."""

    application_id: str | None = None
    name: str | None = None
    spark_version: str | None = None
    java_version: str | None = None
    start_ms: int | None = None
    ended: bool = False
    first_ms: int | None = None
    last_ms: int | None = None
    properties: dict[str, str] = field(default_factory=dict)
    executors: dict[str, LoggedExecutor] = field(default_factory=dict)
    stages: dict[tuple[int, int], StageTally] = field(default_factory=dict)
    sql: dict[int, LoggedSql] = field(default_factory=dict)
    dropped: TaskSums = field(default_factory=TaskSums)
    stages_dropped: int = 0
    running: dict[int, tuple[int, int, int, str]] = field(default_factory=dict)
    running_over_time: Coverage | None = None
    ended_over_time: Coverage | None = None  #: tasks a second, each spread over its time
    first_task_ms: int | None = None
    last_task_ms: int | None = None
    tasks_ms: int = 0  # in which at least one task ran
    rows: TaskRows = field(default_factory=TaskRows)
    warnings: list[str] = field(default_factory=list)
    events: int = 0
    foreign_lines: int = 0
    bytes_read: int = 0

    def totals(self) -> TaskSums:
        """Return the sums over all tasks that ended."""
        sums = TaskSums()
        sums.merge(self.dropped)
        for stage in self.stages.values():
            sums.merge(stage.sums)
        return sums


def read_event_log(path: Path, origin_ms: int | None = None, step_ms: int = 100) -> EventLog:
    """Read a file, a rolled directory or a directory that holds one of them.

    `origin_ms` (wall clock) and `step_ms` set the axis of `running_over_time`; without an origin
    it is the application's start.
    Raises UserError where there is no event log at that path, or in a compression that cannot be
    read here. Any other problem becomes a warning.
    """
    reader = _Reader(origin_ms, step_ms)
    for part in event_log_parts(path):
        if not reader.read(part):
            break
    return reader.finish(path)


def task_state(reason: str) -> str:
    """Return how Spark's UI counts an ended task (AppStatusListener.onTaskEnd)."""
    if reason == "Success":
        return "success"
    return "killed" if reason in ("TaskKilled", "TaskCommitDenied") else "failed"


def parse_task_end(line: bytes) -> dict[str, Any]:
    """Return the event without its accumulables, which repeat the metrics and are most of its
    length.

    A quote inside a JSON string is escaped, so the two keys cannot be matched inside of one.
    """
    cut = line.find(b'"Accumulables":[')
    resume = line.find(b'"Task Metrics":', cut)
    if cut < 0 or resume < 0:
        return _loaded(line)
    return _loaded(line[:cut] + b'"_":0},' + line[resume:])


def _loaded(line: bytes) -> dict[str, Any]:
    event: dict[str, Any] = orjson.loads(line)
    return event


class _Reader:
    def __init__(self, origin_ms: int | None, step_ms: int) -> None:
        self.log = EventLog()
        self._origin_ms, self._step_ms = origin_ms, step_ms
        self._busy_from_ms: int | None = None
        self._backwards = 0
        self._malformed = 0
        self._lines = 0
        self._unknown: dict[str, int] = {}
        self._handlers: dict[str, Callable[[bytes], None]] = {
            "SparkListenerTaskStart": self._task_start,
            "SparkListenerTaskEnd": self._task_end,
            "SparkListenerLogStart": self._parsed(self._log_start),
            "SparkListenerApplicationStart": self._parsed(self._application_start),
            "SparkListenerApplicationEnd": self._parsed(self._application_end),
            "SparkListenerEnvironmentUpdate": self._parsed(self._environment),
            "SparkListenerExecutorAdded": self._parsed(self._executor_added),
            "SparkListenerExecutorRemoved": self._parsed(self._executor_removed),
            "SparkListenerStageExecutorMetrics": self._parsed(self._executor_peaks),
            "SparkListenerStageSubmitted": self._parsed(self._stage),
            "SparkListenerStageCompleted": self._parsed(self._stage_completed),
            _WIDTH: self._parsed(self._stage_width),
            _SQL + "SparkListenerSQLExecutionStart": self._parsed(self._sql_start),
            _SQL + "SparkListenerSQLExecutionEnd": self._parsed(self._sql_end),
            _SQL + "SparkListenerSQLAdaptiveExecutionUpdate": self._parsed(self._sql_plan),
        }
        self._handlers.update(dict.fromkeys(_SKIPPED, _nothing))

    def read(self, part: Path) -> bool:
        """Take in one file of the log; return whether more may be read."""
        source = LineSource(part, MOST_BYTES - self.log.bytes_read)
        unreadable = b""
        for line in source:
            self._lines += 1
            if self._lines > MOST_LINES or self.log.foreign_lines > MOST_FOREIGN_LINES:
                source.endless = True
                break
            if not self._take(line):
                unreadable = line
                self._malformed += 1
        if source.truncated:
            self.log.warnings.append(f"{part.name} breaks off in the middle of an event")
            self._malformed -= bool(unreadable) and not unreadable.endswith(b"\n")
        if source.oversized:
            self.log.warnings.append(f"{part.name}: {source.oversized} overlong lines skipped")
        self.log.bytes_read += source.bytes_read
        if source.endless:
            self.log.warnings.append(
                f"{part.name}: what follows {self._lines} lines is not read: the limits are "
                f"{MOST_BYTES >> 30} GB, {MOST_LINES} lines, and {MOST_FOREIGN_LINES} without an "
                "event"
            )
        return not source.endless

    def finish(self, path: Path) -> EventLog:
        """Judge the whole: what was missing, foreign or unknown."""
        log, warn = self.log, self.log.warnings.append
        self._count_running()
        if log.events == 0:
            warn(f"{path.name} holds no Spark events: it is empty or a different kind of file")
        elif log.start_ms is None:
            warn("the log lacks the application's start")
        if log.events and not log.ended:
            warn("the log lacks the application's end: it was killed, or still runs")
        if log.foreign_lines:
            warn(f"{counted(log.foreign_lines, 'line')} without a Spark event")
        if self._malformed:
            warn(f"{counted(self._malformed, 'unreadable event')} skipped")
        if self._backwards:
            tasks = counted(self._backwards, "task")
            warn(f"{tasks} with an end before the start: the clock was set back")
        for name, count in sorted(self._unknown.items()):
            warn(f"{counted(count, 'event')} of the unknown kind {name} skipped")
        if log.stages_dropped:
            warn(f"{counted(log.stages_dropped, 'short stage')} counted in the sums only")
        return log

    def _count_running(self) -> None:
        """Count tasks that started and never ended: they held their slots to the end of the log."""
        for _, _, launch_ms, _ in self.log.running.values():
            self._cover(launch_ms, self.log.last_ms or launch_ms, ended=False)
        if self._busy_from_ms is not None:
            self._no_task_from(self._busy_from_ms, self.log.last_ms or 0)

    def _no_task_from(self, launch_ms: int, finish_ms: int) -> None:
        """Count a span in which tasks ran, from when none did before to when none does any more.

        In the order of the log; what overlaps a span before is counted once.
        """
        log, self._busy_from_ms = self.log, None
        since_ms = launch_ms if log.last_task_ms is None else max(launch_ms, log.last_task_ms)
        log.tasks_ms += max(finish_ms - since_ms, 0)
        log.first_task_ms = min(launch_ms, log.first_task_ms or launch_ms)
        log.last_task_ms = max(finish_ms, log.last_task_ms or finish_ms)

    def _cover(self, launch_ms: int, finish_ms: int, ended: bool = True) -> None:
        log = self.log
        if log.running_over_time is None or log.ended_over_time is None:
            origin = log.start_ms or launch_ms if self._origin_ms is None else self._origin_ms
            log.running_over_time = Coverage(origin, self._step_ms)
            log.ended_over_time = Coverage(origin, self._step_ms)
        log.running_over_time.add(launch_ms, finish_ms)
        log.ended_over_time.reach(finish_ms)
        if ended and finish_ms > launch_ms:
            log.ended_over_time.add(launch_ms, finish_ms, 1000 / (finish_ms - launch_ms))

    def _take(self, line: bytes) -> bool:
        if not line.startswith(_PREFIX):
            self.log.foreign_lines += line.endswith(b"\n")
            return True
        name = line[10 : line.find(b'"', 10)].decode("utf-8", "replace")
        handler = self._handlers.get(name)
        if handler is None:
            if line.endswith(b"\n"):
                self._note_unknown(name)
            return True
        try:
            handler(line)
        except (KeyError, TypeError, AttributeError, ValueError):  # of which JSON's is one
            return False
        self.log.events += 1
        return True

    def _note_unknown(self, name: str) -> None:
        known = name if name in self._unknown or len(self._unknown) < 20 else "(others)"
        self._unknown[known[:120]] = self._unknown.get(known[:120], 0) + 1

    def _parsed(self, handler: Callable[[dict[str, Any]], object]) -> Callable[[bytes], None]:
        def parsed(line: bytes) -> None:
            handler(orjson.loads(line))

        return parsed

    def _at(self, time_ms: int) -> None:
        log = self.log
        if log.first_ms is None or log.last_ms is None:
            log.first_ms = log.last_ms = time_ms
        elif time_ms > log.last_ms:
            log.last_ms = time_ms

    # Tasks: the events of which there are many.

    def _task_start(self, line: bytes) -> None:
        match = _STARTED.search(line)
        if match is None:
            raise ValueError("a task's start of another form")
        stage, attempt, task, launch, executor = match.groups()
        where = (int(stage), int(attempt), int(launch), executor.decode("utf-8", "replace"))
        if where[2] > LATEST_MS:
            raise ValueError("no time")
        if not self.log.running:
            self._busy_from_ms = where[2]
        self.log.running[int(task)] = where
        self._at(where[2])

    def _task_end(self, line: bytes) -> None:
        event = parse_task_end(line)
        info, metrics = event["Task Info"], event.get("Task Metrics") or {}
        stage, attempt = event["Stage ID"], event["Stage Attempt ID"]
        reason, name = event["Task End Reason"]["Reason"], info["Executor ID"]
        check_task((stage, attempt), (reason, name), info, metrics)
        state = task_state(reason)
        log = self.log
        self._executor(name)
        tally, executor = self._tally(stage, attempt), log.executors[name]
        tally.add(info, metrics, state)
        executor.tasks += 1
        executor.failed += state == "failed"
        log.running.pop(info["Task ID"], None)
        slots = None if executor.slots is None else tally.at_once(executor.slots)
        log.rows.add(stage, attempt, info, state, slots)
        launch, finish = info["Launch Time"], info["Finish Time"]
        if not log.running:
            busy_from = self._busy_from_ms
            self._no_task_from(launch if busy_from is None else min(busy_from, launch), finish)
        self._backwards += finish < launch
        self._cover(launch, finish)
        self._at(launch)
        self._at(finish)

    def _tally(self, stage: int, attempt: int) -> StageTally:
        key = (stage, attempt)
        tally = self.log.stages.get(key)
        if tally is None:
            if len(self.log.stages) >= 2 * MOST_STAGES:
                self._drop_small_stages()
            tally = self.log.stages[key] = StageTally(stage, attempt)
        return tally

    def _drop_small_stages(self) -> None:
        """Keep the stages with the most run time, and before all those that still run."""
        stages = self.log.stages
        order = sorted(
            stages, key=lambda k: (stages[k].completed_ms is None, stages[k].sums.run_ms)
        )
        for key in order[: max(len(stages) - MOST_STAGES, 0)]:
            self.log.dropped.merge(stages.pop(key).sums)
            self.log.stages_dropped += 1

    # The application, its executors and stages.

    def _log_start(self, event: dict[str, Any]) -> None:
        self.log.spark_version = text(event, "Spark Version")

    def _application_start(self, event: dict[str, Any]) -> None:
        name, application = text(event, "App Name"), maybe(text, event, "App ID")
        self.log.start_ms = moment(event, "Timestamp")
        self.log.name, self.log.application_id = name, application
        self._at(self.log.start_ms)

    def _application_end(self, event: dict[str, Any]) -> None:
        self._at(moment(event, "Timestamp"))
        self.log.ended = True

    def _environment(self, event: dict[str, Any]) -> None:
        properties = event["Spark Properties"]
        self.log.properties = {name: text(properties, name) for name in properties}
        self.log.java_version = maybe(text, event.get("JVM Information", {}), "Java Version")

    def _executor(self, name: str) -> LoggedExecutor:
        executor = self.log.executors.get(name)
        if executor is None:
            executor = self.log.executors[name] = LoggedExecutor(name)
        return executor

    def _executor_added(self, event: dict[str, Any]) -> None:
        name, added_ms = text(event, "Executor ID"), moment(event, "Timestamp")
        cores = whole(event["Executor Info"], "Total Cores")
        executor = self._executor(name)
        executor.added_ms = added_ms
        executor.slots = cores // (_number(self.log.properties.get("spark.task.cpus")) or 1)
        self._at(added_ms)

    def _executor_removed(self, event: dict[str, Any]) -> None:
        name, removed_ms = text(event, "Executor ID"), moment(event, "Timestamp")
        reason = text(event, "Removed Reason")
        executor = self._executor(name)
        executor.removed_ms, executor.reason = removed_ms, reason
        self._at(removed_ms)

    def _executor_peaks(self, event: dict[str, Any]) -> None:
        name, peak = text(event, "Executor ID"), maybe(whole, event["Executor Metrics"], _HEAP)
        executor = self._executor(name)
        executor.heap_peak_bytes = max(executor.heap_peak_bytes, peak or 0)

    def _stage(self, event: dict[str, Any]) -> StageTally:
        info = event["Stage Info"]
        stage, attempt = whole(info, "Stage ID"), whole(info, "Stage Attempt ID")
        name = text(info, "Stage Name")
        submitted_ms = maybe(moment, info, "Submission Time")
        tally = self._tally(stage, attempt)
        tally.name = name
        tally.submitted_ms = submitted_ms or tally.submitted_ms
        tally.operators = _operators(info.get("RDD Info") or [])
        sql = maybe(text, event.get("Properties") or {}, "spark.sql.execution.id")
        tally.sql = _number(sql) if sql is not None else tally.sql
        return tally

    def _stage_completed(self, event: dict[str, Any]) -> None:
        info = event["Stage Info"]
        completed_ms = maybe(moment, info, "Completion Time")
        failure = maybe(text, info, "Failure Reason")
        tally = self._stage(event)
        tally.completed_ms, tally.failure = completed_ms, failure
        if completed_ms is not None:
            self._at(completed_ms)

    def _stage_width(self, event: dict[str, Any]) -> None:
        """Take how many tasks of a stage hearth lets run at once (`spark.hearth.width`).

        It may stand before the stage's own first event: Spark gives that to each listener in turn.
        """
        stage = whole(event, "stageId")
        found = moment(event, "time"), whole(event, "width"), whole(event, "planned")
        because = text(event, "because") or None
        if not found[2]:
            raise ValueError("no tasks at once planned")
        attempts = [tally for (number, _), tally in self.log.stages.items() if number == stage]
        tally = attempts[-1] if attempts else self._tally(stage, 0)
        if len(tally.widths) < MOST_WIDTHS:
            tally.widths.append((*found, because))

    # SQL.

    def _sql_start(self, event: dict[str, Any]) -> None:
        description, submitted_ms = text(event, "description"), moment(event, "time")
        info = event.get("sparkPlanInfo")
        plan = [] if info is None else read_plan(info)
        self.log.sql[whole(event, "executionId")] = LoggedSql(submitted_ms, description, plan=plan)
        if len(self.log.sql) > MOST_SQL:
            del self.log.sql[next(iter(self.log.sql))]

    def _sql_plan(self, event: dict[str, Any]) -> None:
        execution = self.log.sql.get(whole(event, "executionId"))
        plan = read_plan(event["sparkPlanInfo"])
        if execution is not None:
            execution.plan = plan

    def _sql_end(self, event: dict[str, Any]) -> None:
        execution = self.log.sql.get(whole(event, "executionId"))
        completed_ms = moment(event, "time")
        if execution is not None:
            execution.completed_ms = completed_ms


def _nothing(line: bytes) -> None:
    """Ignore an event that no figure needs."""


def _operators(rdds: list[dict[str, Any]]) -> list[str]:
    """Return the names of the scopes in which a stage's RDDs were made, from its input to its
    output.

    For SQL these are the physical operators (RDDOperationScope.scala, SparkPlan.executeQuery).
    """
    scopes: dict[str, str] = {}
    for rdd in sorted(rdds, key=lambda rdd: whole(rdd, "RDD ID")):
        scope = maybe(text, rdd, "Scope")
        if scope is not None:
            details = orjson.loads(scope)
            scopes.setdefault(text(details, "id"), text(details, "name"))
    return list(scopes.values())[:MOST_OPERATORS]


def _number(digits: str | None) -> int | None:
    return int(digits) if digits is not None and _DIGITS.fullmatch(digits) else None
