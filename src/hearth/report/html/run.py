"""One run on the page: what the template `run.html` shows of an analysis."""

import shlex
from collections.abc import Sequence
from typing import Any

from hearth.analysis.document import (
    AnalysedMachine,
    Analysis,
    Counted,
    Executor,
    Finding,
    HandOver,
    HandOvers,
    Node,
    Stage,
    Times,
    Totals,
)
from hearth.base.absent import Absent, Measured, known
from hearth.base.durations import show_moment
from hearth.base.ids import parse_ids
from hearth.base.sizes import counted, show_bytes, show_mb
from hearth.record.schema import ProbeStatus, Setting, Warned
from hearth.report.blocks import Cell, View
from hearth.report.html.axis import axis
from hearth.report.html.processor import processor_view
from hearth.report.html.shown import executor_name, part, plain, seconds, share
from hearth.report.terminal.profile import PARTS, from_places, open_words, phase_words
from hearth.report.terminal.screen import sentence

#: The sections of a run: the start of their ids, and their words.
SECTIONS = (
    ("findings", "Findings"),
    ("time", "Time axis"),
    ("machine", "The machine and its executors"),
    ("stages", "Where the tasks' time went"),
    ("counters", "Processor"),
    ("unknown", "Not measured, and warnings"),
)
#: Which section shows a part of the analysis, and what is to be seen there.
_SHOWN_IN = {
    "executors": ("machine", "the executors' table"),
    "machine": ("machine", "the machine"),
    "timeline": ("time", "the time axis"),
    "timeline/cpu_other": ("time", "the CPU chart"),
    "timeline/running_tasks": ("time", "the tasks on the time axis"),
    "timeline/slots": ("time", "the tasks on the time axis"),
    "timeline/gc": ("time", "the chart of garbage collection"),
    "timeline/bandwidth": ("time", "the chart of memory bandwidth"),
    "tasks_sample": ("time", "the tasks on the time axis"),
    "threads": ("time", "the threads on the time axis"),
    "stages": ("stages", "the stages"),
    "totals": ("stages", "where the tasks' time went"),
    "phases": ("time", "the tasks on the time axis"),
    "counters": ("counters", "the processor's counters"),
    "metrics": ("counters", "the processor's metrics"),
    "probes": ("unknown", "what was not measured"),
    "warnings": ("unknown", "the warnings"),
}
#: As docs/glossary.md has them.
WORDS = (
    ("idle task slots", "the share of the task slots' time, from the first task to the last, in "
     "which no task ran in them"),
    ("local memory", "the share of a process's own memory that lies on the nodes on which its "
     "threads ran: each node's share of its CPU time times that node's share of its memory, added "
     "up. Files' pages do not count"),
    ("GC share", "the share of the tasks' time in which their JVM collected garbage; GC pauses are "
     "of a whole process, also where it runs no task"),
    ("task slot", "room for one task at a time in an executor, usually one for each of its CPUs"),
)  # fmt: skip
_SEVERITIES = {"error": "high", "warning": "", "note": "info"}
_MOST_STAGES = 40
_MOST_QUERIES = 50
#: Of the machine's settings those on the first screen.
_TELLING = ("transparent_huge_pages", "numa_balancing", "governor", "smt")
#: CPUs of a node that are drawn.
_MOST_CPUS = 256


def label(run: Analysis) -> str:
    """Return the application, and what tells this run from others of it."""
    return f"{run.record.application} on {run.record.arm or run.record.master}"


