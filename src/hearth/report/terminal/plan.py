"""A plan as a person reads it: what was decided, where it is on the machine, and why."""

from collections.abc import Sequence
from itertools import groupby
from string import ascii_lowercase, ascii_uppercase

from hearth.base.errors import UserError
from hearth.base.ids import brief_ids, parse_ids, show_ids
from hearth.base.sizes import counted, show_mb
from hearth.machine.plan import Plan, PlannedExecutor, Reason
from hearth.machine.topology import Topology
from hearth.report.terminal.screen import Screen, table
from hearth.report.terminal.topology import name_of, summary

LETTERS = ascii_lowercase + ascii_uppercase
_ROWS_SHOWN = 32


def show_plan(plan: Plan, machine: Topology, screen: Screen, *, unbound: bool = False) -> list[str]:
    """Return the lines: the decision and why, and of several executors memory, partitions and map.

    unbound: whether the user has asked for executors that are not bound.
    """
    lines = [screen.title(f"{name_of(machine)}: {summary(machine)}")]
    lines += _decided(plan, screen, unbound)
    for warning in machine.warnings:
        lines.append(screen.paragraph(warning, indent="  warning    ", hanging=" " * 13))
    if plan.mode != "native":
        lines += ["", *_where(plan, machine, screen)]
    return [*lines, "", "--explain shows the reasons of all decisions, --explain heap those of one"]


def _where(plan: Plan, machine: Topology, screen: Screen) -> list[str]:
    lines = [screen.title("memory"), *memory_balance(plan, machine, screen), ""]
    lines += [screen.title("partitions"), *partitions(plan, screen), ""]
    return [*lines, screen.title("map"), *machine_map(places(plan), machine, screen)]


def explained(plan: Plan, key: str, machine: Topology, screen: Screen) -> list[str]:
    """Return the reasons of a plan, with its memory and partitions, or those of one decision.

    key: names that decision. UserError for another.
    """
    if not key:
        return [*_reasons(plan.reasons, screen), "", *_where(plan, machine, screen)]
    wanted = _plain_name(key)
    reasons = [r for r in plan.reasons if _plain_name(r.decision) == wanted]
    if not reasons:
        names = ", ".join(dict.fromkeys(reason.decision for reason in plan.reasons))
        raise UserError(f"--explain: the plan has no decision '{key}': it has {names}")
    return _reasons(reasons, screen)


def _plain_name(decision: str) -> str:
    return decision.lower().replace("-", " ").replace("_", " ").strip()


def _decided(plan: Plan, screen: Screen, unbound: bool) -> list[str]:
    executors = plan.executors
    first = executors[0]
    slots = sum(executor.task_slots for executor in executors)
    each = _each(executors, "task_slots")
    slots_of_each = f"{each} task slot{'' if each == '1' else 's'}"
    shape = f"{len(executors)} x {slots_of_each}, {slots} in all"
    reasons = {reason.decision: reason for reason in plan.reasons}
    lines = [
        f"  runs       {_mode_text(plan, unbound)}",
        f"  executors  {shape}",
        f"  memory     {_sizes(first)} for each",
    ]
    for text in _unused(plan):
        lines.append(screen.paragraph(text, indent="  unused     ", hanging=" " * 13))
    told = {"why": "partition", "so many": "executors", "expected": "expected gain"}
    if plan.mode == "native":
        del told["so many"]
    for name, decision in told.items():
        if decision in reasons:
            reason = reasons[decision]
            value = f"{reason.value}: " if name == "expected" else ""
            source = "" if plan.mode == "native" else f" [{reason.source}]"
            text = f"{value}{reason.because}{source}"
            lines.append(screen.paragraph(text, indent=f"  {name:<11}", hanging=" " * 13))
    for text in _limits(plan):
        lines.append(screen.paragraph(text, indent="  limit      ", hanging=" " * 13))
    for text in _beside(plan):
        lines.append(screen.paragraph(text, indent="  beside     ", hanging=" " * 13))
    return lines


def _unused(plan: Plan) -> list[str]:
    """Say which memory the plan leaves, and the option that changes it."""
    return [
        f"{one.value}: {one.because}" for one in plan.reasons if one.decision == "unused memory"
    ]


def _limits(plan: Plan) -> list[str]:
    """Say how quotas, a batch system's limits, isolated CPUs and limits of threads change it."""
    limits = ("cpu quota", "batch limit", "isolated CPUs", "nohz_full CPUs", "threads")
    named = (*limits, "memory tiers")
    return [
        f"{reason.decision} {reason.value}: {reason.because}"
        for reason in plan.reasons
        if reason.decision in named
    ]


def _beside(plan: Plan) -> list[str]:
    """Say how other applications and processes change this plan."""
    return [
        f"{reason.value}: {reason.because}"
        for reason in plan.reasons
        if reason.decision in ("neighbours", "leases", "sharing", "waiting")
    ]


