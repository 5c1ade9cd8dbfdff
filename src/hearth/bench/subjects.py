"""What is run in several ways: an application of the user's, or one of hearth's workloads."""

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from hearth.bench import cases, runner
from hearth.bench.arms import Arm, profile_words
from hearth.bench.catalogue import Catalogue
from hearth.launch.arguments import SubmitLine
from hearth.launch.children import run_child

Document = dict[str, Any]
_PROFILE = (sys.executable, "-m", "hearth", "profile", "--no-summary", "--arm")


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
        command = [*arm.prefix, *_PROFILE, arm.name, *profile_words(arm, self.line)]
        code = run_child(command, {}, log)
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        record = runner.record_of(lines)
        if record is not None and not code:
            return Ended(record)
        said = [line for line in lines if line.strip() and not line.startswith(runner.RECORD)]
        last = said[-1].strip()[:200] if said else ""
        return Ended(record, failure=f"ended with {code}: {last} (log: {log})")


@dataclass(frozen=True)
class Workload:
    """One of hearth's workloads, its answer checked at each run."""

    offer: Catalogue
    case: cases.Case
    master: str = "local-numa"

    @property
    def name(self) -> str:
        return self.case.job.name

    @property
    def timed(self) -> str:
        if self.case.job.stream is not None:
            return "median processing time of a batch"
        return "the job's own phases, without the start of Spark"

    def run(self, arm: Arm, log: Path) -> Ended:
        job = self.offer.job(arm.job) if arm.job else self.case.job
        parameters = {**({} if arm.job else self.case.parameters), **dict(arm.parameters)}
        case = replace(self.case, job=job, parameters=parameters)
        program = (*arm.prefix, *_PROFILE, arm.name, *arm.words)
        try:
            done = cases.run(self.offer, case, arm.master or self.master, program=program)
        except runner.RunError as failure:
            return Ended(failure.record, failure=str(failure))
        verdict = done.document["verdict"]
        if verdict["status"] == "wrong":
            return Ended(done.record, failure=f"its answer is wrong: {verdict['detail']}")
        return _finished(done)


def _finished(done: cases.Finished) -> Ended:
    stream = done.document.get("streaming")
    told = {"answer": done.document["verdict"]["status"]}
    if stream is None:
        return Ended(done.record, seconds=done.document["seconds"], told=told)
    median = stream["processing_ms"].get("median")
    if median is None:
        return Ended(done.record, failure="no batch was measured: give a longer --duration-s")
    return Ended(done.record, seconds=median / 1000, told={**told, "streaming": stream})
