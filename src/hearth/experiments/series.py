"""A series: jobs x masters, repeated and interleaved, each result kept as soon as it is there.

The results are a file of JSON lines: the first says what the series is, each further one is a
finished case. A series that was killed goes on from its file; the same case is never run twice
unless it failed. Lines: contract/bench-result.schema.json.
"""

import json
import platform
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hearth
from hearth.experiments.journal import keep_line
from hearth.experiments.shapes import SeriesCase, SeriesHead
from hearth.model.documents import append_line, check, read_lines, reason
from hearth.model.errors import UserError
from hearth.model.private import private_directory
from hearth.model.redaction import Redaction
from hearth.planner import archive, places
from hearth.workloads import cases, catalogue, runner, suites

SCHEMA = "hearth/bench-result/1"
Document = dict[str, Any]


@dataclass(frozen=True)
class Series:
    """What is measured. warmup: runs of each job and master that come first and do not count."""

    name: str
    entries: list[suites.Entry]
    masters: list[str]
    repeat: int
    warmup: int
    size_bytes: int | None
    seed: int
    conf: dict[str, str] = field(default_factory=dict)

    def plan(self) -> list["Planned"]:
        """All runs in order: within a repetition jobs in random order, and masters within a job.

        The two runs of a pair stand side by side, so that what drifts slowly disturbs both alike.
        The order follows from the seed.
        """
        draw = random.Random(self.seed)
        planned = []
        for number in range(-self.warmup, self.repeat):
            for entry in draw.sample(self.entries, len(self.entries)):
                for master in draw.sample(self.masters, len(self.masters)):
                    planned.append(Planned(entry, master, number))
        return planned

    def described(self, machine: Document) -> Document:
        """The first line of the results: what must be the same for the series to go on."""
        entries = [{"label": e.label, "job": e.job.name, "set": e.parameters} for e in self.entries]
        settings = {"repeat": self.repeat, "warmup": self.warmup, "seed": self.seed}
        conf = Redaction.of(self.conf).settings(self.conf)
        return {
            "schema": SCHEMA,
            "record": "series",
            "suite": self.name,
            "entries": entries,
            "masters": self.masters,
            "settings": {**settings, "size_bytes": self.size_bytes, "conf": conf},
            "machine": machine,
            "versions": _versions(),
        }


@dataclass(frozen=True)
class Planned:
    """One run of a series; a negative repetition is a warm-up."""

    entry: suites.Entry
    master: str
    repetition: int

    @property
    def key(self) -> tuple[str, str, int]:
        return self.entry.label, self.master, self.repetition


def machine_facts(topology: Document) -> Document:
    """What tells machines apart, of the topology document."""
    return {
        "name": platform.node(),
        "kernel": platform.release(),
        "cpus": topology["allowed"]["cpus"],
        "memory_nodes": topology["allowed"]["nodes"],
        "nodes": len(topology["nodes"]),
    }


def _versions() -> Document:
    jars = [catalogue.workloads_jar(), places.hearth_jar()]
    release = places.spark_home() / "jars"
    core = sorted(release.glob("spark-core_*.jar"))
    return {
        "hearth": hearth.__version__,
        "jars": archive.key(jars, []),
        "spark": core[-1].stem.partition("-core_")[2] if core else "unknown",
        "java": str(places.java()),
    }


@dataclass
class Results:
    """The file of a series, and the cases in it."""

    path: Path
    series: Document
    cases: list[Document] = field(default_factory=list)

    @staticmethod
    def begin(path: Path, series: Document) -> "Results":
        """A new file, or the one that was begun with the same series.

        Raises UserError, naming what differs, for one of another machine, version or setting.
        """
        if path.exists() and path.stat().st_size:
            return _continued(path, series)
        results = Results(path, series)
        try:
            if not path.parent.exists():
                private_directory(path.parent)
            append_line(path, series)
        except OSError as error:
            raise UserError(
                f"'{path}' cannot be written: {error.strerror}; make room, or give another --out"
            ) from error
        return results

    def done(self, planned: Planned) -> bool:
        """Whether it ran to its end in this file; one that failed is tried again."""
        return any(_key(case) == planned.key and "reason" not in case for case in self.cases)

    def keep(self, case: Document) -> None:
        self.append(case)
        self.cases = [other for other in self.cases if _key(other) != _key(case)] + [case]

    def append(self, line: Document) -> None:
        """Written through to the disk before the next case begins."""
        keep_line(self.path, line)


def read(path: Path) -> Results:
    """A file of results; a last line that a kill cut short does not count.

    Raises UserError for a file that is none.
    """
    remedy = "give another file"
    try:
        first, *lines = read_lines(path, dict)[0]
        check(first, SeriesHead)
    except (OSError, ValueError) as error:
        raise UserError(
            f"'{path}' holds no results of hearth bench: {reason(error)}; {remedy}"
        ) from error
    results = Results(path, first)
    for number, case in enumerate(lines, start=2):
        try:
            check(case, SeriesCase)
            if "result" not in case and "reason" not in case:
                raise ValueError("it has neither a result nor a reason")
        except ValueError as error:
            print(f"hearth: '{path}': line {number} is left out: {error}", file=sys.stderr)
            continue
        results.cases = [other for other in results.cases if _key(other) != _key(case)] + [case]
    return results


def _continued(path: Path, series: Document) -> Results:
    found = read(path)
    for place in ("suite", "entries", "masters", "settings", "machine", "versions"):
        theirs, ours = found.series[place], json.loads(json.dumps(series[place]))
        if theirs != ours:
            what = _difference(place, theirs, ours)
            raise UserError(f"--out: '{path}' was begun with {what}: give another --out")
    whole = path.read_bytes()
    cut = whole.rfind(b"\n") + 1
    if cut < len(whole):
        with path.open("r+b") as file:
            file.truncate(cut)
    return found


def _difference(place: str, theirs: Any, ours: Any) -> str:
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in [*ours, *theirs]:
            if theirs.get(key) != ours.get(key):
                return f"{place}.{key} {theirs.get(key)}, now it is {ours.get(key)}"
    return f"other {place}"


def _key(case: Document) -> tuple[str, str, int]:
    return case["label"], case["master"], case["repetition"]


def run(
    offer: catalogue.Catalogue,
    series: Series,
    results: Results,
    tell: Callable[[int, int, Document], None],
) -> None:
    """Runs what is not in the results yet; a case that fails is kept with its reason.

    tell: number of the case, of how many, and its record, as soon as it is kept.
    """
    plan = series.plan()
    for number, planned in enumerate(plan, start=1):
        if results.done(planned):
            continue
        case = _case(offer, series, planned)
        results.keep(case)
        tell(number, len(plan), case)


def _case(offer: catalogue.Catalogue, series: Series, planned: Planned) -> Document:
    entry = planned.entry
    case = cases.Case(entry.job, entry.parameters, series.size_bytes, series.seed, series.conf)
    record: Document = {
        "schema": SCHEMA,
        "record": "case",
        "label": entry.label,
        "master": planned.master,
        "repetition": planned.repetition,
    }
    try:
        return {**record, "result": cases.run(offer, case, planned.master).document}
    except (UserError, runner.RunError) as failure:
        return {**record, "reason": str(failure)}


def counted(results: Results) -> Iterator[Document]:
    """The cases that count: neither warm-ups nor failures."""
    return (c for c in results.cases if c["repetition"] >= 0 and "reason" not in c)
