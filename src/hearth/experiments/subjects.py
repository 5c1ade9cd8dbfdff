"""What is run in several ways and on record: an application of the user's.

hearth's workloads are in `hearth.experiments.workload`: their checks need packages that this
module does not.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from hearth.experiments.arms import Arm, profile_words
from hearth.launch.arguments import SubmitLine
from hearth.launch.children import run_child
from hearth.workloads import logs

Document = dict[str, Any]
PROFILE = (sys.executable, "-m", "hearth", "profile", "--no-summary", "--arm")


@dataclass(frozen=True)
class Ended:
    """One run that is over: its record, or why it failed.

    seconds: what is compared; None for the time from start to end. told: what else the run said.
    """

    record: str | None
    failure: str | None = None
    seconds: float | None = None
    told: Document = field(default_factory=dict)


class Subject(Protocol):
    """What a comparison runs; `timed` says what its seconds are of."""

    @property
    def name(self) -> str: ...

    @property
    def timed(self) -> str: ...

    def run(self, arm: Arm, log: Path) -> Ended:
        """Runs it once on record, its output in `log`."""


@dataclass(frozen=True)
class Application:
    """An application as it stands on a command line."""

    line: SubmitLine
    timed: str = "the application, from start to end"

    @property
    def name(self) -> str:
        return Path(self.line.application[0]).name

    def run(self, arm: Arm, log: Path) -> Ended:
        command = [*arm.prefix, *PROFILE, arm.name, *profile_words(arm, self.line)]
        code = run_child(command, {}, log)
        lines = logs.lines_of(log)
        record = logs.record_of(lines)
        if record is not None and not code:
            return Ended(record)
        return Ended(record, failure=f"ended with {code}: {logs.reason(lines)} (log: {log})")
