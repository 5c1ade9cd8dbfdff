"""A series: jobs x masters, repeated and interleaved, each result kept as soon as it is known.

A killed series goes on where it was; the same case is never run twice unless it failed.
"""

import platform
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import hearth
from hearth.base.codec import LEFT_OUT
from hearth.base.errors import UserError
from hearth.base.limits import Count, NonEmpty, Positive
from hearth.base.redaction import Redaction
from hearth.machine import class_data, paths
from hearth.machine.topology import Topology
from hearth.studies.engine.progress import StudyProgress
from hearth.studies.engine.schedule import Repetitions, StudyDesign, conduct
from hearth.studies.engine.store import BENCH, NEW, Listed, Opening, Study, started_now
from hearth.studies.engine.trial import Trial, Turn
from hearth.workloads import cases, catalogue, runner, suites


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
    """What a series must keep to be continued: `series.json`."""

    id: str
    suite: str
    entries: NonEmpty[SeriesEntry]
    masters: NonEmpty[str]  #: ratios are to the first
    settings: SeriesSettings
    machine: dict[str, Any]
    versions: dict[str, Any]
    started: str


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

    def head(self, number: str, machine: dict[str, Any]) -> SeriesHead:
        """Return what must be the same for the series of this id to continue."""
        secrets = self.redaction
        entries = [
            SeriesEntry(e.label, e.job.name, e.parameters, secrets.settings(e.conf) or None)
            for e in self.entries
        ]
        conf = secrets.settings(self.conf)
        settings = SeriesSettings(self.repeat, self.warmup, self.seed, self.size_bytes, conf)
        return SeriesHead(
            number, self.name, entries, self.masters, settings, machine, _versions(), started_now()
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


class Results(Study[SeriesHead, Trial]):
    """A series on disk, and the trials in it."""

    kind, head_type, line_type = BENCH, SeriesHead, Trial

    @staticmethod
    def begin(
        home: Path, series: Series, machine: dict[str, Any], opening: Opening = NEW
    ) -> "Results":
        """Return a new one below `home`, or the one to go on with."""
        return Results.open(
            home, series.name, lambda number: series.head(number, machine),
            replace(opening, redaction=series.redaction),
        )  # fmt: skip

    @staticmethod
    def identity(head: SeriesHead) -> dict[str, object]:
        jobs = [one.label for one in head.entries]
        known = {"suite": head.suite, "jobs": jobs, "masters": head.masters}
        parts = {"machine": head.machine, "version": head.versions}
        each = {f"{part} {name}": of for part, its in parts.items() for name, of in its.items()}
        return {**known, **vars(head.settings), **each}

    @staticmethod
    def listed(head: SeriesHead) -> Listed:
        return Listed(head.started, head.suite, head.masters)

    @property
    def last(self) -> list[Trial]:
        """The last trial of each turn, in the order of time: one that failed is tried again."""
        last: dict[Turn, Trial] = {}
        for trial in self.trials:
            last.pop(trial.turn, None)
            last[trial.turn] = trial
        return list(last.values())


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

    schedule = Repetitions(series.design())
    conduct(schedule, make, results.keep, earlier=results.last, progress=progress)


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
