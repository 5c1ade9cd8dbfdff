"""The page: its sections in order, each from a run's `contract/analysis.schema.json`."""

import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from hearth.analysis.document import (
    Analysis,
    Counted,
    Executor,
    Finding,
    Node,
    Stage,
    Totals,
)
from hearth.measure.shapes import Warned
from hearth.model.documents import to_json
from hearth.model.ids import parse_ids
from hearth.model.measured import Absent, Measured, known
from hearth.model.private import write_private
from hearth.model.sizes import show_bytes, show_mb
from hearth.report.html import pictures
from hearth.report.html.absent import say_absent
from hearth.report.html.arms import draw_arms
from hearth.report.html.characterisation import characterisation_links, draw_characterisation
from hearth.report.html.processor import draw_processor
from hearth.report.html.svg import element, table, text
from hearth.report.html.timeline import absent_bandwidth, draw_timeline

Document = dict[str, Any]
Group = TypeVar("Group")
Value = TypeVar("Value")
#: What a cell of a table holds.
Cell = str | int | float
_SEVERITIES = {"error": "high", "warning": "", "note": "info"}
_MANY_STAGES = 40


def write_page(
    file: Path,
    runs: list[Analysis],
    comparison: Document | None = None,
    characterisation: Document | None = None,
) -> None:
    """Writes the page, private, completely or not at all."""
    whole = page(runs, comparison, characterisation)
    write_private(file, whole.encode("utf-8", "replace"))  # a file name may not be valid text


def page(
    runs: list[Analysis],
    comparison: Document | None = None,
    characterisation: Document | None = None,
) -> str:
    """One HTML document of runs, of a comparison or of a characterisation where there is one.

    It contains its own style and script and loads nothing.
    """
    names = [str(run.record.application) for run in runs]
    if characterisation is not None:
        names += characterisation["subjects"]
    title = f"hearth: {', '.join(dict.fromkeys(names))}" if names else "hearth: comparison"
    body = [_navigation(runs, comparison, characterisation)]
    if comparison is not None:
        body.append(_comparison(comparison))
    if characterisation is not None:
        body.append(draw_characterisation(characterisation))
    if len(runs) > 1:
        body.append(_side_by_side(runs))
    body += [_run(run, number) for number, run in enumerate(runs)]
    return _document(title, "".join(body))


def _document(title: str, body: str) -> str:
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">"
        f"<title>{text(title)}</title><style>{_resource('style.css')}</style></head>"
        '<body><a class="skip" href="#main">Skip to the content</a>'
        f'<main id="main"><h1>{text(title)}</h1>{body}</main>'
        f"<script>{_resource('gantt.js')}</script></body></html>\n"
    )


def _resource(name: str) -> str:
    return (resources.files("hearth.report.html") / name).read_text(encoding="utf-8")


def _navigation(
    runs: list[Analysis], comparison: Document | None, characterisation: Document | None
) -> str:
    links = [("#comparison", "Comparison")] if comparison else []
    links += characterisation_links(characterisation) if characterisation else []
    for number, run in enumerate(runs):
        links.append((f"#run{number}", _label(run)))
        if len(runs) == 1:
            links += [(f"#{key}{number}", words) for key, words, _ in _SECTIONS]
    items = [element("li", element("a", text(words), href=target)) for target, words in links]
    return element("nav", element("ul", *items), aria_label="Sections")


def _label(run: Analysis) -> str:
    record = run.record
    return f"{record.application} on {record.arm or record.master}"


def _run(run: Analysis, number: int) -> str:
    sections = [
        element(
            "section",
            element("h2", text(words)),
            draw(run, number),
            id=f"{key}{number}",
            aria_label=words,
        )
        for key, words, draw in _SECTIONS
    ]
    heading = element("h2", text(_label(run)), id=f"run{number}")
    return heading + _facts(run) + "".join(sections)


