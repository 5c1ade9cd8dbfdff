"""One profiled run on one screen: where the time went, by executor and stage, and what to do."""

from typing import Any

from hearth.model.ids import brief_ids
from hearth.model.sizes import show_bytes, show_mb
from hearth.report.runs import show_seconds
from hearth.report.terminal import Screen, table

_EXECUTORS, _STAGES, _FINDINGS = 5, 3, 3
_NAME_WIDTH = 40
#: Parts of a task's time, in the order of a task's life; what is left of it is not told.
_PARTS = {
    "compute": "computing",
    "gc": "garbage collection",
    "shuffle_read_wait": "waiting for shuffle data",
    "shuffle_write": "writing shuffle data",
    "deserialise": "deserialising",
    "result_serialise": "serialising results",
    "scheduler_delay": "scheduler delay",
}


def show_profile(analysis: dict[str, Any], screen: Screen) -> list[str]:
    """At most 26 lines of an analysis (contract/analysis.schema.json)."""
    return [
        *_head(analysis, screen),
        *_executors(analysis["executors"], screen),
        *_processor(analysis["metrics"], screen),
        *_stages(analysis["stages"], screen),
        *_findings(analysis["findings"], screen),
        *_gaps(analysis, screen),
    ]


def is_absent(value: Any) -> bool:
    """Whether a value of the analysis stands for one that could not be measured."""
    return value is None or (isinstance(value, dict) and "absent" in value)


def _head(analysis: dict[str, Any], screen: Screen) -> list[str]:
    record, totals = analysis["record"], analysis["totals"]
    wall = show_seconds(None if is_absent(record["wall_s"]) else record["wall_s"])
    title = screen.title(f"{record['application']}  {record['state']}")
    lines = [f"{title}  {wall}  {record['master']}"]
    if is_absent(totals):
        return [*lines, f"  nothing is known of its tasks: {totals['absent']}"]
    whole = totals["time"]["duration"]
    shares = {label: totals["time"][part] / whole for part, label in _PARTS.items() if whole}
    told = [f"{label} {share:.0%}" for label, share in shares.items() if share >= 0.005]
    tasks = f"{totals['tasks']} tasks took {show_seconds(whole / 1000)}"
    lines.append(screen.paragraph(f"{tasks}: {', '.join(told)}", "  ", "    "))
    idle = totals["idle_slot_share"]
    if not is_absent(idle):
        lines.append(f"  {idle:.0%} of the time of {totals['slots']} task slots went by idle")
    return lines


def _executors(executors: list[dict[str, Any]], screen: Screen) -> list[str]:
    if not executors:
        return []
    head = ("executor", "CPUs", "tasks", "CPU time", "GC", "memory", "local", "waited for CPU")
    shown = sorted(executors, key=lambda e: -(e["tasks"] or 0))[:_EXECUTORS]
    rows = [_executor(executor) for executor in shown]
    lines = table(screen, head, rows, right="tasks GC memory local")
    return [*lines, *_more(len(executors) - len(shown), "executors")]


def _executor(executor: dict[str, Any]) -> tuple[str, ...]:
    use, gc, memory = executor["use"], executor["gc"], executor["memory"]
    return (
        str(executor["id"]),
        "-" if is_absent(executor["cpus"]) else brief_ids(executor["cpus"], 16),
        str(executor["tasks"]),
        _of(use, "cpu_s", lambda cpu: show_seconds(cpu["user"] + cpu["system"])),
        _of(gc, "share", lambda share: f"{share:.1%}"),
        _of(use, "rss_max_mb", lambda mb: show_mb(int(mb))),
        _of(memory, "local_share", lambda share: f"{share:.0%}"),
        _of(use, "run_delay_s", show_seconds),
    )


#: Of the top-down method, level 1; then what Awan's formulas say of cycles.
_TOP_DOWN = {
    "retiring": "retiring",
    "bad_speculation": "bad speculation",
    "front_end_bound": "front end",
    "back_end_bound": "back end",
}
_BACK_END = {"memory_bound": "memory", "core_bound": "core"}
_OF_CYCLES = {
    "local_dram_bound": "local DRAM",
    "remote_dram_bound": "remote DRAM",
    "l1_miss_impact": "L1 misses",
    "l2_hit_impact": "L2 hits",
}


