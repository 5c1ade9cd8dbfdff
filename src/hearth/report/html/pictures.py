"""Bars, heat maps, intervals and the thread-to-CPU picture."""

from collections.abc import Callable
from typing import Any

from hearth.analysis.document import Places, Times
from hearth.report.html.svg import (
    LEFT,
    RIGHT,
    WIDTH,
    Scale,
    element,
    picture,
    table,
    text,
    time_axis,
    time_scale,
)

Document = dict[str, Any]
#: The parts of a task's time, in the order in which they are stacked.
PARTS: tuple[tuple[str, Callable[[Times], int]], ...] = (
    ("compute", lambda time: time.compute),
    ("GC", lambda time: time.gc),
    ("deserialise", lambda time: time.deserialise),
    ("wait for shuffle blocks", lambda time: time.shuffle_read_wait),
    ("write shuffle", lambda time: time.shuffle_write),
    ("scheduler delay", lambda time: time.scheduler_delay),
    ("serialise results", lambda time: time.result_serialise),
    ("fetch results", lambda time: time.getting_result),
)
_ROW = 22


def legend(names: list[str]) -> str:
    items = [
        element("li", f'<i style="background:var(--c{number % 8})"></i>', text(name))
        for number, name in enumerate(names)
    ]
    return element("ul", *items, class_="legend")


def draw_parts(rows: list[tuple[str, Times]]) -> str:
    """A bar for each row, of its time in each part (milliseconds given), all on one scale."""
    largest = max((_total(times) for _, times in rows), default=0.0)
    scale = Scale(0, largest or 1, LEFT + 60, WIDTH - RIGHT)
    marks = []
    for row, (name, times) in enumerate(rows):
        y = row * _ROW + 4
        marks.append(
            element("text", text(name), x=LEFT + 54, y=y + 12, class_="tick", text_anchor="end")
        )
        start = 0.0
        for number, (words, part) in enumerate(PARTS):
            seconds = part(times) / 1000
            title = element("title", text(f"{name}, {words}: {seconds:.2f} s"))
            if seconds > 0:
                marks.append(_bar(title, scale, start, seconds, y, f"var(--c{number})"))
            start += seconds
    return picture("Task time by part, in seconds over all tasks", len(rows) * _ROW + 8, *marks)


def _total(times: Times) -> float:
    return sum(part(times) for _, part in PARTS) / 1000


def _bar(title: str, scale: Scale, start: float, length: float, y: float, colour: str) -> str:
    x = scale(start)
    return element(
        "rect", title, x=x, y=y, width=scale(start + length) - x, height=_ROW - 6, fill=colour
    )


def draw_intervals(arms: list[Document], baseline: str) -> str:
    """Each arm's ratio of times to the baseline with its interval: left of 1 is faster."""
    shown = [arm for arm in arms if "low" in arm.get("ratio", {})]
    ends = [1.0, *(arm["ratio"][key] for arm in shown for key in ("low", "high"))]
    margin = 0.08 * (max(ends) - min(ends) or 1)
    scale = Scale(min(ends) - margin, max(ends) + margin, LEFT + 60, WIDTH - RIGHT)
    height = len(shown) * 30 + 30
    marks = []
    for tick in scale.ticks(6):
        x = scale(tick)
        marks.append(element("line", x1=x, x2=x, y1=4, y2=height - 22, class_="grid"))
        label = text(f"{tick:.3g}")
        marks.append(element("text", label, x=x, y=height - 8, class_="tick", text_anchor="middle"))
    one = scale(1.0)
    marks.append(
        element("line", x1=one, x2=one, y1=2, y2=height - 22, stroke="var(--ink)", stroke_width=1.5)
    )
    for row, arm in enumerate(shown):
        marks.append(_interval(arm, scale, 20 + row * 30))
    words = f"Ratio of each arm's time to {baseline}'s, with interval; below 1 is faster"
    return picture(words, height, *marks)