def _facts(run: Analysis) -> str:
    record, totals = run.record, run.totals
    facts = [
        ("state", record.state),
        ("wall time", f"{record.wall_s:.1f} s"),
        ("master", record.master or "-"),
        ("executors", str(sum(e.id != "driver" for e in run.executors))),
        ("tasks", "-" if isinstance(totals, Absent) else f"{totals.tasks:,}"),
        ("GC share of task time", _share(_gc_share(totals))),
        ("idle task slots", _share(_idle(totals))),
        ("local memory", _share(_mean_local(run.executors))),
    ]
    cells = [element("div", element("dt", text(a)), element("dd", text(b))) for a, b in facts]
    return element("dl", *cells, class_="facts")


def _share(value: Measured[float] | None) -> str:
    return "-" if value is None or isinstance(value, Absent) else f"{value:.1%}"


def _gc_share(totals: Measured[Totals]) -> float | None:
    if isinstance(totals, Absent) or not totals.time.run:
        return None
    return totals.time.gc / totals.time.run


def _idle(totals: Measured[Totals]) -> float | None:
    return None if isinstance(totals, Absent) else totals.idle_slot_share


def _mean_local(executors: list[Executor]) -> float | None:
    shares = known(_of(e.memory, lambda memory: memory.local_share) for e in executors)
    return sum(shares) / len(shares) if shares else None


def _of(group: Measured[Group], part: Callable[[Group], Value]) -> Value | None:
    """A part of a group that may itself be absent."""
    return None if isinstance(group, Absent) else part(group)


def _findings(run: Analysis, number: int) -> str:
    if not run.findings:
        return element("p", "Nothing exceeded the thresholds.")
    return "".join(_finding(finding, number) for finding in run.findings)


def _finding(finding: Finding, number: int) -> str:
    places = ", ".join(_evidence(pointer, number) for pointer in finding.evidence)
    return element(
        "div",
        element("p", element("strong", text(finding.sentence))),
        element("p", f"Evidence: {places}", class_="quiet") if places else "",
        element("p", text(finding.next_step)) if finding.next_step else "",
        class_=f"finding {_SEVERITIES[finding.severity]}".strip(),
    )


def _evidence(pointer: str, number: int) -> str:
    """A link to the section that shows what a pointer into the analysis points to."""
    section = _SHOWN_IN.get(pointer.split("/")[1] if "/" in pointer else pointer)
    return element("a", text(pointer), href=f"#{section}{number}") if section else text(pointer)


def _machine(run: Analysis, number: int) -> str:
    machine = run.machine
    if isinstance(machine, Absent):
        return say_absent("the machine", machine) + _executors(run)
    boxes = [_node(node, run.executors) for node in machine.nodes]
    return element("div", *boxes, class_="machine") + _executors(run)


def _node(node: Node, executors: list[Executor]) -> str:
    here = [e for e in executors if node.id in _ids(e.nodes)]
    memory = f", {show_bytes(node.memory_bytes)}" if node.memory_bytes else ""
    inside = [
        element(
            "div",
            text(_name(e)),
            element("div", text(f"CPUs {e.cpus}"), class_="quiet"),
            class_="executor",
            style=f"border-color:var(--c{number % 8})",
        )
        for number, e in enumerate(here)
    ]
    head = element("h4", text(f"Node {node.id}"))
    about = element("div", text(f"CPUs {node.cpus or 'none'}{memory}"), class_="quiet")
    return element("div", head, about, *inside, class_="node")


def _name(executor: Executor) -> str:
    return "driver" if executor.id == "driver" else f"executor {executor.id}"


def _ids(nodes: Measured[list[str]]) -> list[str]:
    return [] if isinstance(nodes, Absent) else nodes


