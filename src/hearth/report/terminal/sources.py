"""The subjects of a report: recorded runs, comparisons, any Spark event log."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hearth.analysis.analysis import analyse, analyse_event_log
from hearth.analysis.document import Analysis
from hearth.base.codec import to_json
from hearth.base.errors import UserError
from hearth.record.store import LAST, find_record
from hearth.studies.characterise.result import Characterised
from hearth.studies.characterise.study import read_characterisation
from hearth.studies.colocate.prediction import read_colocated
from hearth.studies.colocate.result import Colocated
from hearth.studies.compare.result import Compared
from hearth.studies.compare.study import read_comparison
from hearth.studies.compare.verdict import compared
from hearth.studies.engine.trial import Outcome
from hearth.studies.tune.result import tuned
from hearth.studies.tune.study import read_tune

Document = dict[str, Any]


@dataclass
class Sources:
    """The analyses of some runs, and the document of an experiment of each kind."""

    analyses: list[Analysis] = field(default_factory=list)
    comparison: Compared | None = None
    characterisation: Characterised | None = None
    tune: Document | None = None
    colocation: Colocated | None = None

    def document(self) -> Document:
        """All of it, for machines: contract/report.schema.json."""
        return {
            "schema": "hearth/report/1",
            "comparison": to_json(self.comparison),
            "characterisation": to_json(self.characterisation),
            "tune": self.tune,
            "colocation": to_json(self.colocation),
            "runs": to_json(self.analyses),
        }


def read_sources(names: list[str], state_home: Path) -> Sources:
    """Reads each: the id or directory of what hearth keeps, or an event log.

    In a comparison each arm is represented by its run with the median time. Raises UserError for a
    name that is none of these, and for a second comparison.
    """
    sources = Sources()
    for name in names:
        named_here = name != LAST
        directory = _directory(name, state_home) if named_here else None
        if directory is not None and (directory / "comparison.json").is_file():
            if sources.comparison is not None:
                raise UserError(f"'{name}' is a second comparison: report one at a time")
            found = read_comparison(directory)
            said = compared(found.head, found.outcomes)
            sources.comparison = said
            for record in _median_runs(said, found.outcomes):
                sources.analyses.append(analyse(state_home / "records" / record))
        elif directory is not None and (directory / "characterisation.json").is_file():
            if sources.characterisation is not None:
                raise UserError(f"'{name}' is a second characterisation: report one at a time")
            sources.characterisation = read_characterisation(state_home, directory)
        elif directory is not None and (directory / "tune.json").is_file():
            if sources.tune is not None:
                raise UserError(f"'{name}' is a second tune: report one at a time")
            sources.tune = tuned(read_tune(directory))
        elif directory is not None and (directory / "colocation.json").is_file():
            if sources.colocation is not None:
                raise UserError(f"'{name}' is a second colocation: report one at a time")
            sources.colocation = read_colocated(directory)
        elif directory is not None and (directory / "record.json").is_file():
            sources.analyses.append(analyse(directory))
        elif named_here and Path(name).exists():
            sources.analyses.append(analyse_event_log(Path(name)))
        else:
            sources.analyses.append(analyse(find_record(state_home, name).directory))
    return sources


def _directory(name: str, state_home: Path) -> Path | None:
    """Of what hearth keeps; `last` is never a file or directory that happens to have this name."""
    if name == "last":
        return find_record(state_home, name).directory
    folders = ("comparisons", "characterisations", "tunes", "colocations", "records")
    for place in (Path(name), *(state_home / folder / name for folder in folders)):
        if place.is_dir():
            return place
    return None


def _median_runs(comparison: Compared, outcomes: list[Outcome]) -> list[str]:
    """The record of each arm's run whose time is nearest to the arm's median."""
    records = []
    for arm in comparison.finished:
        times = {
            outcome.record: abs(outcome.counted_s - arm.median)
            for outcome in outcomes
            if outcome.arm == arm.name and outcome.counted_s is not None and outcome.record
        }
        if times:
            records.append(min(times, key=times.__getitem__))
    return records
