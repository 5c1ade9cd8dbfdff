"""Times as a person writes them, `90s`, `30m`, `2h`, and reads them, `2 min 05 s`."""

import re
from datetime import UTC, datetime

from hearth.base.errors import UserError

_DURATION = re.compile(r"\A(\d+(?:\.\d+)?)([smh])")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


def parse_seconds(text: str, what: str) -> float:
    """Return seconds; raise UserError, naming the option, for what is not a duration."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise UserError(f"{what}: '{text}' is not a duration: use a number and s, m or h, e.g. 30m")
    return float(match[1]) * _SECONDS[match[2]]


def show_seconds(seconds: float | None, decimals: int = 1) -> str:
    """Return a readable time: `8.4 s`, `2 min 05 s`, `1 h 02 min`; `-` where unknown.

    decimals: of a time below a minute.
    """
    if seconds is None:
        return "-"
    if seconds < 60:
        return f"{seconds:.{decimals}f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def span(least_s: float, most_s: float) -> str:
    """Return a time that lies between two: `2 min 40 s to 6 min 30 s`."""
    ends = [show_seconds(end, 0) for end in (least_s, most_s)]
    return " to ".join(dict.fromkeys(ends))


def show_moment(text: str) -> str:
    """Return a time of a record, `2026-11-23 07:21:52 UTC`; as it stands where it is none."""
    try:
        return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    except ValueError:
        return text