def run_view(run: Analysis, number: int, executors: list[str]) -> View:
    """Return the template's view. executors: of all runs of the page, in their colours' order."""
    record = run.record
    about = [record.id, record.application_id, record.started and show_moment(record.started)]
    versions = (("Spark", record.spark_version), ("Java", record.java_version))
    about += [f"{name} {version}" for name, version in versions if version]
    about.append(_processor(run.machine))
    return {
        "number": number,
        "label": label(run),
        "about": [text for text in about if text],
        "command": shlex.join(record.arguments),
        "settings": [f"{name}={value}" for name, value in _telling(run)],
        "verdict": verdict(run),
        "facts": _facts(run),
        "words": WORDS,
        "findings": [_finding(finding) for finding in run.findings],
        "machine": _machine(run.machine, run.executors, executors),
        "executors": _executors(run.executors),
        "hand_overs": _hand_overs(run.hand_overs),
        "axis": axis(run, executors),
        "axis_words": f"Shown: {seconds(0)} to {seconds(record.wall_s)}",
        "axis_label": _axis_label(run),
        "axis_absent": _axis_absent(run),
        "colours": [executor_name(name) for name in executors],
        "stages": _stages(run.stages, run.totals),
        **_queries(run),
        "counters": _counters(run),
        "processor": processor_view(run.metrics),
        "not_measured": [[p.name, p.reason] for p in run.probes if p.status == "absent"],
        "warnings": [_warning(warning) for warning in run.warnings],
        "measured": _measured(run.probes),
    }


#: Of the hand-overs that the page lists, the latest.
_HAND_OVERS = 50


def _hand_overs(lent: Measured[HandOvers]) -> View | None:
    if isinstance(lent, Absent) or not lent.listed:
        return None
    rows = [
        [each.executor, each.cpus, from_places(each), *_span(each)]
        for each in lent.listed[-_HAND_OVERS:]
    ]
    words = open_words(lent)
    return {"words": words[0].upper() + words[1:], "rows": rows}


def _span(each: HandOver) -> tuple[str, str]:
    return seconds(each.start_s), "-" if each.end_s is None else seconds(each.end_s)


def _processor(machine: Measured[AnalysedMachine]) -> str:
    """Return the processor's model and the number of packages, or why they are not known."""
    if isinstance(machine, Absent):
        return f"processor: not available: {machine.reason}"
    if isinstance(machine.processor, Absent):
        return f"processor: not available: {machine.processor.reason}"
    many = f"{machine.packages} x " if machine.packages > 1 else ""
    return f"{many}{machine.processor}"


def _telling(run: Analysis) -> list[tuple[str, str]]:
    """Return the settings that matter: Spark's, then the machine's where it reports them."""
    machine = {} if isinstance(run.machine, Absent) else run.machine.settings
    read = [(name, machine[name]) for name in _TELLING if name in machine]
    known_here = [(name, of.value) for name, of in read if not isinstance(of, Absent)]
    return [*run.record.settings.items(), *known_here]


def verdict(run: Analysis) -> str:
    """Say how it ended and where its time went, and the time to gain by following one finding."""
    record, findings = run.record, run.findings
    ended = f"{record.state.capitalize()} after {seconds(record.wall_s)}"
    if not isinstance(run.phases, Absent):
        ended += f": {phase_words(run.phases, record.state)}"
    if not findings:
        return f"{ended}. Nothing exceeded the thresholds."
    counted = f"{len(findings)} finding{'s' if len(findings) > 1 else ''}"
    gain = max((finding.seconds or 0.0 for finding in findings), default=0.0)
    if not gain or not record.wall_s:
        return f"{ended}. {counted.capitalize()}; how much there is to gain is not known."
    part_of = f"{seconds(gain)} ({min(gain / record.wall_s, 1):.0%})"
    return f"{ended}. {counted.capitalize()}; the largest is worth at most {part_of}."


def _facts(run: Analysis) -> list[tuple[str, str]]:
    record, totals = run.record, run.totals
    return [
        ("master", record.master or "-"),
        ("executors", _count_of(run.executors)),
        ("tasks", "-" if isinstance(totals, Absent) else f"{totals.tasks:,}"),
        ("GC share", share(part(totals, lambda of: of.time.gc_share))),
        ("idle task slots", share(part(totals, lambda of: of.idle_slot_share))),
        ("local memory", share(mean_local(run.executors))),
    ]


