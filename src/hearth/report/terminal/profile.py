"""One profiled run on one screen: where the time went, by executor and stage, and what to do."""

from collections.abc import Callable
from typing import TypeVar

from hearth.analysis.document import (
    Analysis,
    Executor,
    Finding,
    HandOver,
    HandOvers,
    Metric,
    Metrics,
    Phases,
    Stage,
    Times,
)
from hearth.base.absent import Absent, Measured, known
from hearth.base.durations import show_seconds
from hearth.base.ids import brief_ids
from hearth.base.sizes import counted, show_bytes, show_mb
from hearth.report.terminal.screen import Screen, sentence, table

T = TypeVar("T")
_OfMetrics = dict[str, Measured[Metric]]
_EXECUTORS, _STAGES, _FINDINGS = 5, 3, 3
_NAME_WIDTH = 40
#: A part of the run shorter than this is not told.
_SHOWN_S = 0.1
#: Parts of a task's time, in the order in which they are shown.
PARTS: dict[str, Callable[[Times], int]] = {
    "computing": lambda time: time.compute,
    "garbage collection": lambda time: time.gc,
    "waiting for shuffle data": lambda time: time.shuffle_read_wait,
    "writing shuffle data": lambda time: time.shuffle_write,
    "deserialising": lambda time: time.deserialise,
    "serialising results": lambda time: time.result_serialise,
    "scheduler delay": lambda time: time.scheduler_delay,
    "fetching results": lambda time: time.getting_result,
}


def show_profile(analysis: Analysis, screen: Screen) -> list[str]:
    """Show at most 27 lines of an analysis (`hearth schema analysis`)."""
    return [
        *_head(analysis, screen),
        *_executors(analysis.executors, screen),
        *_hand_overs(analysis.hand_overs, screen),
        *_processor(analysis.metrics, screen),
        *_stages(analysis.stages, screen),
        *_findings(analysis.findings, screen),
        *_gaps(analysis, screen),
    ]


def _head(analysis: Analysis, screen: Screen) -> list[str]:
    record, totals = analysis.record, analysis.totals
    title = screen.title(f"{record.application}  {record.state}")
    lines = [f"{title}  {show_seconds(record.wall_s)}  {record.master}"]
    if not isinstance(analysis.phases, Absent):
        lines.append(f"  {phase_words(analysis.phases, record.state)}")
    if isinstance(totals, Absent):
        return [*lines, f"  its tasks are unknown: {totals.reason}"]
    whole = totals.time.duration
    shares = {words: part(totals.time) / whole for words, part in PARTS.items() if whole}
    parts = [f"{words} {share:.0%}" for words, share in shares.items() if share >= 0.005]
    tasks = f"{counted(totals.tasks, 'task')} took {show_seconds(whole / 1000)}"
    lines.append(screen.paragraph(f"{tasks}: {', '.join(parts)}".removesuffix(": "), "  ", "    "))
    idle = totals.idle_slot_share
    if idle is not None:
        lines.append(f"  the {totals.slots} task slots were idle {idle:.0%} of the time")
    return lines


def phase_words(phases: Phases, state: str) -> str:
    """Return where the run's time went: `start 30.1 s, tasks 16.2 s, stop 2.0 s`."""
    parts = parts_of(phases, state).items()
    return ", ".join(f"{words} {show_seconds(part)}" for words, part in parts if part >= _SHOWN_S)


def parts_of(phases: Phases, state: str) -> dict[str, float]:
    """Return the parts of a run, which add up to it, by what they are called."""
    last = "since the last task on record" if state == "running" else "stop"
    return {"start": phases.start, "tasks": phases.tasks, "between tasks": phases.idle,
            last: phases.stop}  # fmt: skip


def _executors(executors: list[Executor], screen: Screen) -> list[str]:
    if not executors:
        return []
    head = ("executor", "CPUs", "tasks", "CPU time", "GC pauses", "memory", "local",
            "waited for CPU")  # fmt: skip
    shown = sorted(executors, key=lambda executor: -executor.tasks)[:_EXECUTORS]
    rows = [_executor(executor) for executor in shown]
    lines = table(screen, head, rows, right="tasks memory local")
    return [*lines, *_more(len(executors) - len(shown), "executors")]


def _executor(executor: Executor) -> tuple[str, ...]:
    return (
        executor.id,
        "-" if executor.cpus is None else brief_ids(executor.cpus, 16),
        str(executor.tasks),
        _shown(executor.use, lambda use: show_seconds(use.cpu_s)),
        _shown(executor.gc, lambda gc: show_seconds(gc.pause_ms / 1000)),
        _shown(executor.use, lambda use: show_mb(use.rss_max_mb)),
        _shown(executor.local_share, lambda share: f"{share:.0%}"),
        _shown(executor.use, lambda use: show_seconds(use.run_delay_s)),
    )


def _hand_overs(lent: Measured[HandOvers], screen: Screen) -> list[str]:
    """Return the longest of them; without any, nothing."""
    if isinstance(lent, Absent) or not lent.listed:
        return []
    longest = max(lent.listed, key=lambda each: (each.end_s or each.start_s) - each.start_s)
    which = "" if lent.number == 1 else "the longest was "
    line = f"{open_words(lent)}; {which}{hand_over_words(longest)}"
    return [screen.paragraph(line, "  ", "    ")]