def memory_balance(plan: Plan, machine: Topology, screen: Screen) -> list[str]:
    """Return a table of who gets the machine's memory; its rows add up to what there is."""
    executors = plan.executors
    total = sum(node.memory_bytes for node in machine.nodes) >> 20
    limit = machine.allowed.least_memory_bytes
    if limit is not None:
        total = min(total, limit >> 20)
    python_in_overhead = executors[0].pyspark_mb is None and plan.workload.python
    shares = [
        ("heap", "heap_mb"),
        ("off-heap", "off_heap_mb"),
        (
            f"threads, code, buffers{', Python workers' if python_in_overhead else ''}",
            "overhead_mb",
        ),
        ("Python workers", "pyspark_mb"),
    ]
    rows = []
    for name, key in shares:
        whole = sum(getattr(executor, key) or 0 for executor in executors)
        if whole:
            rows.append(
                [name, f"{len(executors)} x {show_mb(getattr(executors[0], key))}", show_mb(whole)]
            )
    if plan.mode != "native":
        rows.append(["driver", "", show_mb(plan.driver.memory_mb)])
    rows.append(
        ["left: page cache, kernel, other processes", "", show_mb(max(0, total - plan.memory_mb))]
    )
    rows.append(["memory that may be used", "", show_mb(total)])
    return table(screen, ["for", "each", "all"], rows, right="each all")


def show_plan_briefly(
    plan: Plan, command: str = "hearth plan", *, unbound: bool = False
) -> list[str]:
    """Return the plan in five lines, as `hearth submit` prints it, and a line for each reason about
    limits and neighbours.

    command: shows all of it. unbound: as for `show_plan`.
    """
    executors = plan.executors
    first = executors[0]
    slots = sum(executor.task_slots for executor in executors)
    why = next(iter(plan.reasons), None)
    places = "; ".join(_place(executor) for executor in executors[:4])
    more = f"; and {len(executors) - 4} more" if len(executors) > 4 else ""
    native = plan.mode == "native"
    bound = not native and " bound " in _mode_text(plan, unbound)
    where = f"{places}{more}" if bound else "not bound"
    return [
        f"plan: {_mode_text(plan, unbound)}",
        f"  slots   {counted(slots, 'task slot')}"
        + ("" if native else f" in all, {_each(executors, 'task_slots')} per executor"),
        f"  memory  {_sizes(first)}{'' if native else ' per executor'}",
        *(f"  unused  {text}" for text in _unused(plan)),
        *([] if native else [f"  place   {where}"]),
        f"  why     {why.because if why else 'no reason given'} (all: {command})",
        *(f"  limit   {text}" for text in _limits(plan)),
        *(f"  beside  {text}" for text in _beside(plan)),
    ]


def _mode_text(plan: Plan, unbound: bool) -> str:
    number = len(plan.executors)
    if plan.mode == "native":
        return f"one JVM ({plan.master})"
    # Executors that share CPUs with those of a lease are not bound either.
    shared = any(reason.decision == "sharing" for reason in plan.reasons)
    bound = "unbound" if unbound or shared else "bound"
    return f"{counted(number, f'{bound} executor')} ({plan.master})"


def _sizes(executor: PlannedExecutor) -> str:
    """Return `heap 31 GB, overhead 3.1 GB`, and off-heap memory and Python's, if any."""
    sizes = {
        "heap": executor.heap_mb,
        "off-heap": executor.off_heap_mb,
        "overhead": executor.overhead_mb,
        "Python workers": executor.pyspark_mb,
    }
    return ", ".join(f"{name} {show_mb(mb)}" for name, mb in sizes.items() if mb)


def _each(executors: list[PlannedExecutor], key: str) -> str:
    values = sorted({getattr(executor, key) for executor in executors})
    return f"{values[0]}" if len(values) == 1 else f"{values[0]} to {values[-1]}"


def _place(executor: PlannedExecutor) -> str:
    return f"CPUs {brief_ids(executor.cpus, 24)} on {_nodes(executor.memory_nodes)}"


def _nodes(ids: str) -> str:
    """Return `node 1`, `nodes 0-1`."""
    return f"node{'' if len(parse_ids(ids)) == 1 else 's'} {ids}"


def partitions(plan: Plan, screen: Screen) -> list[str]:
    python = [] if plan.executors[0].pyspark_mb is None else ["Python"]
    head = ["executor", "node", "CPUs", "slots", "heap", "off-heap", "overhead", *python, "GC"]
    groups = [list(alike) for _, alike in groupby(plan.executors, _likeness)]
    rows = [_partition(alike, plan, screen) for alike in groups[:_ROWS_SHOWN]]
    lines = table(screen, head, rows, right="slots heap off-heap overhead Python")
    if len(groups) > _ROWS_SHOWN:
        hidden = sum(map(len, groups[_ROWS_SHOWN:]))
        lines.append(f"  ... and {hidden} more: --json lists all")
    driver = plan.driver
    bound = f"on {_nodes(driver.memory_nodes)}" if driver.bound else "not bound"
    where = f"CPUs {brief_ids(driver.cpus)}, {bound}"
    return [*lines, f"  driver    {where}, heap {show_mb(driver.heap_mb)}"]


