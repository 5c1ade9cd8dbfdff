"""The subjects of a report: recorded runs, comparisons, any Spark event log."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from hearth.analysis.analysis import analyse, analyse_event_log
from hearth.analysis.document import Analysis
from hearth.base.errors import UserError
from hearth.record.store import LAST, records_home
from hearth.studies.bench.result import BenchResult, bench_result
from hearth.studies.bench.study import Results
from hearth.studies.characterise.result import Characterised
from hearth.studies.characterise.study import Characterisation
from hearth.studies.colocate.result import Colocated
from hearth.studies.compare.result import Compared
from hearth.studies.compare.study import Comparison
from hearth.studies.compare.verdict import compared
from hearth.studies.engine.store import (
    BENCH,
    CHARACTERISE,
    COLOCATE,
    COMPARE,
    KINDS,
    STUDY,
    TUNE,
    StudyKind,
)
from hearth.studies.engine.trial import Trial
from hearth.studies.listing import find_run_or_study
from hearth.studies.published.result import Repeated
from hearth.studies.published.study import PublishedStudy
from hearth.studies.tune.result import Tuned


@dataclass
class Sources:
    """The runs, and at most one study of each kind, in a report."""

    schema: Literal["hearth/report/1"] = "hearth/report/1"
    comparison: Compared | None = None
    characterisation: Characterised | None = None
    tune: Tuned | None = None
    colocation: Colocated | None = None
    study: Repeated | None = None
    series: BenchResult | None = None
    runs: list[Analysis] = field(default_factory=list)

    @property
    def studies(self) -> list[object]:
        """The documents of the studies."""
        each = (getattr(self, kind.name) for kind in KINDS)
        return [one for one in each if one is not None]


def read_sources(names: list[str], state_home: Path) -> Sources:
    """Read each: the id or directory of what hearth keeps, or an event log.

    In a comparison each arm is represented by its run with the median time. Raises UserError for a
    name that is none of these, and for a second comparison.
    """
    sources = Sources()
    for name in names:
        if name != LAST and Path(name).exists() and not _is_kept(Path(name)):
            sources.runs.append(analyse_event_log(Path(name)))
            continue
        kind, directory = _found(name, state_home)
        if kind is not None:
            if getattr(sources, kind.name) is not None:
                raise UserError(f"'{name}' is a second {kind.name}: report one at a time")
            _STUDIES[kind](sources, directory, state_home)
        else:
            sources.runs.append(analyse(directory))
    return sources


def read_run(name: str, state_home: Path) -> Analysis:
    """Read the one run that `--from` names; raise UserError for none or several."""
    runs = read_sources([name], state_home).runs
    if len(runs) != 1:
        raise UserError(f"--from: '{name}' is not a single run: give a run or an event log")
    return runs[0]


def _found(name: str, state_home: Path) -> tuple[StudyKind | None, Path]:
    """Return the directory of what hearth keeps: named as it is, or by an id."""
    if name == LAST or not _is_kept(Path(name)):
        return find_run_or_study(state_home, name)
    return _kind(Path(name)), Path(name)


def _is_kept(directory: Path) -> bool:
    """Return whether it is the directory of a study or of a record."""
    return _kind(directory) is not None or (directory / "record.json").is_file()


def _kind(directory: Path) -> StudyKind | None:
    """Return the kind of study that a directory holds."""
    return next((kind for kind in _STUDIES if (directory / kind.head).is_file()), None)


def _comparison(sources: Sources, directory: Path, state_home: Path) -> None:
    comparison = Comparison.read(directory)
    sources.comparison = compared(comparison.head, comparison.trials)
    for record in _median_runs(sources.comparison, comparison.trials):
        sources.runs.append(analyse(records_home(state_home) / record))


def _characterisation(sources: Sources, directory: Path, _state_home: Path) -> None:
    sources.characterisation = Characterisation.read(directory).characterised()


def _tune(sources: Sources, directory: Path, _state_home: Path) -> None:
    from hearth.studies.tune.study import read_tune  # numpy and scipy: other sources do without
    from hearth.studies.tune.verdict import tuned  # likewise

    sources.tune = tuned(read_tune(directory))


def _colocation(sources: Sources, directory: Path, _state_home: Path) -> None:
    from hearth.studies.colocate.prediction import read_colocated  # numpy, likewise

    sources.colocation = read_colocated(directory)


def _study(sources: Sources, directory: Path, _state_home: Path) -> None:
    sources.study = PublishedStudy.read(directory).repeated()


def _series(sources: Sources, directory: Path, _state_home: Path) -> None:
    sources.series = bench_result(Results.read(directory))


_STUDIES = {
    COMPARE: _comparison,
    CHARACTERISE: _characterisation,
    TUNE: _tune,
    COLOCATE: _colocation,
    STUDY: _study,
    BENCH: _series,
}


def _median_runs(comparison: Compared, trials: list[Trial]) -> list[str]:
    """Return the record of each arm's run whose time is nearest to the arm's median."""
    records = []
    for arm in comparison.finished:
        times = {
            trial.record: abs(trial.counted_s - arm.median)
            for trial in trials
            if trial.arm == arm.name and trial.counted_s is not None and trial.record
        }
        if times:
            records.append(min(times, key=times.__getitem__))
    return records
