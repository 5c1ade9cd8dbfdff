"""Find in the log of a run why it failed."""

import re
from pathlib import Path

from hearth.base.java import without_options

#: Begins the line with which `hearth profile` ends its output.
_RECORD = "hearth: record "
_REASON_LENGTH = 300
#: The line of an exception: its class with its package, then what it says.
_RAISED = re.compile(r"\A[\w.$]+(Error|Exception)(:|$)")

#: A line of Spark's log, by date or time and level.
_LOGGED = re.compile(r"[\d/:\-. ,]{8,30}(INFO|WARN|DEBUG|TRACE)\b")


def lines_of(log: Path) -> list[str]:
    """Return the lines of a log, whatever bytes it holds, without options that JVMs picked up."""
    return without_options(log.read_text(encoding="utf-8", errors="replace")).strip().splitlines()


def reason(lines: list[str]) -> str:
    """Return the log line that best explains why a run failed."""
    lines = [line for line in lines if line.strip() and not line.startswith(_RECORD)]
    for mark in ("workloads: ", "hearth: "):
        marked = [line.removeprefix(mark) for line in lines if line.startswith(mark)]
        if marked and lines and lines[-1].startswith(mark):
            return marked[-1]
    causes = [line for line in lines if line.startswith(("Caused by: ", "Exception in thread "))]
    memory = [line for line in lines if "OutOfMemoryError" in line]
    # Py4J gives the JVM's own exception a line of its own, behind a colon.
    of_py4j = [line for line in lines if line.startswith(": ") and _RAISED.match(line[2:])]
    python = [line for line in lines if _RAISED.match(line)]
    other = [line for line in lines if "Error" in line or "Exception" in line]
    # What the program itself said last is before what Spark logs as it ends.
    programs = [line for line in lines if not _LOGGED.match(line)]
    best = (
        *(memory[:1], causes[-1:], of_py4j[-1:], python[-1:], other[:1]),
        *(programs[-1:], lines[-1:]),
    )
    for candidates in best:
        if candidates:
            return candidates[0].removeprefix(": ").strip()[:_REASON_LENGTH]
    return "there is no output"