def _count_of(executors: list[Executor]) -> str:
    """Return the number of executors; under Spark's own local masters the driver runs the tasks."""
    if [e.id for e in executors if e.tasks] == ["driver"]:
        return "none: tasks ran in the driver"
    return str(sum(e.id != "driver" for e in executors))


def mean_local(executors: list[Executor]) -> float | None:
    """Return the mean of the executors' shares of local memory."""
    shares = known(e.local_share for e in executors)
    return sum(shares) / len(shares) if shares else None


def _finding(finding: Finding) -> View:
    return {
        "severity": _SEVERITIES[finding.severity],
        "sentence": finding.sentence,
        "next_step": sentence(finding.next_step),
        "gain": None if finding.seconds is None else seconds(finding.seconds),
        "places": _evidence(finding.evidence),
    }


def _evidence(evidence: Sequence[str]) -> list[tuple[str, str | None, str]]:
    """Return where evidence is seen, each place once: words, section, and the JSON pointers."""
    pointers: dict[tuple[str, str | None], list[str]] = {}
    for pointer in evidence:
        parts = pointer.strip("/").split("/")
        section, words = next(
            (_SHOWN_IN[key] for key in ("/".join(parts[:2]), parts[0]) if key in _SHOWN_IN),
            (None, pointer),
        )
        pointers.setdefault((words, section), []).append(pointer)
    return [(words, section, ", ".join(each)) for (words, section), each in pointers.items()]


def _machine(
    machine: Measured[AnalysedMachine], executors: list[Executor], names: list[str]
) -> View | Absent:
    if isinstance(machine, Absent):
        return machine
    about = [counted(machine.packages, "package"), counted(len(machine.nodes), "NUMA node")]
    return {
        "words": ", ".join([*filter(None, [machine.architecture]), *about]),
        "nodes": [_node(node, executors, names) for node in machine.nodes],
        "settings": [[name, _setting(value)] for name, value in sorted(machine.settings.items())],
    }


def _setting(setting: Measured[Setting]) -> str:
    return f"not available: {setting.reason}" if isinstance(setting, Absent) else setting.value


def _node(node: Node, executors: list[Executor], names: list[str]) -> View:
    """Return a node with its CPUs, each in the colour of an executor that may use it alone."""
    on_node = [e for e in executors if node.id in _ids(e.nodes)]
    users: dict[int, list[int]] = {}
    for executor in on_node:
        for cpu in parse_ids(executor.cpus or ""):
            users.setdefault(cpu, []).append(names.index(executor.id))
    cpus = parse_ids(node.cpus)
    colours = [users[cpu][0] % 8 if len(users.get(cpu, ())) == 1 else None for cpu in cpus]
    memory = f", {show_bytes(node.memory_bytes)}" if node.memory_bytes else ""
    about = f"CPUs {node.cpus or 'none'}{memory}"
    return {
        "name": f"Node {node.id}",
        "about": about,
        "label": f"node {node.id}: {about}; "
        + "; ".join(f"{executor_name(e.id)} on {e.cpus}" for e in on_node),
        "caches": _drawn(node, dict(list(zip(cpus, colours, strict=True))[:_MOST_CPUS])),
        "hidden": max(0, len(cpus) - _MOST_CPUS),
        "executors": [
            {"name": executor_name(e.id), "about": f"CPUs {e.cpus}",
             "colour": names.index(e.id) % 8}
            for e in on_node
        ],
    }  # fmt: skip


#: A CPU, and the number of its colour.
_Coloured = tuple[int, int | None]


