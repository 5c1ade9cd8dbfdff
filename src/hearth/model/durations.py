"""Times as a person writes them: `90s`, `30m`, `2h`."""

import re

from hearth.model.errors import UserError

_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smh])")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


def parse_seconds(text: str, what: str) -> float:
    """Seconds; raises UserError, naming the option, for what is not a time."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise UserError(f"{what}: '{text}' is not a time: give a number and s, m or h, such as 30m")
    return float(match[1]) * _SECONDS[match[2]]
