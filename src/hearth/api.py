"""hearth in a program or a notebook: what `import hearth` offers, and docs/guide.md describes.

Each function does what the command of its name does and returns its document as a dataclass. A
mistake of the caller's is a UserError whose message names the value, the limit and what to do.
"""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from tempfile import TemporaryFile
from typing import Literal

from hearth.analysis.analysis import analyse
from hearth.analysis.document import Analysis, Executor, Finding, Stage
from hearth.base.absent import Absent
from hearth.base.codec import parse, typed
from hearth.base.durations import show_seconds
from hearth.base.errors import UserError
from hearth.base.rows import Rows, html_table
from hearth.machine import jvm, paths
from hearth.machine.applications import Application, read_applications
from hearth.machine.placement import Placement
from hearth.machine.plan import Plan, PlanRequest
from hearth.machine.topology import Topology
from hearth.record.store import LAST, Record
from hearth.spark.submit_args import SubmitOptions
from hearth.studies.compare.result import Compared
from hearth.studies.listing import find_run

_USER_ERROR, _AN_ARM_FAILED = 2, 1
Binding = Literal["none", "node", "package"]
Kind = Literal["sql", "ml", "graph", "etl"]


def topology(machine: str | None = None) -> Topology:
    """Return this machine, or one that a capture or a description names, as `hearth topology`."""
    return jvm.topology(machine)


def plan(
    *,
    input: str | None = None,  # noqa: A002 - the name of the option
    workload: Kind | None = None,
    python: bool = False,
    executors: int | None = None,
    cores: int | None = None,
    memory: str | None = None,
    bind: Binding | None = None,
    occupied: str | None = None,
    conf: Mapping[str, str] | None = None,
    machine: str | None = None,
) -> Plan:
    """Return how Spark would use a machine, and why; run nothing.

    The arguments are those of `hearth plan`: what is given is honoured, or refused by a UserError.
    conf: Spark's settings. machine: a capture or a description; by default this machine.
    """
    request = PlanRequest(
        machine=machine,
        input=input,
        workload=workload,
        executors=executors,
        cores=cores,
        memory=memory,
        bind=bind,
        python=python,
        occupied=occupied,
        conf=conf or {},
    )
    return jvm.plan(request.document())


class Run:
    """A recorded run and its analysis, which is derived when it is first asked for."""

    def __init__(self, record: Record) -> None:
        self._record = record

    @property
    def id(self) -> str:
        """The record's id, as `hearth runs` lists it."""
        return self._record.id

    @property
    def state(self) -> str:
        """`finished`, `failed`, `interrupted`, `running` or `killed`."""
        return self._record.state

    @property
    def wall_s(self) -> float | None:
        """Seconds that the run took; None where its end was not seen."""
        return self._record.wall_s

    @cached_property
    def analysis(self) -> Analysis:
        """All that is known of the run, as `hearth schema analysis` describes it."""
        return analyse(self._record.directory)

    @property
    def stages(self) -> Rows[Stage]:
        """The stages; raises UserError, with the reason, where the run has no event log."""
        stages = self.analysis.stages
        if isinstance(stages, Absent):
            raise UserError(f"the stages of {self.id} are not known: {stages.reason}")
        return Rows(stages)

    @property
    def executors(self) -> Rows[Executor]:
        """The executors, and the driver."""
        return Rows(self.analysis.executors)

    @property
    def findings(self) -> Rows[Finding]:
        """The findings: costs and losses that stand out."""
        return Rows(self.analysis.findings)

    def __repr__(self) -> str:
        return f"<hearth lab run {self.id}: {self.state}>"

    def _repr_html_(self) -> str:
        rows = [(one.severity, one.sentence, one.next_step) for one in self.findings]
        head = ["severity", "finding", "next step"]
        return html_table(f"{self.id}: {self.state}, {show_seconds(self.wall_s)}", head, rows)


def load_run(name: str = LAST) -> Run:
    """Return a run on record: by its id, the beginning or end of that, or `last`."""
    return Run(find_run(paths.state_home(), name))


@dataclass(frozen=True)
class RunningApplication:
    """An application that hearth started or manages, as the kernel shows it now."""

    app_id: str
    name: str
    master: str
    driver_pid: int
    started_at: str
    executors: int | None  #: 0 for one JVM; None where they could not be read
    #: what differs from the plan, a sentence each; empty where all is as planned
    drift: list[str]
    ui: str | None = None


def status() -> Rows[RunningApplication]:
    """Return the applications of this user that run, as `hearth status` does."""
    applications, _ = read_applications(paths.state_home())
    return Rows([_running(each) for each in applications if each.alive])


def _running(application: Application) -> RunningApplication:
    record = application.record
    executors, drift = 0 if not application.is_bound else None, []
    try:
        if application.is_bound:
            answer = jvm.call("placement", "--run", str(application.directory))
            placement = typed(answer, Placement)
            executors = len(placement.executors)
            drift = [what for executor in placement.executors for what in executor.drift]
    except UserError as problem:  # of this application alone
        drift = [f"not known: {problem}"]
    given = {key: str(record[key]) for key in ("app_id", "name", "master", "started_at")}
    pid = int(record["driver_pid"])
    return RunningApplication(
        **given, driver_pid=pid, executors=executors, drift=drift, ui=record.get("ui")
    )


def compare(
    application: str | PathLike[str],
    *arguments: str,
    arms: Sequence[str] = (),
    repeat: int | None = None,
    warmup: int = 1,
    executors: int | None = None,
    cores: int | None = None,
    memory: str | None = None,
    conf: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
) -> Compared:
    """Run a workload or an application in several ways, as `hearth compare`, and return the result.

    arms: those to compare, the first of them the baseline; by default what the plan suggests.
    conf: Spark's settings. options: further words of `hearth compare` or spark-submit, such as
    `("--keep", "--class", "org.example.Job")`. Progress goes to standard error.
    """
    words = [] if repeat is None else ["--repeat", str(repeat)]
    words += ["--warmup", str(warmup)]
    words += SubmitOptions(executors=executors, cores=cores, memory=memory).to_words()
    if arms:
        words += ["--arms", ",".join(arms)]
    for key, value in (conf or {}).items():
        words += ["--conf", f"{key}={value}"]
    return _compare([*words, *options, fspath(application), *arguments])


def _compare(words: Sequence[str]) -> Compared:
    """Compare in a process of its own: what its runs need of the environment stays there."""
    command = [sys.executable, "-m", "hearth", "compare", "--json", *words]
    with TemporaryFile() as answer:
        code, last = _relayed(subprocess.Popen(command, stdout=answer, stderr=subprocess.PIPE))
        if code not in (0, _AN_ARM_FAILED):
            raise (UserError if code == _USER_ERROR else RuntimeError)(
                last.removeprefix("hearth: ")
            )
        answer.seek(0)
        document = parse(answer.read())
    if isinstance(document, dict) and "message" in document:  # it said why it ran nothing
        raise UserError(str(document["message"]))
    return typed(document, Compared)


def _relayed(child: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Pass on what a child tells of its progress; return its exit code and its last line."""
    last = ""
    assert child.stderr is not None
    with child:
        try:
            for line in child.stderr:
                last = line.decode(errors="replace").rstrip()
                print(last, file=sys.stderr, flush=True)
        except BaseException:
            child.terminate()
            raise
    return child.returncode, last
