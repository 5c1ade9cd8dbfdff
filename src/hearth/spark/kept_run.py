"""Keep what is known of an application from outside: how it was started, and how it ended."""

import json
import os
import shutil
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from hearth.base.codec import to_json
from hearth.base.private_files import private_directory, write_private
from hearth.base.processes import start_ticks
from hearth.base.redaction import Redaction
from hearth.machine.applications import (
    Application,
    Ended,
    Submitted,
    applications_home,
    applications_in,
    forget,
    forget_oldest,
    keep_end,
    submit_directory,
)
from hearth.machine.memory_kills import MemoryGroup, MemoryKills, memory_groups, memory_kills
from hearth.record.store import new_name
from hearth.spark.followed import RunEnd
from hearth.spark.submission import Submission
from hearth.spark.submit_args import SubmitLine, application_name

_KEPT = ("spark.hearth.runs.kept", "50")  # HearthKeys.RunsKept


@dataclass(frozen=True)
class MemoryWatch:
    """The kernel's counts of processes that it has ended for memory, when a run begins."""

    before: list[MemoryGroup] = field(default_factory=memory_groups)
    since_us: int = field(default_factory=lambda: time.monotonic_ns() // 1000)

    def kills(self) -> MemoryKills | None:
        """Return what it has ended since."""
        return memory_kills(self.before, memory_groups(), self.since_us)


def keep_start(
    submission: Submission, line: SubmitLine, state_home: Path, pid: int, record: str | None = None
) -> Path | None:
    """Make the directory of an application that a process is about to become; return where all are.

    record: the id of the run's record, where it is profiled. A failure is one warning, and None.
    """
    home = applications_home(state_home, submission.settings)
    directory = submit_directory(home, pid, start_ticks(pid) or 0)
    redaction = Redaction.of(submission.settings)
    name = application_name(line, submission.settings)
    submitted = Submitted(
        id=new_name(name),
        name=redaction.text(name),
        command=submission.launch.shown_command(redaction),
        application=redaction.words(line.application),
        master=submission.master,
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        machine=os.uname().nodename,
        driver_pid=pid,
        driver_start_ticks=start_ticks(pid) or 0,
        record=record,
    )
    try:
        private_directory(home)
        forget_oldest(home, _kept(submission.settings))
        shutil.rmtree(directory, ignore_errors=True)  # of the same numbers before a restart
        directory.mkdir(mode=0o700)
        _write(directory / "submit.json", to_json(submitted))
        if submission.plan is not None:
            _write(directory / "plan.json", redaction.plan(to_json(submission.plan)))
    except OSError as error:
        print(f"hearth: this run is not kept in '{home}': {error.strerror}", file=sys.stderr)
        return None
    return home


def keep_how_it_ended(end: RunEnd, kills: MemoryKills | None) -> list[str]:
    """Add how a run ended to what was kept of its start; return what the user should know.

    A failure is one warning.
    """
    if not end.said:
        return []
    ended = Ended(
        state="killed" if kills is not None and end.state == "failed" else end.state,
        exit_code=end.code,
        wall_s=round(end.wall_s, 3),
        cpu_user_s=round(end.cpu.user, 3),
        cpu_system_s=round(end.cpu.system, 3),
        peak_mb=end.peak_mb,
        memory_kills=kills,
    )
    try:
        kept = keep_end(Path(end.said), end.pid, end.start_ticks, ended)
    except OSError as error:
        return [f"how this run ended is not kept: {error.strerror}"]
    return [] if end.code else _beside_its_plan(kept)


def _beside_its_plan(applications: list[Application]) -> list[str]:
    """Return a note where the program ran on a master of its own, and not by the plan shown."""
    planned = {one.submitted.master for one in applications if one.submitted and one.plan}
    ran = {str(one.record["master"]) for one in applications if one.record["state"] != "starting"}
    other = sorted(ran - planned)
    if not planned or not other:
        return []
    return [f"it ran on {', '.join(other)}, which the program sets itself, and not by the plan"]


def forget_profiled(submission: Submission, state_home: Path, record: str) -> None:
    """Delete what is kept of one JVM beside its record, which has all of it: a study has many runs,
    and would leave no room for others.
    """
    for one in applications_in(applications_home(state_home, submission.settings))[0]:
        if one.submitted is not None and one.submitted.record == record and not one.is_bound:
            forget(one)


def _kept(settings: Mapping[str, str]) -> int:
    key, default = _KEPT
    value = settings.get(key, default)
    return int(value if value.isascii() and value.isdecimal() else default)


def _write(file: Path, document: Mapping[str, object]) -> None:
    write_private(file, json.dumps(document, indent=1))