def _likeness(executor: PlannedExecutor) -> tuple[object, ...]:
    """Return what executors in one row have in common: all but their ids and CPUs."""
    sizes = (executor.heap_mb, executor.off_heap_mb, executor.overhead_mb)
    return executor.memory_nodes, executor.task_slots, *sizes, tuple(executor.java_options)


def _partition(alike: Sequence[PlannedExecutor], plan: Plan, screen: Screen) -> list[str]:
    """Return the row of executors that are alike, whose CPUs it has together."""
    executor, last = alike[0], alike[-1]
    names = [screen.hue(letter(one.id), one.id) for one in (executor, last)]
    ids = f"{executor.id} {names[0]}"
    cpus = {cpu for one in alike for cpu in parse_ids(one.cpus)}
    times = f"{len(alike)} x " if len(alike) > 1 else ""
    return [
        f"{executor.id}-{last.id} {names[0]}-{names[1]}" if times else ids,
        executor.memory_nodes if plan.mode == "partitioned" else "any",
        brief_ids(show_ids(cpus), 32),
        f"{times}{executor.task_slots}",
        show_mb(executor.heap_mb),
        show_mb(executor.off_heap_mb),
        show_mb(executor.overhead_mb),
        *([] if executor.pyspark_mb is None else [show_mb(executor.pyspark_mb)]),
        _collector(executor.java_options, plan),
    ]


def _collector(options: list[str], plan: Plan) -> str:
    """Return `G1 x8`: the collector and its threads, by the plan's JVM flags or by the user's."""
    users = {each.decision: each.value for each in plan.reasons if each.source == "user"}
    names = [o for o in options if o.startswith("-XX:+Use") and o.endswith("GC")]
    name = names[-1].removeprefix("-XX:+Use") if names else users.get("collector", "default")
    threads = [o.partition("=")[2] for o in options if o.startswith("-XX:ParallelGCThreads=")]
    number = threads[-1] if threads else users.get("collector threads")
    return f"{name.removesuffix('GC')} x{number}" if number else name.removesuffix("GC")


def letter(executor_id: int) -> str:
    """Return the letter of an executor on the map; after 52 the letters repeat."""
    return LETTERS[executor_id % len(LETTERS)]


def places(plan: Plan) -> list[tuple[int, str]]:
    """Return the id and the CPUs of each executor."""
    return [(executor.id, executor.cpus) for executor in plan.executors]


def machine_map(held: Sequence[tuple[int, str]], machine: Topology, screen: Screen) -> list[str]:
    """Return each node a row, each core a letter: the executor that owns it.

    held: of each executor its id and its CPUs. `.` is a core left free, `-` one that this process
    may not use, `+` one that several share.
    """
    owner: dict[int, set[int]] = {}
    for executor, ids in held:
        for cpu in parse_ids(ids):
            owner.setdefault(cpu, set()).add(executor)
    allowed = set(parse_ids(machine.allowed.cpus))
    node_of = {cpu: node.id for node in machine.nodes for cpu in parse_ids(node.cpus)}
    rows: dict[int | None, list[str]] = {node.id: [] for node in machine.nodes}
    for core in machine.cores:
        cpus = parse_ids(core.cpus)
        rows.setdefault(node_of.get(cpus[0]), []).append(_cell(cpus, owner, allowed, screen))
    lines = []
    for node, cells in rows.items():
        lines += _map_rows("no node" if node is None else f"node {node}", cells, screen)
    return [*lines, screen.paint("  " + _legend(machine), "dim")]


def _cell(cpus: list[int], owner: dict[int, set[int]], allowed: set[int], screen: Screen) -> str:
    owners = set().union(*(owner[cpu] for cpu in cpus if cpu in owner))
    if len(owners) > 1:
        return "+"
    if owners:
        executor = owners.pop()
        return screen.hue(letter(executor), executor)
    return "." if any(cpu in allowed for cpu in cpus) else "-"


def _map_rows(name: str, cells: list[str], screen: Screen) -> list[str]:
    room = max(8, (screen.width - 14) // 9 * 8)
    groups = [cells[start : start + room] for start in range(0, len(cells), room)] or [["no CPU"]]
    lines = []
    for index, group in enumerate(groups):
        if group == ["no CPU"]:
            text = screen.paint("no CPU", "dim")
        else:
            text = " ".join("".join(group[at : at + 8]) for at in range(0, len(group), 8))
        lines.append(f"  {name if index == 0 else '':<9} {text}")
    return lines


def _legend(machine: Topology) -> str:
    threads = {len(parse_ids(core.cpus)) for core in machine.cores}
    smt = f" ({max(threads)} hardware threads)" if max(threads, default=1) > 1 else ""
    return f"a letter is a core{smt} of that executor; . free, - not allowed, + shared"


def _reasons(reasons: list[Reason], screen: Screen) -> list[str]:
    lines = []
    for reason in reasons:
        lines.append(f"  {screen.title(reason.decision)}: {reason.value}")
        because = f"{reason.because} [{reason.source}]"
        lines.append(screen.paragraph(because, indent="      "))
    return lines