def open_words(lent: HandOvers) -> str:
    """Return how often idle CPUs were open to others, for how long, and what these gained."""
    times = "once" if lent.number == 1 else f"{lent.number} times"
    gained = lent.gained_cpu_s
    if isinstance(gained, Absent):
        what = f"the gain is not known: {gained.reason}"
    else:
        what = f"these used at least {gained:.1f} CPU s more than their own CPUs give"
    return f"idle CPUs were open to executors {times}, {lent.cpu_s:.1f} CPU s in all; {what}"


def hand_over_words(each: HandOver) -> str:
    """Return which CPUs of whom, for whom, from when to when."""
    whose = "place" if len(each.from_places) == 1 else "places"
    return (
        f"CPUs {brief_ids(each.cpus, 24)} of {whose} {from_places(each)} for executor "
        f"{each.executor} {_span(each)}"
    )


def from_places(each: HandOver) -> str:
    """Return the places that CPUs are from."""
    return ", ".join(map(str, each.from_places))


def _span(each: HandOver) -> str:
    end = "the end" if each.end_s is None else f"{each.end_s:.1f} s"
    return f"from {each.start_s:.1f} s to {end}"


#: Of the top-down method, level 1; then what Awan's formulas say of cycles.
TOP_DOWN = {
    "retiring": "retiring",
    "bad_speculation": "bad speculation",
    "front_end_bound": "front end",
    "back_end_bound": "back end",
}
BACK_END = {"memory_bound": "memory", "core_bound": "core"}
_OF_CYCLES = {
    "local_dram_bound": "local DRAM",
    "remote_dram_bound": "remote DRAM",
    "l1_miss_impact": "L1 misses",
    "l2_hit_impact": "L2 hits",
}


def _processor(metrics: Measured[Metrics], screen: Screen) -> list[str]:
    """Show top-down of all executors, and Awan's shares; nothing without counters."""
    if isinstance(metrics, Absent):
        return []
    total = metrics.total
    level_one = _shares(total, TOP_DOWN)
    retiring = total["retiring"]
    if not level_one and isinstance(retiring, Absent):
        line = f"top-down: not available: {retiring.reason}"
        return [screen.paragraph(line, "  ", "    "), *_of_cycles(total, screen)]
    level_two = _shares(total, BACK_END)
    inside = f" ({', '.join(level_two)})" if level_two else ""
    line = f"top-down: {', '.join(level_one)}{inside}; confidence {_least(total, TOP_DOWN)}"
    return [screen.paragraph(line, "  ", "    "), *_of_cycles(total, screen)]


def _of_cycles(total: _OfMetrics, screen: Screen) -> list[str]:
    parts = []
    ipc = total["instructions_per_cycle"]
    if not isinstance(ipc, Absent):
        parts.append(f"{ipc.value:.2f} instructions per cycle")
    shares = _shares(total, _OF_CYCLES)
    if shares:
        confidence = _least(total, _OF_CYCLES)
        parts.append(f"of the cycles: {', '.join(shares)}; confidence {confidence}")
    return [screen.paragraph("; ".join(parts), "  ", "    ")] if parts else []


def _shares(total: _OfMetrics, names: dict[str, str]) -> list[str]:
    metrics = {words: total[name] for name, words in names.items()}
    return [
        f"{words} {metric.value:.0%}"
        for words, metric in metrics.items()
        if not isinstance(metric, Absent)
    ]


def _least(total: _OfMetrics, names: dict[str, str]) -> str:
    """Return the lowest of the known confidences."""
    confidences = [metric.confidence for metric in known(total[name] for name in names)]
    return next(level for level in ("low", "medium", "high") if level in confidences)


def _shown(group: Measured[T], show: Callable[[T], str | None]) -> str:
    """Return the shown value of a group; `-` if it is absent."""
    return "-" if isinstance(group, Absent) else show(group) or "-"


def _stages(stages: Measured[list[Stage]], screen: Screen) -> list[str]:
    if isinstance(stages, Absent) or not stages:
        return []
    shown = sorted(stages, key=lambda stage: -stage.time.duration)[:_STAGES]
    head = ("stage", "name", "tasks", "task time", "longest/median", "spilled")
    rows = [
        (
            str(stage.id),
            (stage.label or stage.name or "-")[:_NAME_WIDTH],
            str(stage.tasks),
            show_seconds(stage.time.duration / 1000),
            "-" if stage.skew is None else f"{stage.skew:.1f}",
            show_bytes(stage.spill.disk),
        )
        for stage in shown
    ]
    lines = table(screen, head, rows, right="tasks longest/median spilled")
    return [*lines, *_more(len(stages) - len(shown), "shorter stages")]


def _more(count: int, what: str) -> list[str]:
    return [f"  and {count} more {what}"] if count > 0 else []


def _findings(findings: list[Finding], screen: Screen) -> list[str]:
    lines = []
    for finding in findings[:_FINDINGS]:
        gain = "" if finding.seconds is None else f" At most {finding.seconds:.1f} s to gain."
        text = f"{finding.sentence}{gain} {sentence(finding.next_step)}"
        lines.append(screen.paragraph(text, "* ", "  "))
    return [*lines, *_more(len(findings) - _FINDINGS, "findings ('hearth report ID --json')")]


def _gaps(analysis: Analysis, screen: Screen) -> list[str]:
    absent = [probe.name for probe in analysis.probes if probe.status != "on"]
    lines = []
    if absent:
        text = f"not measured: {', '.join(absent)} ('hearth report ID --json' says why)"
        lines.append(screen.paint(screen.paragraph(text, "  "), "dim"))
    for warning in analysis.warnings[:2]:
        text = f"{warning.what}: {warning.remedy}" if warning.remedy else warning.what
        lines.append(screen.paragraph(text, "! ", "  "))
    return lines