def _interval(arm: Document, scale: Scale, y: float) -> str:
    ratio = arm["ratio"]
    colour = (
        "var(--good)" if ratio["high"] < 1 else "var(--bad)" if ratio["low"] > 1 else "var(--c7)"
    )
    words = f"{arm['name']}: {ratio['value']:.3f} [{ratio['low']:.3f}, {ratio['high']:.3f}]"
    low, high, middle = (scale(ratio[key]) for key in ("low", "high", "value"))
    return element(
        "g",
        element("title", text(words)),
        element("text", text(arm["name"]), x=LEFT + 54, y=y + 4, text_anchor="end"),
        element("line", x1=low, x2=high, y1=y, y2=y, stroke=colour, stroke_width=4),
        element("circle", cx=middle, cy=y, r=6, fill=colour),
    )


def heat_map(cells: list[Document]) -> str:
    """Workers down, cores per worker across; each cell shows its time and class, tinted by time."""
    times = {(cell["executors"], cell["cores"]): cell for cell in cells}
    rows, columns = (sorted({key[i] for key in times}) for i in (0, 1))
    best = min(cell["seconds"] for cell in cells)
    worst = max(cell["seconds"] for cell in cells)
    head = element("th", "executors", scope="col") + "".join(
        element("th", text(f"{cores} core{'s' if cores > 1 else ''}"), scope="col")
        for cores in columns
    )
    body = "".join(
        element(
            "tr",
            element("th", text(row), scope="row"),
            "".join(_heat_cell(times.get((row, column)), best, worst) for column in columns),
        )
        for row in rows
    )
    inside = element("table", element("thead", element("tr", head)), element("tbody", body))
    return element(
        "div", inside, class_="scroll", tabindex=0, role="region", aria_label="sweep heat map"
    )


def _heat_cell(cell: Document | None, best: float, worst: float) -> str:
    if cell is None:
        return element("td", "")
    share = (cell["seconds"] - best) / ((worst - best) or 1)
    tint = f"background:color-mix(in srgb, var(--c1) {60 * share:.0f}%, var(--paper))"
    return element("td", text(f"{cell['seconds']:.4g} s, {cell['class']}"), style=tint)


def draw_threads(threads: Places, wall_s: float, node_of_cpu: dict[int, str]) -> str:
    """Which CPU each thread was seen on, over time, a colour for each thread (as in Chiba 2015)."""
    times, tids, cpus = threads.t, threads.tid, threads.cpu
    rows = {cpu: row for row, cpu in enumerate(sorted(set(cpus) | set(node_of_cpu)))}
    height = max(60.0, min(len(rows) * 14.0, 420.0))
    scale, y = time_scale(wall_s), Scale(0, max(len(rows) - 1, 1), 14 + height, 14)
    paths: dict[int, list[str]] = {}
    for t, tid, cpu in zip(times, tids, cpus, strict=True):
        paths.setdefault(tid, []).append(f"M{scale(t):.1f} {y(rows[cpu]):.1f}h3")
    marks = [time_axis(scale, 8, height + 22)]
    every = max(1, len(rows) // 24)
    for cpu, row in rows.items():
        if row % every == 0:
            node = f" (node {node_of_cpu[cpu]})" if cpu in node_of_cpu else ""
            label = text(f"CPU {cpu}{node}")
            marks.append(
                element("text", label, x=LEFT - 6, y=y(row) + 4, class_="tick", text_anchor="end")
            )
    for number, path in enumerate(paths.values()):
        marks.append(
            element(
                "path", d="".join(path), stroke=f"var(--c{number % 8})", stroke_width=3, fill="none"
            )
        )
    return picture("The CPU that each thread was seen on, over time", height + 44, *marks)


def data_table(head: list[str], rows: list[list[Any]], caption: str) -> str:
    """The picture's numbers, for readers who cannot see it."""
    return element(
        "details", element("summary", text(f"Numbers: {caption}")), table(head, rows, caption)
    )
