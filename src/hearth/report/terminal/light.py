"""Show the light record of an application: what is known of a run that was not profiled."""

from datetime import datetime

from hearth.base.durations import show_moment, show_seconds
from hearth.base.sizes import counted, show_mb
from hearth.machine.applications import Application
from hearth.machine.plan import Plan
from hearth.report.terminal.screen import Screen

#: The word in place of an application, of Spark's own servers.
_SERVER = "spark-internal"


def show_light(application: Application, screen: Screen) -> list[str]:
    """Return what is known, and how to know more."""
    rows = [
        ("plan", planned(application)),
        ("started", _started(application)),
        ("CPU", _cpu(application)),
        ("memory", _memory(application)),
        ("tasks", _tasks(application)),
        ("killed", _killed(application)),
    ]
    lines = [screen.title(f"{application.id}  {application.record['name']}: {_ended(application)}")]
    for name, text in rows:
        if text:
            lines.append(screen.paragraph(text, f"  {name:<9}", " " * 11))
    if application.submitted is not None and application.submitted.application == [_SERVER]:
        return lines
    return [
        *lines,
        "This run was not profiled; where the time goes says:",
        f"  {application.profiled_by}",
    ]


def planned(application: Application) -> str:
    """Say in a line what the plan of an application is, without reading the kernel."""
    plan, master = application.plan, application.record["master"] or "Spark's default"
    if plan is None:
        return f"none of hearth's: the master is {master}"
    other = "" if master == plan.master else f"; the program set {master} itself"
    return f"{_shape(plan)} ({plan.master}){other}"


def _shape(plan: Plan) -> str:
    first, slots = plan.executors[0], sum(one.task_slots for one in plan.executors)
    sizes = f"{counted(slots, 'task slot')}, heap {show_mb(first.heap_mb)}"
    if plan.is_native:
        return f"unbound, one JVM by the plan: {sizes}"
    return f"{counted(len(plan.executors), 'executor')}: {sizes} each"


def _ended(application: Application) -> str:
    ended = application.ended
    if ended is None:
        unseen = "" if application.alive else "; nobody saw its exit code"
        return f"{application.state}{unseen}"
    how = "finished in" if ended.state == "finished" else f"{ended.state} after"
    return f"{how} {show_seconds(ended.wall_s)}, exit code {ended.exit_code}"


def _started(application: Application) -> str:
    moment = show_moment(application.started_at)
    if application.submitted is None or application.plan is None:
        return moment
    if application.record["state"] == "starting":
        return moment if application.alive else f"{moment}; it made no SparkContext"
    begun, ready = (datetime.fromisoformat(one[:19]) for one in
                    (application.started_at, application.record["started_at"]))  # fmt: skip
    return f"{moment}; its SparkContext after {show_seconds((ready - begun).total_seconds(), 0)}"


def _cpu(application: Application) -> str:
    ended = application.ended
    return f"{ended.cpu_user_s:.1f} s user, {ended.cpu_system_s:.1f} s system" if ended else ""


def _memory(application: Application) -> str:
    work = application.record.get("work", {})
    peak = application.ended.peak_mb if application.ended else work.get("driver_peak_mb")
    return f"{show_mb(peak)} at its peak, in the driver or what it waited for" if peak else ""


def _tasks(application: Application) -> str:
    work = application.record.get("work")
    if work is None:
        return ""
    failed = f" ({work['failed_tasks']} failed)" if work["failed_tasks"] else ""
    run_s, gc_s = work["task_seconds"], work["gc_seconds"]
    share = f", {gc_s / run_s:.0%} of it garbage collection" if run_s else ""
    return f"{work['tasks']}{failed}, run time {show_seconds(run_s)}{share}"


def _killed(application: Application) -> str:
    ended, work = application.ended, application.record.get("work", {})
    parts = [ended.memory_kills.sentence] if ended and ended.memory_kills else []
    lost = work.get("killed_executors", [])
    parts += [f"{'executor' if len(lost) == 1 else 'executors'} {', '.join(lost)}"] if lost else []
    return "; ".join(parts)
