"""Show where the kernel says executors are, and where the plan put them."""

from hearth.base.ids import brief_ids, show_ids
from hearth.base.sizes import show_bytes
from hearth.machine.placement import PlacedExecutor, Placement
from hearth.report.terminal.screen import Screen, table

_HEAD = ["executor", "place", "pid", "CPUs", "policy", "anonymous memory", "ran on", "verdict"]


def show_placement(report: Placement, screen: Screen) -> list[str]:
    """Return a table with a row for each executor, then a line for each deviation and note."""
    executors = report.executors
    if not executors:
        return ["  no executor has registered yet"]
    lines = table(screen, _HEAD, [_row(executor, screen) for executor in executors], "pid")
    for executor in executors:
        for word, sentences in (("drift", executor.drift), ("note", executor.notes)):
            for sentence in sentences:
                text = f"executor {executor.executor_id} {sentence}"
                head = screen.paint(f"{word}: ", "yellow" if word == "drift" else "dim")
                lines.append(screen.paragraph(head + text, "  ", "    "))
    return lines


def _row(executor: PlacedExecutor, screen: Screen) -> list[str]:
    kernel, planned = executor.kernel, executor.planned_cpus
    nodes = executor.planned_memory_nodes
    start = [
        executor.executor_id,
        f"{executor.place} (node {nodes})" if nodes else str(executor.place),
        str(executor.pid),
    ]
    verdict = _verdict(executor.verdict, screen)
    if kernel is None:
        return [*start, f"planned {brief_ids(planned, 24)}", "-", "-", "-", verdict]
    return [
        *start,
        _cpus(planned, kernel.cpus_allowed),
        " ".join(kernel.policies) or "-",
        _memory(kernel.anonymous_bytes),
        brief_ids(show_ids(int(cpu) for cpu in kernel.threads_on_cpu), 24),
        verdict,
    ]


def _cpus(planned: str, allowed: str) -> str:
    if planned == allowed:
        return brief_ids(allowed, 24)
    return f"{brief_ids(allowed, 24)}, planned {brief_ids(planned, 24)}"


def _memory(by_node: dict[str, int]) -> str:
    """Return `node 0: 100% of 1.2 GB`: the share on each node, the largest first."""
    total = sum(by_node.values())
    if not total:
        return "none"
    largest_first = sorted(by_node.items(), key=lambda item: -item[1])
    shares = [f"node {node}: {100 * size / total:.4g}%" for node, size in largest_first]
    return f"{', '.join(shares)} of {show_bytes(total)}"


def _verdict(verdict: str, screen: Screen) -> str:
    styles = {"as planned": "green", "drift": "yellow", "gone": "red", "unreadable": "red"}
    styles["CPUs as planned, memory not bound"] = "yellow"
    return screen.paint(verdict, styles.get(verdict, "dim"))