def _drawn(node: Node, colours: dict[int, int | None]) -> list[list[list[_Coloured]]]:
    """Return the CPUs of a node, by last-level cache and core.

    Those that neither names stand alone.
    """
    left = dict(colours)

    def taken(cpus: set[int]) -> list[_Coloured]:
        return [(cpu, left.pop(cpu)) for cpu in sorted(cpus & left.keys())]

    caches = []
    for cache in node.caches or [node.cpus]:
        inside = set(parse_ids(cache))
        cores = [taken(inside.intersection(parse_ids(core))) for core in node.cores]
        caches.append([core for core in cores if core])
    caches.append([[cpu] for cpu in left.items()])
    return [cache for cache in caches if cache]


def _ids(nodes: Measured[list[str]]) -> list[str]:
    return [] if isinstance(nodes, Absent) else nodes


def _executors(executors: list[Executor]) -> list[list[Cell]]:
    return [
        [
            e.id,
            "-" if e.pid is None else str(e.pid),
            plain(e.cpus),
            ",".join(_ids(e.nodes)) or "-",
            e.tasks,
            plain(part(e.gc, lambda gc: seconds(gc.pause_ms / 1000))),
            share(e.local_share),
            plain(part(e.use, lambda use: show_mb(use.rss_max_mb))),
            plain(e.reason),
        ]
        for e in executors
    ]


def _axis_label(run: Analysis) -> str:
    """Describe the picture for those who cannot see it; its numbers are in the tables."""
    words = [f"{seconds(run.record.wall_s)} of {run.record.application}"]
    if not isinstance(run.tasks_sample, Absent):
        count, stragglers = len(run.tasks_sample.start_s), sum(run.tasks_sample.straggler)
        words.append(f"{counted(count, 'task')}, {counted(stragglers, 'straggler')}")
    if not isinstance(run.threads, Absent):
        moves = sum(run.threads.node_transitions.values())
        words.append(f"threads were seen to change node {moves:,} times")
    return "; ".join(words)


def _axis_absent(run: Analysis) -> list[tuple[str, str]]:
    timeline = run.timeline
    lanes: dict[str, Any] = {
        "tasks": run.tasks_sample,
        "running tasks": timeline.running_tasks,
        "garbage-collection pauses": timeline.gc,
        "CPU by executor": timeline.cpu_by_executor,
        "CPU by node": timeline.cpu_by_node,
        "local share of memory": timeline.local_share_by_executor,
        "memory bandwidth": timeline.bandwidth,
        "the thread trace": run.threads,
    }
    if not isinstance(timeline.bandwidth, Absent):
        for node, of in timeline.bandwidth.nodes.items():
            lanes[f"share of node {node}'s sustained bandwidth"] = of.share
    listed = {probe.reason for probe in run.probes}  # below, in a section of their own
    absent = {what: lane for what, lane in lanes.items() if isinstance(lane, Absent)}
    return [(what, lane.reason) for what, lane in absent.items() if lane.reason not in listed]


def _stages(stages: Measured[list[Stage]], totals: Measured[Totals]) -> View | Absent:
    if isinstance(stages, Absent):
        return stages
    if not stages or isinstance(totals, Absent):
        return Absent("the event log names none")
    longest = sorted(stages, key=lambda stage: -stage.time.run)[:_MOST_STAGES]
    shown = sorted(longest, key=lambda stage: (stage.id, stage.attempt))
    rows = [("all stages", totals.time)]
    if len(shown) > 1:
        rows = [(f"stage {_id(stage)}", stage.time) for stage in shown]
    most = max((_total(times) for _, times in rows), default=0.0) or 1.0
    return {
        "parts": [{"name": name, "parts": _parts(name, times, most)} for name, times in rows],
        "part_names": list(PARTS),
        "longest": seconds(most),
        "cut": f"The {_MOST_STAGES} longest of {len(stages)} stages." * (len(stages) > len(shown)),
        "head": _STAGE_HEAD,
        "rows": [_stage_row(stage) for stage in shown],
    }


def _id(stage: Stage) -> str:
    return f"{stage.id}.{stage.attempt}" if stage.attempt else f"{stage.id}"


