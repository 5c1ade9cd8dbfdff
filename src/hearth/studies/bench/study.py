"""A series: jobs x masters, repeated and interleaved, each result kept as soon as it is known.

The results are a file of JSON lines: the first says what the series is, each further one is a
finished case. A killed series continues from its file; the same case is never run twice
unless it failed. Lines: contract/bench-result.schema.json.
"""

import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import hearth
from hearth.base.codec import reason, to_json
from hearth.base.errors import UserError
from hearth.base.redaction import Redaction
from hearth.machine import class_data, paths
from hearth.machine.topology import Topology
from hearth.studies.engine.progress import Following
from hearth.studies.engine.schedule import Experiment, conduct
from hearth.studies.engine.schema import SeriesCase, SeriesEntry, SeriesHead, SeriesSettings
from hearth.studies.engine.store import Journal
from hearth.studies.engine.trial import Outcome, Turn
from hearth.workloads import cases, catalogue, runner, suites

SCHEMA = "hearth/bench-result/1"
Document = dict[str, Any]


@dataclass(frozen=True)
class Series:
    """What is measured. warmup: runs of each job and master that come first and do not count."""

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

    def experiment(self) -> Experiment:
        """Each job under each master; one that failed is tried again."""
        arms = {entry.label: self.masters for entry in self.entries}
        return Experiment(
            arms, self.repeat, self.warmup, self.seed, self.budget_s, failed_again=True
        )

    def described(self, machine: Document) -> SeriesHead:
        """The first line of the results: what must be the same for the series to continue."""
        conf = self.redaction.settings(self.conf)
        return SeriesHead(
            schema="hearth/bench-result/1",
            record="series",
            suite=self.name,
            entries=[SeriesEntry(e.label, e.job.name, e.parameters) for e in self.entries],
            masters=self.masters,
            settings=SeriesSettings(self.repeat, self.warmup, self.seed, self.size_bytes, conf),
            machine=machine,
            versions=_versions(),
        )


def machine_facts(topology: Topology) -> Document:
    """What identifies a machine."""
    return {
        "name": platform.node(),
        "kernel": platform.release(),
        "cpus": topology.allowed.cpus,
        "memory_nodes": topology.allowed.nodes,
        "nodes": len(topology.nodes),
    }


def _versions() -> Document:
    jars = [catalogue.workloads_jar(), paths.hearth_jar()]
    release = paths.spark_home() / "jars"
    core = sorted(release.glob("spark-core_*.jar"))
    return {
        "hearth": hearth.__version__,
        "jars": class_data.key(jars, []),
        "spark": core[-1].stem.partition("-core_")[2] if core else "unknown",
        "java": str(paths.java()),
    }


def _whole(line: Document) -> None:
    """Raises ValueError for a case that did not end."""
    if "result" not in line and "reason" not in line:
        raise ValueError("it has neither a result nor a reason")


_Case = Annotated[SeriesCase, _whole]


def case_line(outcome: Outcome) -> Document:
    """The line of an outcome: contract/bench-result.schema.json."""
    turn = outcome.turn
    place = {"label": turn.subject, "master": turn.arm, "repetition": turn.repetition}
    ended: Document = {"result": outcome.result}
    if outcome.failure is not None:
        ended = {"reason": outcome.failure}
    return {"schema": SCHEMA, "record": "case", **place, **ended}


def read_case(line: Document) -> Outcome:
    """The outcome of a line, which is of the shape `SeriesCase`."""
    turn = Turn(line["label"], line["master"], line["repetition"])
    if "reason" in line:
        return Outcome(turn, failure=line["reason"])
    result = line["result"]
    return Outcome(turn, seconds=result["seconds"], result=result)


class Results:
    """The file of a series, and the outcomes in it: of a run that is tried again, the last one."""

    def __init__(
        self, journal: Journal, series: SeriesHead, outcomes: Sequence[Outcome] = ()
    ) -> None:
        self.journal, self.series = journal, series
        self._outcomes: dict[Turn, Outcome] = {}
        for outcome in outcomes:
            self._take(outcome)

    @property
    def path(self) -> Path:
        return self.journal.file

    @property
    def outcomes(self) -> list[Outcome]:
        """In the order of time."""
        return list(self._outcomes.values())

    @staticmethod
    def begin(path: Path, series: SeriesHead, redaction: Redaction | None = None) -> "Results":
        """A new file, or an existing one of the same series.

        Raises UserError, naming what differs, for one of another machine, version or setting.
        """
        journal = Journal(path, redaction)
        if path.exists() and path.stat().st_size:
            return _continued(journal, series)
        try:
            journal.begin(to_json(series))
        except OSError as error:
            raise UserError(
                f"'{path}' cannot be written: {error.strerror}; make room, or give another --out"
            ) from error
        return Results(journal, series)

    def keep(self, outcome: Outcome) -> None:
        """On the disk before the next run begins."""
        self.journal.keep(case_line(outcome))
        self._take(outcome)

    def _take(self, outcome: Outcome) -> None:
        self._outcomes.pop(outcome.turn, None)
        self._outcomes[outcome.turn] = outcome


def read(path: Path) -> Results:
    """A file of results; a last line that a kill cut short does not count.

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
    lines = journal.read(_Case, first=2)
    return Results(journal, series, [read_case(line) for line in lines])


def _continued(journal: Journal, series: SeriesHead) -> Results:
    found = _read(journal)
    kept, now = to_json(found.series), journal.redaction.document(to_json(series))
    for place in ("suite", "entries", "masters", "settings", "machine", "versions"):
        theirs, ours = kept[place], now[place]
        if theirs != ours:
            what = _difference(place, theirs, ours)
            raise UserError(
                f"--out: '{journal.file}' is of a series with {what}: give another --out"
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
    following: Following | None = None,
) -> None:
    """Runs what is not in the results yet; following: shows how far it is."""
    entries = {entry.label: entry for entry in series.entries}

    def make(turn: Turn) -> Outcome:
        return _outcome(offer, series, entries[turn.subject], turn)

    conduct(series.experiment(), make, results.keep, earlier=results.outcomes, following=following)


def _outcome(
    offer: catalogue.Catalogue, series: Series, entry: suites.SuiteEntry, turn: Turn
) -> Outcome:
    case = cases.Case(entry.job, entry.parameters, series.size_bytes, series.seed, series.conf)
    try:
        result: Any = cases.run(offer, case, turn.arm).document
    except (UserError, runner.RunError) as failure:
        return Outcome(turn, failure=str(failure))
    return Outcome(turn, seconds=result["seconds"], result=result)
