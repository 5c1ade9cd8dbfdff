"""Sizes as people and Spark write them: `20g`, `512m`, `1.5t`; binary units, as in the JVM.

Numbers with their noun too.
"""

import re

from hearth.base.errors import UserError

_UNITS = {"b": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([bkmgtp])?(?:i?b)?", re.IGNORECASE)
_MIB = 1 << 20
_MOST = 1 << 62


def parse_bytes(text: str, what: str) -> int:
    """Return bytes of a size such as `200g`; `what` names the option in the error.

    A number needs its unit (`b` for bytes): without one, Spark's keys disagree on what is meant.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None or match[2] is None:
        raise UserError(f"{what}: '{text}' is not a size: give a number and a unit, such as 20g")
    amount = float(match[1]) * (1 << (10 * _UNITS[match[2].lower()]))
    if amount > _MOST:
        raise UserError(f"{what}: '{text}' is more than any machine has: give a size such as 20g")
    size = int(amount)
    if size < 1:
        raise UserError(f"{what}: '{text}' is not a size above zero: give one such as 20g")
    return size


def parse_mb(text: str, what: str) -> int:
    """Return whole mebibytes of a size such as `20g`."""
    size = parse_bytes(text, what) // _MIB
    if size < 1:
        raise UserError(f"{what}: '{text}' is below one mebibyte: give a size such as 512m")
    return size


def parse_setting_mb(text: str, key: str) -> int:
    """Return the mebibytes of a Spark setting, whose plain numbers are mebibytes."""
    return parse_mb(f"{text.strip()}m" if text.strip().isdigit() else text, key)


def show_bytes(size: int) -> str:
    """Return a size in the largest unit that keeps it readable: `256 GB`, `1.5 TB`, `0`."""
    value = float(size)
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if value < 1024 or unit == "TB":
            break
        value /= 1024
    return f"{value:.1f} {unit}" if value < 10 and value != int(value) else f"{value:.0f} {unit}"


def show_mb(size_mb: int) -> str:
    """Show mebibytes as the planner does: never more than there is, `31 GB`, `1.2 TB`."""
    if size_mb < 1024:
        return f"{size_mb} MB"
    unit, name = (1 << 10, "GB") if size_mb < 1 << 20 else (1 << 20, "TB")
    whole, tenth = size_mb // unit, size_mb % unit * 10 // unit
    return f"{whole} {name}" if whole >= 10 or not tenth else f"{whole}.{tenth} {name}"


def counted(number: int, noun: str) -> str:
    """Return such as `1 core`, `2 cores`, `1,500 tasks`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
