"""A series: jobs x masters, repeated and interleaved, each result kept as soon as it is known.

The results are a file of JSON lines: the first says what the series is, each further one is a
finished case. A killed series continues from its file; the same case is never run twice
unless it failed. Lines: `hearth schema bench-result`.
"""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import hearth
from hearth.base.codec import LEFT_OUT, reason, to_json
from hearth.base.errors import UserError
from hearth.base.limits import Count, NonEmpty, Positive
from hearth.base.redaction import Redaction
from hearth.machine import class_data, paths
from hearth.machine.topology import Topology
from hearth.studies.engine.progress import StudyProgress
from hearth.studies.engine.schedule import Repetitions, StudyDesign, conduct
from hearth.studies.engine.store import BENCH, Journal, Study, TypedCommand, to_resume
from hearth.studies.engine.trial import Trial, Turn
from hearth.workloads import cases, catalogue, runner, suites
from hearth.workloads.shapes import CaseResult

SCHEMA: Literal["hearth/bench-result/1"] = "hearth/bench-result/1"


@dataclass(frozen=True)
class SeriesEntry:
    """A job of a series."""

    label: str  #: names a row of the table
    job: str
    set: dict[str, str]  #: its parameters
    conf: dict[str, str] | None = field(default=None, metadata=LEFT_OUT)  #: for its runs alone


@dataclass(frozen=True)
class SeriesSettings:
    """How a series runs its cases."""

    repeat: Positive
    warmup: Count
    seed: Count
    size_bytes: Positive | None  #: null: the default of each generator
    conf: dict[str, str]


@dataclass(frozen=True)
class SeriesHead:
    """The settings that a series must keep to be continued: the first line of its results."""

    schema: Literal["hearth/bench-result/1"]
    record: Literal["series"]
    suite: str
    entries: NonEmpty[SeriesEntry]
    masters: NonEmpty[str]  #: ratios are to the first
    settings: SeriesSettings
    machine: dict[str, Any]
    versions: dict[str, Any]
    started: str
    command: TypedCommand | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class CaseLine:
    """A finished case of a series: its result, or the reason why it failed."""

    schema: Literal["hearth/bench-result/1"]
    record: Literal["case"]
    label: str
    master: str
    repetition: int  #: from 0; below 0: a warm-up, not measured
    #: as contract/workload-result.schema.json
    result: CaseResult | None = field(default=None, metadata=LEFT_OUT)
    reason: str | None = field(default=None, metadata=LEFT_OUT)  #: why it failed

    def __post_init__(self) -> None:
        """Raise ValueError for a case that did not end."""
        if self.result is None and self.reason is None:
            raise ValueError("it has neither a result nor a reason")

    @staticmethod
    def of(trial: Trial) -> "CaseLine":
        turn = trial.turn
        place = (turn.subject, turn.arm, turn.repetition)
        if trial.failure is not None:
            return CaseLine(SCHEMA, "case", *place, reason=trial.failure)
        return CaseLine(SCHEMA, "case", *place, trial.result)

    @property
    def trial(self) -> Trial:
        turn = Turn(self.label, self.master, self.repetition)
        if self.reason is not None or self.result is None:
            return Trial(turn, failure=self.reason)
        return Trial(turn, seconds=self.result["seconds"], result=self.result)


@dataclass(frozen=True)
class Series:
    """A series to measure. warmup: runs of each job and master that come first, not measured."""

    name: str
    entries: list[suites.SuiteEntry]
    masters: list[str]
    repeat: int
    warmup: int
    size_bytes: int | None
    seed: int
    conf: dict[str, str] = field(default_factory=dict)
    #: A repetition that would not fit into it is not begun.
    budget_s: float | None = None

    @property
    def redaction(self) -> Redaction:
        return Redaction.of(self.conf)

    def design(self) -> StudyDesign:
        """Return each job under each master; one that failed is tried again."""
        arms = {entry.label: self.masters for entry in self.entries}
        return StudyDesign(
            arms, self.repeat, self.warmup, self.seed, self.budget_s, failed_again=True
        )

    def described(self, machine: dict[str, Any], words: Sequence[str] = ()) -> SeriesHead:
        """Return the first line of the results: what must be the same for the series to continue.

        words: behind `hearth lab bench`, to go on with.
        """
        conf = self.redaction.settings(self.conf)
        return SeriesHead(
            schema=SCHEMA,
            record="series",
            suite=self.name,
            entries=[
                SeriesEntry(
                    e.label, e.job.name, e.parameters, self.redaction.settings(e.conf) or None
                )
                for e in self.entries
            ],
            masters=self.masters,
            settings=SeriesSettings(self.repeat, self.warmup, self.seed, self.size_bytes, conf),
            machine=machine,
            versions=_versions(),
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            command=TypedCommand.here(words, self.redaction),
        )


def machine_facts(topology: Topology) -> dict[str, Any]:
    """Return the facts that identify a machine."""
    return {
        "name": platform.node(),
        "kernel": platform.release(),
        "cpus": topology.allowed.cpus,
        "memory_nodes": topology.allowed.nodes,
        "nodes": len(topology.nodes),
    }


