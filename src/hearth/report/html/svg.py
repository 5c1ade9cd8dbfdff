"""Marks, scales and axes of the page's pictures, as text: SVG 1.1, coloured by the page's CSS."""

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: User units of a picture's width; the page scales it, and scrolls it on a narrow screen.
WIDTH = 960
LEFT = 88
RIGHT = 16


def element(name: str, *children: str, **attributes: object) -> str:
    """One element. `class_` and `stroke_width` become `class` and `stroke-width`; None is left out.

    Children are markup: text goes through `text`.
    """
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(_plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = "".join(children)
    return f"<{name}{shown}>{inside}</{name}>"


def text(words: object) -> str:
    """Text, safe inside markup."""
    return html.escape(str(words))


def _plain(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Scale:
    """A linear map from values to user units."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        span = (self.high - self.low) or 1.0
        return self.start + (value - self.low) / span * (self.end - self.start)

    def ticks(self, about: int = 6) -> list[float]:
        """Round values within the scale, `about` as many as asked (Heckbert's nice numbers)."""
        span = self.high - self.low
        if span <= 0:
            return [self.low]
        raw = span / max(about, 1)
        magnitude = 10 ** math.floor(math.log10(raw))
        step = next(m * magnitude for m in (1, 2, 5, 10) if m * magnitude >= raw * 0.99)
        first = math.ceil(self.low / step)
        last = math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]


def time_scale(seconds: float) -> Scale:
    """From the start of the run to its end, over the picture's plot area."""
    return Scale(0.0, max(seconds, 1e-3), LEFT, WIDTH - RIGHT)


def show_time(seconds: float) -> str:
    """A readable moment of the run: `12 s`, `3:05`, `1:02:03`."""
    if seconds < 100:
        return f"{seconds:g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def time_axis(scale: Scale, top: float, bottom: float) -> str:
    """Grid lines and labels below."""
    marks = []
    for tick in scale.ticks(8):
        x = scale(tick)
        marks.append(element("line", x1=x, x2=x, y1=top, y2=bottom, class_="grid"))
        label = text(show_time(round(tick, 6)))
        marks.append(
            element("text", label, x=x, y=bottom + 14, class_="tick", text_anchor="middle")
        )
    return "".join(marks)


def value_axis(scale: Scale, show: str = "{:g}", about: int = 2) -> str:
    """Labels on the left of a lane."""
    marks = []
    for tick in scale.ticks(about):
        y = scale(tick)
        marks.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid"))
        label = text(show.format(round(tick, 9)))
        marks.append(element("text", label, x=LEFT - 6, y=y + 4, class_="tick", text_anchor="end"))
    return "".join(marks)


def lane_title(words: str, y: float) -> str:
    return element("text", text(words), x=0, y=y, class_="lane")


def steps(points: Iterable[tuple[float, float]], base: float | None = None) -> str:
    """The path data of a line that holds each value until the next; closed down to `base`."""
    path: list[str] = []
    first = last = 0.0
    for x, y in points:
        if path:
            path.append(f"H{x:.1f}V{y:.1f}")
        else:
            path.append(f"M{x:.1f} {y:.1f}")
            first = x
        last = x
    if path and base is not None:
        path.append(f"L{last:.1f} {base:.1f}L{first:.1f} {base:.1f}Z")
    return "".join(path)


def picture(label: str, height: float, *marks: str, width: float = WIDTH) -> str:
    """A picture with its name for those who cannot see it."""
    return element(
        "svg",
        element("title", text(label)),
        *marks,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=label,
        style=f"min-width:{min(width, 640):g}px",
    )


def table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """A table; numbers are set on the right."""
    cells = "".join(element("th", text(name), scope="col") for name in head)
    body = "".join(element("tr", "".join(_cell(value) for value in row)) for row in rows)
    return element(
        "div",
        element(
            "table",
            element("caption", text(caption)) if caption else "",
            element("thead", element("tr", cells)),
            element("tbody", body),
        ),
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label=caption or "table",
    )


def _cell(value: object) -> str:
    if isinstance(value, int | float):
        return element(
            "td",
            text(f"{value:,.3g}" if isinstance(value, float) else f"{value:,}"),
            class_="number",
        )
    return element("td", text(value))
