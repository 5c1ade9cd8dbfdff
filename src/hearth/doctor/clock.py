"""What a machine knows of its clock: whether the kernel's is synchronised (adjtimex(2)), which
programs keep it so, and its time zone. By how much two machines differ, neither can tell.
"""

import ctypes
import re
import struct
from dataclasses import dataclass
from pathlib import Path

from hearth.base.absent import Absent, Measured
from hearth.base.codec import parse, typed
from hearth.doctor.tree import NotSeen, Tree

#: Where a capture holds it: no file of the kernel does.
CAPTURED = "etc/hearth-clock.json"
_LOCAL = "etc/localtime"
_UNSYNCHRONISED = 0x40  # STA_UNSYNC
#: maxerror and status of struct timex on machines with longs of 8 bytes.
_ERROR, _STATUS = 24, 40
#: Names of processes, which the kernel cuts after 15 characters.
_SERVICES = frozenset({"chronyd", "ntpd", "systemd-timesyn", "ptp4l", "phc2sys", "timemaster"})
#: What ends a file of the time zone database (tzfile(5)): a value of TZ (tzset(3)).
_RULE = re.compile(r"[\w<>+,./:-]{3,80}", re.ASCII)


@dataclass(frozen=True)
class Clock:
    """A machine's clock; what could not be seen is None.

    error_s: the most that it is off, by the kernel's own estimate. services: programs that were
    seen to keep it. zone: the rule of the time zone, such as `CET-1CEST,M3.5.0,M10.5.0/3`.
    """

    synchronised: bool | None
    error_s: float | None
    services: list[str]
    zone: str | None


def read_clock(root: Path = Path("/")) -> Clock:
    """Return that of this machine; nothing is set."""
    tree = Tree(root)
    synchronised, error_s = _kernel()
    return Clock(synchronised, error_s, _services(tree), _zone(tree))


def captured_clock(tree: Tree) -> Measured[Clock]:
    """Return that of a capture; why not, where it is of an older hearth or damaged."""
    try:
        clock = typed(parse(tree.text(CAPTURED)), Clock)
    except NotSeen as reason:
        return Absent(str(reason))
    except ValueError as error:
        return Absent(f"could not read /{CAPTURED}: {error}")
    words = [*clock.services, *([] if clock.zone is None else [clock.zone])]
    if not all(_RULE.fullmatch(word) for word in words):
        return Absent(f"could not read /{CAPTURED}: it is not what hearth writes there")
    return clock


def _kernel() -> tuple[bool | None, float | None]:
    if ctypes.sizeof(ctypes.c_long) != 8:
        return None, None
    answer = ctypes.create_string_buffer(512)
    if ctypes.CDLL(None, use_errno=True).adjtimex(answer) < 0:
        return None, None
    (status,) = struct.unpack_from("i", answer, _STATUS)
    (error_us,) = struct.unpack_from("q", answer, _ERROR)
    return not status & _UNSYNCHRONISED, error_us / 1e6


def _services(tree: Tree) -> list[str]:
    found = set()
    for process in tree.names("proc", r"\d{1,10}"):
        try:
            found.add(tree.text(f"proc/{process}/comm"))
        except NotSeen:  # it has ended, or is another user's
            continue
    return sorted(found & _SERVICES)


def _zone(tree: Tree) -> str | None:
    """Return the rule at the end of the file; without a file it is UTC (tzset(3))."""
    if not tree.has(_LOCAL):
        return "UTC0"
    try:
        content = tree.data(_LOCAL)
    except NotSeen:
        return None
    rule = content.removesuffix(b"\n").rpartition(b"\n")[2].decode("ascii", "replace")
    return rule if content.startswith(b"TZif") and _RULE.fullmatch(rule) else None
