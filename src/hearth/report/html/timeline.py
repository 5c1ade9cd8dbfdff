"""The run on one time axis: stages, tasks against slots, GC, CPU by node, locality, bandwidth."""

from collections.abc import Callable, Sequence

from hearth.analysis.document import Analysis, Bandwidth, Pause, Series, Stage, Timeline
from hearth.model.measured import Absent, Measured
from hearth.report.html.svg import (
    LEFT,
    Scale,
    element,
    lane_title,
    picture,
    steps,
    text,
    time_axis,
    time_scale,
    value_axis,
)

#: Draws between two heights.
Draw = Callable[[float, float], str]
#: Title, height, and what draws it.
Lane = tuple[str, int, Draw]
#: No screen shows more; a day of samples is thinned to this many points.
_POINTS = 1200
_TITLE = 22
_GAP = 14
_BAR = 16
_STAGE_ROWS = 14


def draw_timeline(run: Analysis) -> str:
    """All lanes that the run has data for, one above the other."""
    scale = time_scale(run.record.wall_s)
    lanes = [
        _stages(run.stages, scale),
        _tasks(run.timeline, scale),
        _pauses(run.timeline, scale),
        *_cpu(run.timeline, scale),
        _locality(run.timeline, scale),
        *_bandwidth(run.timeline, scale),
    ]
    marks, y = [], 8.0
    for title, height, draw in filter(None, lanes):
        marks.append(lane_title(title, y + 10))
        marks.append(draw(y + _TITLE, y + _TITLE + height))
        y += _TITLE + height + _GAP
    axis = time_axis(scale, 8, y)
    words = f"Time axis of {run.record.application}: {run.record.wall_s:.1f} seconds"
    return picture(words, y + 22, axis, *marks)