def _processor(metrics: dict[str, Any], screen: Screen) -> list[str]:
    """Top-down of all executors, and Awan's shares; where no counter ran, the gaps tell."""
    if is_absent(metrics):
        return []
    total = metrics["total"]
    level_one = _shares(total, _TOP_DOWN)
    if not level_one:
        line = f"top-down: not available: {total['retiring']['absent']}"
        return [screen.paragraph(line, "  ", "    "), *_of_cycles(total, screen)]
    level_two = _shares(total, _BACK_END)
    inside = f" ({', '.join(level_two)})" if level_two else ""
    line = f"top-down: {', '.join(level_one)}{inside}; confidence {_least(total, _TOP_DOWN)}"
    return [screen.paragraph(line, "  ", "    "), *_of_cycles(total, screen)]


def _of_cycles(total: dict[str, Any], screen: Screen) -> list[str]:
    told = []
    ipc = total["instructions_per_cycle"]
    if not is_absent(ipc):
        told.append(f"{ipc['value']:.2f} instructions per cycle")
    shares = _shares(total, _OF_CYCLES)
    if shares:
        confidence = _least(total, _OF_CYCLES)
        told.append(f"of the cycles: {', '.join(shares)}; confidence {confidence}")
    return [screen.paragraph("; ".join(told), "  ", "    ")] if told else []


def _shares(total: dict[str, Any], names: dict[str, str]) -> list[str]:
    known = [(words, total[name]) for name, words in names.items() if not is_absent(total[name])]
    return [f"{words} {metric['value']:.0%}" for words, metric in known]


def _least(total: dict[str, Any], names: dict[str, str]) -> str:
    """The least confidence of those that are known."""
    told = [total[name]["confidence"] for name in names if not is_absent(total[name])]
    return next(level for level in ("low", "medium", "high") if level in told)


def _of(group: Any, name: str, show: Any) -> str:
    """A field of a group that may be absent, as may the field; `-` then."""
    if is_absent(group) or is_absent(group.get(name)):
        return "-"
    return str(show(group[name]))


def _stages(stages: Any, screen: Screen) -> list[str]:
    if is_absent(stages) or not stages:
        return []
    shown = sorted(stages, key=lambda stage: -stage["time"]["duration"])[:_STAGES]
    head = ("stage", "name", "tasks", "task time", "longest/median", "spilled")
    rows = [
        (
            str(stage["id"]),
            (stage["name"] or "-")[:_NAME_WIDTH],
            str(stage["tasks"]),
            show_seconds(stage["time"]["duration"] / 1000),
            "-" if is_absent(stage["skew"]) else f"{stage['skew']:.1f}",
            show_bytes(stage["spill"]["disk"]),
        )
        for stage in shown
    ]
    lines = table(screen, head, rows, right="tasks longest/median spilled")
    return [*lines, *_more(len(stages) - len(shown), "stages, shorter")]


def _more(count: int, what: str) -> list[str]:
    return [f"  and {count} more {what}"] if count > 0 else []


def _findings(findings: list[dict[str, Any]], screen: Screen) -> list[str]:
    lines = []
    for finding in findings[:_FINDINGS]:
        text = finding["sentence"] + (f" {_sentence(finding['next_step'])}")
        lines.append(screen.paragraph(text, "* ", "  "))
    return [*lines, *_more(len(findings) - _FINDINGS, "findings ('hearth runs show ID --json')")]


def _sentence(step: str | None) -> str:
    return f"{step[0].upper()}{step[1:].rstrip('.')}." if step else ""


def _gaps(analysis: dict[str, Any], screen: Screen) -> list[str]:
    absent = [probe["name"] for probe in analysis["probes"] if probe["status"] != "on"]
    lines = []
    if absent:
        text = f"not measured here: {', '.join(absent)} ('hearth runs show ID --json' says why)"
        lines.append(screen.paint(screen.paragraph(text, "  "), "dim"))
    for warning in analysis["warnings"][:2]:
        text = f"{warning['what']}: {warning['remedy']}" if warning["remedy"] else warning["what"]
        lines.append(screen.paragraph(text, "! ", "  "))
    return lines
