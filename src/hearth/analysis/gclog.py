"""Read the unified logs (JEP 271) that a JVM writes with -Xlog:gc*,safepoint=info.

Pauses of Serial, Parallel, G1, ZGC (generational or not) and Shenandoah all end in
`GC(N) Pause WHAT [BEFORE->AFTER(CAPACITY)] MILLISECONDSms`; what runs beside the application,
`Concurrent ...`, does not count. Needs the decorator `time` or `utctime`, which puts a pause on the
wall clock.
"""

import heapq
import io
import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from hearth.base.regular_files import open_regular

#: So many of a log's longest pauses are listed one by one; the sums cover all.
MOST_PAUSES = 5000
_LONGEST_LINE = 1 << 12
#: Read of one file: some ten million lines.
_MOST_TEXT = 1 << 30

# `(?>.*?WORDS)` goes to the first WORDS and no further, so that no line takes quadratic time.
_PAUSE = re.compile(
    r"\A(?>.*?GC\()(\d{1,18})\) (?:[yYoO]: )?Pause (.+?)"
    r"(?: \d{1,12}M->(\d{1,12})M\(\d{1,12}M\))? (\d{1,12}\.\d+)ms\s*$"
)
_CYCLE = re.compile(
    r"\A(?>.*?GC\()(\d{1,18})\) (?:Garbage|Minor|Major) Collection \(.*?\) "
    r"\d{1,12}M\([^)]*\)->(\d{1,12})M\([^)]*\)"
)
_STALL = re.compile(r"\A(?>.*?Allocation Stall \().*\) (\d{1,12}\.\d+)ms\s*$")


class LoggedPause(NamedTuple):
    """One stop of the application, ordered by its length."""

    pause_ms: float
    end_s: float
    kind: str


@dataclass
class GcLog:
    """The sums of one JVM's log; times in milliseconds."""

    collector: str | None = None
    pauses: int = 0
    pause_ms: float = 0.0
    allocation_stall_ms: float = 0.0
    heap_after_max_mb: int | None = None
    first_s: float | None = None
    #: pauses of which the time is known
    longest: list[LoggedPause] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def read_gc_log(*files: Path) -> GcLog:
    """Read one JVM's log, which may be rotated over several files, the oldest first."""
    log = GcLog()
    for file in files:
        try:
            _read_file(file, log)
        except OSError as error:
            log.warnings.append(f"{file.name} cannot be read: {error.strerror}")
    log.longest.sort(key=lambda pause: pause.end_s)
    if log.first_s is None:
        names = ", ".join(file.name for file in files)
        log.warnings.append(f"{names} holds no line of a JVM's log with the decorator 'time'")
    return log


def _read_file(file: Path, log: GcLog) -> None:
    with io.TextIOWrapper(open_regular(file), encoding="utf-8", errors="replace") as lines:
        left = _MOST_TEXT
        while line := lines.readline(_LONGEST_LINE):
            left -= len(line)
            if left < 0:
                log.warnings.append(f"{file.name}: what follows {_MOST_TEXT >> 20} MB is not read")
                return
            if len(line) == _LONGEST_LINE:
                continue  # no line of a JVM's: what follows of it begins with no decorator
            if not line.endswith("\n"):
                log.warnings.append(f"{file.name} breaks off in the middle of a line")
                return
            _take(line, log)


def _take(line: str, log: GcLog) -> None:
    if not line.startswith("["):
        return
    if "Pause " in line and (pause := _PAUSE.search(line)):
        _pause(pause, wall_seconds(line), log)
    elif "Collection (" in line and (cycle := _CYCLE.search(line)):
        log.heap_after_max_mb = max(log.heap_after_max_mb or 0, int(cycle[2]))
    elif "Allocation Stall" in line and (stall := _STALL.search(line)):
        log.allocation_stall_ms += float(stall[1])
    elif log.collector is None and "Using " in line:
        log.collector = line.rpartition("Using ")[2].strip()
    elif log.first_s is not None:
        return
    _seen_at(wall_seconds(line), log)


def _pause(line: re.Match[str], end_s: float | None, log: GcLog) -> None:
    _, what, after, duration = line.groups()
    pause_ms = float(duration)
    log.pauses += 1
    log.pause_ms += pause_ms
    if after is not None:
        log.heap_after_max_mb = max(log.heap_after_max_mb or 0, int(after))
    if end_s is None:
        return
    pause = LoggedPause(pause_ms, end_s, what.partition(" (")[0])
    if len(log.longest) < MOST_PAUSES:
        heapq.heappush(log.longest, pause)
    else:
        heapq.heappushpop(log.longest, pause)


def wall_seconds(line: str) -> float | None:
    """Return seconds since the epoch of a line's `time` or `utctime` decorator.

    None without one.
    """
    end = line.find("]")
    if end < 20 or line[5:6] != "-":
        return None
    try:
        return datetime.fromisoformat(line[1:end]).timestamp()
    except (ValueError, OverflowError):
        return None


def _seen_at(time_s: float | None, log: GcLog) -> None:
    if time_s is not None:
        log.first_s = time_s if log.first_s is None else log.first_s