def _versions() -> dict[str, Any]:
    jars = [paths.workloads_jar(), paths.hearth_jar()]
    release = paths.spark_home() / "jars"
    core = sorted(release.glob("spark-core_*.jar"))
    return {
        "hearth": hearth.__version__,
        "jars": class_data.key(jars, []),
        "spark": core[-1].stem.partition("-core_")[2] if core else "unknown",
        "java": str(paths.java()),
    }


class Results(Study[SeriesHead, CaseLine]):
    """The file of a series, and the trials in it: of a run that is tried again, the last one."""

    kind, head_type, line_type = BENCH, SeriesHead, CaseLine

    @property
    def path(self) -> Path:
        return self.journal.file

    @property
    def trials(self) -> list[Trial]:
        """The last trial of each turn, in the order of time."""
        last: dict[Turn, Trial] = {}
        for line in self.lines:
            last.pop(line.trial.turn, None)
            last[line.trial.turn] = line.trial
        return list(last.values())

    @staticmethod
    def begin(path: Path, series: SeriesHead, redaction: Redaction | None = None) -> "Results":
        """Return a new file, or an existing one of the same series.

        Raises UserError, naming what differs, for one of another machine, version or setting.
        """
        journal = Journal(path, redaction)
        if path.exists() and path.stat().st_size:
            return _continued(journal, series)
        try:
            journal.begin(series)
        except OSError as error:
            raise UserError(
                f"'{path}' cannot be written: {error.strerror}; make room, or give another --out"
            ) from error
        return Results(series, journal)


def is_series(path: Path) -> bool:
    """Return whether a file holds the results of a series. Raises OSError."""
    with path.open("rb") as file:
        return SCHEMA.encode() in file.read(len(SCHEMA) + 20)


def resumed_by(path: Path) -> str:
    """Return what names a series behind `--resume`: its id, or its file of another directory."""
    number = BENCH.id_of(path)
    return number if BENCH.directory(paths.state_home(), number) == path else str(path)


def begun(state_home: Path, name: str) -> tuple[Path, list[str]]:
    """Return the file of a series, by its name or id, and the words with which it was begun.

    Raises UserError where there is none, or they are not kept.
    """
    there = os.path.isfile(name)  # noqa: PTH113 - no error for a name that is too long
    path = Path(name) if there else to_resume(BENCH, state_home, name)
    command = read(path).head.command
    option = f"--out {path}"
    if command is None:
        raise UserError(f"--resume: the command of {name} is not kept: type it, with {option}")
    return path, command.again(name, option)


def read(path: Path) -> Results:
    """Return a file of results; a last line that a kill cut short does not count.

    Raises UserError for any other file.
    """
    return _read(Journal(path))


def _read(journal: Journal) -> Results:
    try:
        series = journal.head(SeriesHead)
    except (OSError, ValueError) as error:
        raise UserError(
            f"'{journal.file}' is not a results file: {reason(error)}; give another file"
        ) from error
    return Results(series, journal, journal.read(CaseLine, first=2))


def _continued(journal: Journal, series: SeriesHead) -> Results:
    found = _read(journal)
    kept, now = to_json(found.head), journal.redaction.document(to_json(series))
    for place in ("suite", "entries", "masters", "settings", "machine", "versions"):
        theirs, ours = kept[place], now[place]
        if theirs != ours:
            what = _difference(place, theirs, ours)
            raise UserError(
                f"'{journal.file}' is of a series with {what}: "
                "type it as it was, or give another --out"
            )
    journal.cut_torn_line()
    return found


def _difference(place: str, theirs: Any, ours: Any) -> str:
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in [*ours, *theirs]:
            if theirs.get(key) != ours.get(key):
                return f"{place}.{key} {theirs.get(key)}, now it is {ours.get(key)}"
    return f"other {place}"


def run(
    offer: catalogue.Catalogue,
    series: Series,
    results: Results,
    progress: StudyProgress | None = None,
) -> None:
    """Run what is not in the results yet; progress: show how far it is."""
    entries = {entry.label: entry for entry in series.entries}

    def make(turn: Turn) -> Trial:
        return _trial(offer, series, entries[turn.subject], turn)

    def keep(trial: Trial) -> None:
        results.keep(CaseLine.of(trial))

    schedule = Repetitions(series.design())
    conduct(schedule, make, keep, earlier=results.trials, progress=progress)


def _trial(
    offer: catalogue.Catalogue, series: Series, entry: suites.SuiteEntry, turn: Turn
) -> Trial:
    conf = {**series.conf, **entry.conf}
    case = cases.Case(entry.job, entry.parameters, series.size_bytes, series.seed, conf)
    try:
        result: Any = cases.run(offer, case, turn.arm).document
    except (UserError, runner.RunError) as failure:
        return Trial(turn, failure=str(failure))
    return Trial(turn, seconds=result["seconds"], result=result)
