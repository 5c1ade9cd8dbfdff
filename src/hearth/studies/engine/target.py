"""The targets of studies: the user's application, or one of hearth's workloads.

A command line names one: a file, a workload, or a suite of workloads. The answer of a workload is
checked in each run.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from hearth.base.errors import UserError
from hearth.base.progress import working
from hearth.base.sizes import parse_bytes
from hearth.record.store import has_begun, read_record
from hearth.spark.children import run_child
from hearth.spark.saved_configs import application, workload_named
from hearth.spark.submission import check_application
from hearth.spark.submit_args import SubmitLine, is_application
from hearth.studies.engine.arms import Arm, profile_words, properties_words
from hearth.studies.engine.trial import Trial, Turn
from hearth.workloads import cases, catalogue, datasets, logs, runner, suites
from hearth.workloads.catalogue import Catalogue, Job
from hearth.workloads.parameters import pairs

PROFILE = (sys.executable, "-m", "hearth", "profile", "--no-summary")


class Target(Protocol):
    """The target of a comparison; `timed` says what its seconds measure."""

    @property
    def name(self) -> str: ...

    @property
    def timed(self) -> str: ...

    def run(self, turn: Turn, arm: Arm, record: Path, log: Path) -> Trial:
        """Run it once, on record in this new directory, its output in `log`."""


def on_record(arm: Arm, record: Path) -> Sequence[str]:
    """Return the beginning of a command whose run becomes this record."""
    limit = () if arm.limit_s is None else ("--limit", f"{arm.limit_s:.1f}s")
    return (*arm.prefix, *PROFILE, *limit, "--arm", arm.name, "--record", record.name)


def kept_id(record: Path) -> str | None:
    """Return the id of a record, where the run that was to write it came so far."""
    return record.name if has_begun(record) else None


@dataclass(frozen=True)
class ApplicationTarget:
    """An application as given on a command line."""

    line: SubmitLine
    timed: str = "the application, from start to end"

    @property
    def name(self) -> str:
        return Path(self.line.application[0]).name

    def run(self, turn: Turn, arm: Arm, record: Path, log: Path) -> Trial:
        with working(f"{self.name} runs"):
            code = run_child([*on_record(arm, record), *profile_words(arm, self.line)], {}, log)
        number = kept_id(record)
        if code:
            why = f"ended with {code}: {logs.reason(logs.lines_of(log))} (log: {log})"
            return Trial(turn, failure=why, record=number)
        if number is None:
            return Trial(turn, failure=f"left no record (log: {log})")
        return Trial(turn, seconds=read_record(record).wall_s, record=number)


@dataclass(frozen=True)
class WorkloadTarget:
    """A job with its parameters and data; a target, see `Target`."""

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

    @property
    def input_bytes(self) -> int:
        """About the size of the data that it reads; it need not have been made."""
        case = self.case
        wanted = datasets.wanted_by(
            self.offer, case.job, case.parameters, case.size_bytes, case.seed
        )
        return sum(one.size_bytes for one in wanted.values())

    def run(self, turn: Turn, arm: Arm, record: Path, log: Path) -> Trial:
        job = self.offer.job(arm.job) if arm.job else self.case.job
        parameters = {**({} if arm.job else self.case.parameters), **dict(arm.parameters)}
        conf = {**self.case.conf, **dict(arm.conf)}
        case = replace(self.case, job=job, parameters=parameters, conf=conf)
        program = (*on_record(arm, record), *arm.words, *properties_words(arm))
        try:
            done = cases.run(self.offer, case, arm.master or self.master, program=program)
        except runner.RunError as failure:
            return Trial(turn, failure=str(failure), record=kept_id(record))
        trial = _trial(turn, done.document)
        return replace(trial, record=kept_id(record))


def _trial(turn: Turn, document: dict[str, Any]) -> Trial:
    verdict, stream = document["verdict"], document.get("streaming")
    if verdict["status"] == "wrong":
        return Trial(turn, failure=f"its answer is wrong: {verdict['detail']}")
    if stream is None:
        return Trial(turn, seconds=document["seconds"], answer=verdict["status"])
    median = stream["processing_ms"].get("median")
    if median is None:
        return Trial(turn, failure="no batch was measured: give a longer --duration-s")
    due = [batch["time_ms"] for batch in stream.get("batches", ()) if not batch["warm_up"]]
    return Trial(
        turn, seconds=median / 1000, answer=verdict["status"], streaming=stream,
        ramp_up_end_ms=min(due, default=None),
    )  # fmt: skip


def tuned_as(line: SubmitLine) -> str:
    """Return the name under which `hearth tune` keeps its result."""
    name = line.application[0]
    return application(line) if is_application(name) else workload_named(name)


def target_of(line: SubmitLine, verb: str) -> tuple[Target, Job | None]:
    """Return the target that the line names; verb: what is done with it, for messages.

    Raises UserError for a suite, and for an application whose file is not there.
    """
    name = line.application[0]
    if is_application(name):
        check_application(name)
    all_targets = targets(line)
    if len(all_targets) != 1:
        names = ", ".join(target.name for target, _ in all_targets[:3])
        raise UserError(
            f"'{name}' is {len(all_targets)} workloads: {verb} one of them, such as {names}"
        )
    return all_targets[0]


def targets(line: SubmitLine) -> list[tuple[Target, Job | None]]:
    """Return the application, or the workloads of a suite, or the named workload."""
    name, rest = line.application[0], line.application[1:]
    if is_application(name):
        return [(ApplicationTarget(line), None)]
    offer = catalogue.load()
    if name in suites.NAMES:
        entries = suites.suite(name, offer)
    else:
        entries = [suites.SuiteEntry(offer.job(name))]
    return [_workload(line, offer, entry.job, entry.parameters, rest) for entry in entries]


def _workload(
    line: SubmitLine, offer: Catalogue, job: Job, fixed: dict[str, str], rest: Sequence[str]
) -> tuple[Target, Job]:
    others = [o.name for o in line.options if o.name not in ("--conf", "--master")]
    if others:
        names = ", ".join(others)
        raise UserError(f"{names}: of spark-submit's options a workload takes --conf and --master")
    parameters = {**fixed, **pairs(rest)}
    size = parameters.pop("size", None)
    settings = (o.value or "" for o in line.options if o.name == "--conf")
    conf = dict(setting.partition("=")[::2] for setting in settings)
    case = cases.Case(
        job, parameters, None if size is None else parse_bytes(size, "--size"), conf=conf
    )
    cases.check(case, "local-numa")
    return WorkloadTarget(offer, case, line.last("--master") or WorkloadTarget.master), job
