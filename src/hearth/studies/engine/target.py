"""What is run and recorded in several ways: the user's application.

hearth's workloads are in `hearth.studies.engine.workload_target`: their checks need packages that
this module does not.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hearth.base.progress import working
from hearth.record.store import has_begun, read_record
from hearth.spark.children import run_child
from hearth.spark.submit_args import SubmitLine
from hearth.studies.engine.arms import Arm, profile_words
from hearth.studies.engine.trial import Outcome, Turn
from hearth.workloads import logs

PROFILE = (sys.executable, "-m", "hearth", "profile", "--no-summary")


class Target(Protocol):
    """What a comparison runs; `timed` says what its seconds are of."""

    @property
    def name(self) -> str: ...

    @property
    def timed(self) -> str: ...

    def run(self, turn: Turn, arm: Arm, record: Path, log: Path) -> Outcome:
        """Runs it once, on record in this new directory, its output in `log`."""


def on_record(arm: Arm, record: Path) -> Sequence[str]:
    """What begins the command of a run whose record is to be this one."""
    limit = () if arm.limit_s is None else ("--limit", f"{arm.limit_s:.1f}s")
    return (*arm.prefix, *PROFILE, *limit, "--arm", arm.name, "--record", record.name)


def kept_id(record: Path) -> str | None:
    """The id of a record, where the run that was to write it came so far."""
    return record.name if has_begun(record) else None


@dataclass(frozen=True)
class ApplicationTarget:
    """An application as given on a command line."""

    line: SubmitLine
    timed: str = "the application, from start to end"

    @property
    def name(self) -> str:
        return Path(self.line.application[0]).name

    def run(self, turn: Turn, arm: Arm, record: Path, log: Path) -> Outcome:
        with working(f"{self.name} runs"):
            code = run_child([*on_record(arm, record), *profile_words(arm, self.line)], {}, log)
        kept = kept_id(record)
        if code:
            why = f"ended with {code}: {logs.reason(logs.lines_of(log))} (log: {log})"
            return Outcome(turn, failure=why, record=kept)
        if kept is None:
            return Outcome(turn, failure=f"left no record (log: {log})")
        return Outcome(turn, seconds=read_record(record).wall_s, record=kept)