def _executors(run: Analysis) -> str:
    head = ["executor", "pid", "CPUs", "nodes", "tasks", "GC share", "local memory", "RSS", "left"]
    rows = [
        [
            e.id,
            _plain(e.pid),
            _plain(e.cpus),
            ",".join(_ids(e.nodes)) or "-",
            e.tasks,
            _share(_of(e.gc, lambda gc: gc.share)),
            _share(_of(e.memory, lambda memory: memory.local_share)),
            _plain(_of(e.use, lambda use: show_mb(use.rss_max_mb))),
            _plain(e.reason),
        ]
        for e in run.executors
    ]
    return table(head, rows, "Executors and where they ran") if rows else ""


def _plain(value: Cell | None) -> Cell:
    return "-" if value is None else value


def _time_axis(run: Analysis, number: int) -> str:
    figure = element(
        "figure",
        element(
            "div",
            draw_timeline(run),
            class_="scroll",
            tabindex=0,
            role="region",
            aria_label="time axis, scrolls sideways on a narrow screen",
        ),
        element("figcaption", "All lanes share one time axis, from the start of the record."),
    )
    timeline = run.timeline
    lanes = {
        "running tasks": timeline.running_tasks,
        "garbage-collection pauses": timeline.gc,
        "CPU by node": timeline.cpu_by_node,
        "local share of memory": timeline.local_share_by_executor,
    }
    lacking = {what: lane for what, lane in lanes.items() if isinstance(lane, Absent)}
    lacking |= absent_bandwidth(timeline.bandwidth)
    return figure + "".join(say_absent(what, absent) for what, absent in lacking.items())


def _stages(run: Analysis, number: int) -> str:
    stages, totals = run.stages, run.totals
    if isinstance(stages, Absent):
        return say_absent("stages", stages)
    if not stages or isinstance(totals, Absent):
        return say_absent("stages", Absent("the event log names none"))
    longest = sorted(stages, key=lambda stage: -stage.time.run)[:_MANY_STAGES]
    shown = sorted(longest, key=lambda stage: (stage.id, stage.attempt))
    rows = [("all stages", totals.time)]
    if len(shown) > 1:
        rows = [(f"stage {stage.id}", stage.time) for stage in shown]
    cut = ""
    if len(stages) > len(shown):
        cut = element("p", f"The {_MANY_STAGES} longest of {len(stages)} stages.", class_="quiet")
    picture = element(
        "div",
        pictures.draw_parts(rows),
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label="task time by part",
    )
    key = pictures.legend([words for words, _ in pictures.PARTS])
    return element("figure", picture, key) + cut + _stage_table(shown)


def _stage_table(stages: list[Stage]) -> str:
    head = [
        "stage",
        "name",
        "tasks",
        "failed",
        "run s",
        "GC s",
        "p50 s",
        "max s",
        "skew",
        "spill",
        "shuffle read",
        "from other hosts",
        "shuffle written",
    ]
    rows = [
        [
            f"{s.id}.{s.attempt}",
            s.name,
            s.tasks,
            s.failed,
            s.time.run / 1000,
            s.time.gc / 1000,
            _seconds(s.duration.p50),
            _seconds(s.duration.max),
            _plain(s.skew),
            show_bytes(s.spill.disk),
            show_bytes(s.bytes.shuffle_read_local + s.bytes.shuffle_read_remote),
            show_bytes(s.bytes.shuffle_read_remote),
            show_bytes(s.bytes.shuffle_write),
        ]
        for s in stages
    ]
    return pictures.data_table(head, rows, "stages")


def _seconds(ms: float | None) -> Cell:
    return "-" if ms is None else ms / 1000


def _gantt(run: Analysis, number: int) -> str:
    tasks = run.tasks_sample
    if isinstance(tasks, Absent):
        return say_absent("tasks", tasks)
    data = json.dumps({**to_json(tasks), "wall_s": run.record.wall_s}, separators=(",", ":"))
    count, stragglers = len(tasks.start_s), sum(tasks.straggler)
    label = (
        f"Task Gantt: {count:,} tasks, {stragglers:,} stragglers outlined. "
        "Arrow keys move, plus and minus zoom, 0 shows all."
    )
    return element(
        "figure",
        element("script", data.replace("<", "\\u003c"), type="application/json"),
        element("canvas", text(label), tabindex=0, role="img", aria_label=label),
        element("output", "", class_="quiet"),
        element("figcaption", text(label)),
        class_="gantt",
    )