def thin(values: Sequence[float], limit: int = _POINTS) -> list[tuple[int, float]]:
    """At most `limit` pairs of index and mean of the values from there to the next index."""
    size = max(1, -(-len(values) // limit))
    groups = ((i, values[i : i + size]) for i in range(0, len(values), size))
    return [(i, sum(group) / len(group)) for i, group in groups]


def _stages(stages: Measured[list[Stage]], scale: Scale) -> Lane | None:
    known = [] if isinstance(stages, Absent) else stages
    started = [(stage.submitted_s, stage) for stage in known if stage.submitted_s is not None]
    if not started:
        return None
    ends: list[float] = []
    places = []
    for start, stage in sorted(started, key=lambda pair: pair[0]):
        end = scale.high if stage.completed_s is None else stage.completed_s
        row = next((i for i, free in enumerate(ends) if free <= start), len(ends))
        ends[row : row + 1] = [end]
        places.append((stage, row, start, end))
    rows = min(len(ends), _STAGE_ROWS)

    def draw(top: float, bottom: float) -> str:
        return "".join(
            _stage_bar(stage, scale, top + (row % _STAGE_ROWS) * _BAR, (start, end))
            for stage, row, start, end in places
        )

    return f"stages ({len(started)})", rows * _BAR, draw


def _stage_bar(stage: Stage, scale: Scale, y: float, span: tuple[float, float]) -> str:
    start, end = span
    x, width = scale(start), max(scale(end) - scale(start), 1.5)
    name = f"stage {stage.id}: {stage.name}, {stage.tasks} tasks"
    bar = element(
        "rect",
        element("title", text(f"{name}, {end - start:.2f} s")),
        x=x,
        y=y,
        width=width,
        height=_BAR - 3,
        rx=2,
        fill=f"var(--c{stage.id % 8})",
        class_="mark",
    )
    label = text(stage.id)
    inside = element("text", label, x=x + 3, y=y + 10.5, style="fill:#fff;font-size:10px")
    return bar + (inside if width > 8 + 7 * len(str(stage.id)) else "")


def _tasks(timeline: Timeline, scale: Scale) -> Lane | None:
    times, running, slots = timeline.t, timeline.running_tasks, timeline.slots
    if isinstance(running, Absent) or isinstance(slots, Absent):
        return None
    high = max([*slots, *running, 1])

    def draw(top: float, bottom: float) -> str:
        y = Scale(0, high, bottom, top)
        busy = [(scale(times[i]), y(v)) for i, v in thin(running)]
        limit = [(scale(times[i]), y(v)) for i, v in thin(slots)]
        return (
            value_axis(y)
            + element("path", d=steps(busy, bottom), fill="var(--c0)", fill_opacity=0.55)
            + element("path", d=steps(limit), fill="none", stroke="var(--ink)", stroke_width=1.2)
        )

    return "running tasks (area) and task slots (line)", 64, draw


def _pauses(timeline: Timeline, scale: Scale) -> Lane | None:
    pauses = timeline.gc
    if isinstance(pauses, Absent) or not pauses:
        return None
    names = sorted({pause.executor for pause in pauses}, key=_natural)

    def draw(top: float, bottom: float) -> str:
        marks = []
        for row, name in enumerate(names):
            y = top + row * 14
            own = [pause for pause in pauses if pause.executor == name]
            label = text(name if name == "driver" else f"executor {name}")
            marks.append(
                element("text", label, x=LEFT - 6, y=y + 10, class_="tick", text_anchor="end")
            )
            marks.append(element("path", d=_ticks(own, scale, y), fill="var(--c1)"))
        return "".join(marks)

    return "garbage-collection pauses", 14 * len(names), draw


def _ticks(pauses: list[Pause], scale: Scale, y: float) -> str:
    """Every pause as a bar; those that fall on one pixel are drawn once."""
    path, last = [], -1.0
    for pause in sorted(pauses, key=lambda pause: pause.start_s):
        x = scale(pause.start_s)
        width = max(scale(pause.start_s + pause.pause_ms / 1000) - x, 0.8)
        if x + width > last + 0.3:
            path.append(f"M{x:.1f} {y:.0f}h{width:.1f}v11h-{width:.1f}z")
            last = x + width
    return "".join(path)


def _natural(name: str) -> tuple[bool, int, str]:
    return (not name.isdigit(), int(name) if name.isdigit() else 0, name)


def _cpu(timeline: Timeline, scale: Scale) -> list[Lane]:
    nodes = timeline.cpu_by_node
    if isinstance(nodes, Absent):
        return []
    return [
        (
            f"CPU of node {node} (share busy)",
            34,
            _share_lane(scale, timeline.t, [(f"node {node}", values)], filled=True),
        )
        for node, values in sorted(nodes.items(), key=lambda item: _natural(item[0]))
    ]


def _locality(timeline: Timeline, scale: Scale) -> Lane | None:
    shares = timeline.local_share_by_executor
    if isinstance(shares, Absent) or not shares:
        return None
    series = sorted(shares.items(), key=lambda item: _natural(item[0]))
    return (
        "share of anonymous memory on the executor's own node",
        60,
        _share_lane(scale, timeline.t, series, filled=False),
    )


def _share_lane(
    scale: Scale, times: list[float], series: list[tuple[str, Series]], filled: bool
) -> Draw:
    def draw(top: float, bottom: float) -> str:
        y = Scale(0, 1, bottom, top)
        marks = [value_axis(y, "{:.0%}", about=1)]
        for number, (name, values) in enumerate(series):
            known = _known(times, values)
            line = [(scale(known[i][0]), y(v)) for i, v in thin([value for _, value in known])]
            colour = f"var(--c{number % 8})"
            shape = {"fill": colour, "fill_opacity": 0.5} if filled else {"fill": "none"}
            marks.append(
                element(
                    "path",
                    element("title", text(name)),
                    d=steps(line, bottom if filled else None),
                    stroke=colour,
                    stroke_width=1.4,
                    **shape,
                )
            )
        return "".join(marks)

    return draw


def _known(times: list[float], values: Series) -> list[tuple[float, float]]:
    """Moments with a value."""
    return [(t, v) for t, v in zip(times, values, strict=False) if v is not None]


def absent_bandwidth(bandwidth: Measured[Bandwidth]) -> dict[str, Absent]:
    """What of the bandwidth is absent, each under its name."""
    if isinstance(bandwidth, Absent):
        return {"memory bandwidth": bandwidth}
    return {
        f"share of node {node}'s sustained bandwidth": of.share
        for node, of in bandwidth.nodes.items()
        if isinstance(of.share, Absent)
    }


def _bandwidth(timeline: Timeline, scale: Scale) -> list[Lane]:
    """A lane of shares with Awan's regions; in GB/s for nodes whose sustained rate is unknown."""
    bandwidth = timeline.bandwidth
    if isinstance(bandwidth, Absent):
        return []
    shares: list[tuple[str, Series]] = []
    rates: list[tuple[str, Series]] = []
    for node, of in sorted(bandwidth.nodes.items(), key=lambda item: _natural(item[0])):
        if isinstance(of.share, Absent):
            rates.append((f"node {node}", of.gb_s))
        else:
            shares.append((f"node {node}", of.share))
    lanes: list[Lane] = []
    if shares:
        title = "share of sustained memory bandwidth (latency: constant, linear, exponential)"
        lanes.append((title, 72, _region_lane(scale, timeline.t, shares)))
    if rates:
        lanes.append(("memory bandwidth, GB/s", 60, _rate_lane(scale, timeline.t, rates)))
    return lanes


#: Awan's regions of memory latency: name, from, to; the last one has no end.
_REGIONS = (("constant", 0.0, 0.4), ("linear", 0.4, 0.8), ("exponential", 0.8, None))


def _region_lane(scale: Scale, times: list[float], series: list[tuple[str, Series]]) -> Draw:
    most = max([1.0, *(v for _, values in series for v in values if v is not None)])

    def draw(top: float, bottom: float) -> str:
        y = Scale(0, most, bottom, top)
        bands = [_region(scale, y, *region) for region in _REGIONS]
        return "".join(bands) + value_axis(y, "{:.0%}", about=2) + _lines(scale, y, times, series)

    return draw


def _region(scale: Scale, y: Scale, name: str, low: float, high: float | None) -> str:
    top, bottom = y(y.high if high is None else high), y(low)
    opacity = {"constant": 0.0, "linear": 0.10, "exponential": 0.25}[name]
    band = element(
        "rect",
        element("title", text(f"{name} latency (Awan 2016), from {low:.0%} of sustained")),
        x=scale(scale.low),
        y=top,
        width=scale(scale.high) - scale(scale.low),
        height=bottom - top,
        fill="var(--bad)",
        fill_opacity=opacity,
        class_="region",
    )
    end = scale(scale.high) - 4
    label = element("text", text(name), x=end, y=top + 11, class_="tick", text_anchor="end")
    return band + label


def _rate_lane(scale: Scale, times: list[float], series: list[tuple[str, Series]]) -> Draw:
    most = max([1.0, *(v for _, values in series for v in values if v is not None)])

    def draw(top: float, bottom: float) -> str:
        y = Scale(0, most, bottom, top)
        return value_axis(y) + _lines(scale, y, times, series)

    return draw


def _lines(scale: Scale, y: Scale, times: list[float], series: list[tuple[str, Series]]) -> str:
    marks = []
    for number, (name, values) in enumerate(series):
        known = _known(times, values)
        line = [(scale(known[i][0]), y(v)) for i, v in thin([value for _, value in known])]
        marks.append(
            element(
                "path",
                element("title", text(name)),
                d=steps(line),
                stroke=f"var(--c{number % 8})",
                stroke_width=1.4,
                fill="none",
            )
        )
    return "".join(marks)