def _total(times: Times) -> float:
    return sum(of(times) for of in PARTS.values()) / 1000


def _parts(name: str, times: Times, most: float) -> list[View]:
    """Return the parts of a bar, as shares of the longest one."""
    parts, start = [], 0.0
    for number, (words, of) in enumerate(PARTS.items()):
        length = of(times) / 1000
        if length > 0:
            parts.append({
                "start": start / most, "width": length / most, "colour": number, "thin": False,
                "words": f"{name}, {words}: {seconds(length)}",
            })  # fmt: skip
        start += length
    return parts


_STAGE_HEAD = [
    *("stage", "name", "tasks", "failed", "run s", "GC s", "p50 s", "max s", "skew", "spill"),
    *("shuffle read", "from other hosts", "shuffle written"),
]


def _stage_row(s: Stage) -> list[Cell]:
    return [
        f"{s.id}.{s.attempt}",
        plain(s.label or s.name),
        s.tasks,
        s.failed,
        s.time.run / 1000,
        s.time.gc / 1000,
        plain(None if s.duration.p50 is None else s.duration.p50 / 1000),
        plain(None if s.duration.max is None else s.duration.max / 1000),
        plain(s.skew),
        show_bytes(s.spill.disk),
        show_bytes(s.bytes.shuffle_read_local + s.bytes.shuffle_read_remote),
        show_bytes(s.bytes.shuffle_read_remote),
        show_bytes(s.bytes.shuffle_write),
    ]


def _queries(run: Analysis) -> View:
    """Return a row for each SQL query: how long it took, and which of its stages took most."""
    stages: dict[int, list[Stage]] = {}
    for stage in [] if isinstance(run.stages, Absent) else run.stages:
        if stage.sql is not None:
            stages.setdefault(stage.sql, []).append(stage)
    rows: list[tuple[float, list[Cell]]] = []
    for query in run.sql:
        of_query = stages.get(query.id, [])
        if query.submitted_s is None or not of_query:
            continue
        end = run.record.wall_s if query.completed_s is None else query.completed_s
        longest = max(of_query, key=lambda stage: stage.time.run)
        row: list[Cell] = [
            query.id,
            plain(query.description),
            seconds(end - query.submitted_s) + " (unfinished)" * (query.completed_s is None),
            sum(stage.tasks for stage in of_query),
            seconds(sum(stage.time.run for stage in of_query) / 1000),
            show_bytes(sum(stage.spill.disk for stage in of_query)),
            f"stage {_id(longest)}, {seconds(longest.time.run / 1000)}",
            " <- ".join(reversed(longest.operators)) or "-",
            plain(longest.skew),
        ]
        rows.append((end - query.submitted_s, row))
    rows.sort(key=lambda pair: -pair[0])
    cut = f"The {_MOST_QUERIES} longest of {len(rows)} queries."
    return {
        "queries": [row for _, row in rows[:_MOST_QUERIES]],
        "queries_cut": cut if len(rows) > _MOST_QUERIES else "",
    }


def _counters(run: Analysis) -> list[list[Cell]] | Absent:
    if isinstance(run.counters, Absent):
        return run.counters
    return [
        [name, event, *_count(count)]
        for name, events in run.counters.items()
        for event, count in events.items()
    ]


def _count(count: Measured[Counted]) -> list[Cell]:
    if isinstance(count, Absent):
        return [count.reason, "-"]
    return [float(count.value), f"{count.least_running_share:.0%} of the time"]


def _warning(warning: Warned) -> str:
    return f"{warning.what}: {warning.remedy}" if warning.remedy else warning.what


def _measured(probes: list[ProbeStatus]) -> str:
    """Return the sentence for a run with all probes and no warning."""
    if not probes:
        return "Only an event log was read: no probe ran. No warnings."
    return f"All {len(probes)} probes ran, without warnings."