def _threads(run: Analysis, number: int) -> str:
    threads, machine = run.threads, run.machine
    if isinstance(threads, Absent):
        return say_absent("the thread trace", threads)
    known_nodes = [] if isinstance(machine, Absent) else machine.nodes
    nodes = {cpu: node.id for node in known_nodes for cpu in parse_ids(node.cpus)}
    picture = pictures.draw_threads(threads.columns, run.record.wall_s, nodes)
    moves = sum(threads.node_transitions.values())
    caption = "Each colour is a thread; a thread that does not move stays on its line."
    caption += f" Threads were seen to change node {moves:,} times."
    box = element(
        "div",
        picture,
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label="threads over CPUs and time",
    )
    return element("figure", box, element("figcaption", text(caption)))


def _counters(run: Analysis, number: int) -> str:
    counters = run.counters
    if isinstance(counters, Absent):
        return say_absent("hardware counters", counters)
    processor = draw_processor(run.metrics)
    head = ["process", "event", "count", "counted for"]
    rows = [
        [name, event, *_count(count)]
        for name, events in counters.items()
        for event, count in events.items()
    ]
    return processor + table(head, rows, "Hardware events of each process")


def _count(count: Measured[Counted]) -> list[Cell]:
    if isinstance(count, Absent):
        return [count.reason, "-"]
    return [float(count.value), f"{count.least_running_share:.0%} of the time"]


def _unknown(run: Analysis, number: int) -> str:
    rows = [[p.name, p.reason] for p in run.probes if p.status == "absent"]
    parts = table(["probe", "why not"], rows, "Not measured") if rows else ""
    notes = [element("li", text(_warning(warning))) for warning in run.warnings]
    parts += element("ul", *notes) if notes else ""
    return parts or element("p", "Every probe ran, without warnings.")


def _warning(warning: Warned) -> str:
    return f"{warning.what}: {warning.remedy}" if warning.remedy else warning.what


_SECTIONS = (
    ("findings", "Findings", _findings),
    ("machine", "The machine and its executors", _machine),
    ("time", "Time axis", _time_axis),
    ("stages", "Where the time went", _stages),
    ("tasks", "Tasks", _gantt),
    ("threads", "Threads and CPUs", _threads),
    ("counters", "Processor", _counters),
    ("unknown", "Not measured, and warnings", _unknown),
)

#: Which section shows a part of the analysis.
_SHOWN_IN = {
    "executors": "machine",
    "machine": "machine",
    "timeline": "time",
    "stages": "stages",
    "totals": "stages",
    "jobs": "stages",
    "tasks_sample": "tasks",
    "threads": "threads",
    "counters": "counters",
    "metrics": "counters",
    "probes": "unknown",
    "warnings": "unknown",
}


def _side_by_side(runs: list[Analysis]) -> str:
    rows = [
        [
            _label(run),
            float(run.record.wall_s),
            _share(_gc_share(run.totals)),
            _share(_idle(run.totals)),
            _share(_mean_local(run.executors)),
        ]
        for run in runs
    ]
    head = ["run", "wall s", "GC share", "idle slots", "local memory"]
    return element("h2", "Side by side") + table(head, rows, "Runs side by side")


def _comparison(comparison: Document) -> str:
    verdict = comparison["verdict"]
    reasons = element("ul", *(element("li", text(why)) for why in verdict["why"]))
    return element(
        "section",
        element("h2", "Comparison"),
        element("p", text(verdict["sentence"]), class_="verdict"),
        reasons if verdict["why"] else "",
        draw_arms(comparison),
        id="comparison",
    )
