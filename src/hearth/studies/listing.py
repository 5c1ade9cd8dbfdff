"""Comparisons, characterisations, tunes and colocations on disk, for a listing: no run is read."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from hearth.base.codec import raw_lines, read_typed
from hearth.base.errors import UserError
from hearth.studies.compare.result import ComparisonHead
from hearth.studies.engine.schema import CharacterisationHead, Line
from hearth.studies.engine.store import Journal

_REMEDY = "delete its directory to remove it from the list"

T = TypeVar("T")


@dataclass(frozen=True)
class _Aim:
    objective: str


@dataclass(frozen=True)
class _Tune:
    """Of `tune.json` what a listing shows: its own shape would load the tuner's libraries."""

    id: str
    application: str
    started: str
    settings: _Aim


@dataclass(frozen=True)
class _Member:
    name: str


@dataclass(frozen=True)
class _Ways:
    arms: list[str]


@dataclass(frozen=True)
class _Colocation:
    """The same of `colocation.json`."""

    id: str
    members: list[_Member]
    started: str
    settings: _Ways


@dataclass(frozen=True)
class KeptExperiment:
    """kind: `comparison`, `characterisation`, `tune`, `colocation`. asked: its arms and the like.

    runs: how many have ended; None for a characterisation, whose questions have them.
    """

    kind: str
    id: str
    started: str
    application: str
    asked: list[str]
    runs: int | None
    directory: str


def list_experiments(state_home: Path) -> tuple[list[KeptExperiment], list[str]]:
    """The oldest first, and a line for each that cannot be read.

    A comparison that a characterisation made is listed there alone.
    """
    asked, problems = _each(state_home / "characterisations", _characterisation)
    parts = {name for _, names in asked for name in names}
    compared, others = _each(state_home / "comparisons", _comparison)
    found = [experiment for experiment, _ in asked]
    found += [experiment for experiment in compared if experiment.id not in parts]
    tunes, further = _each(state_home / "tunes", _tune)
    shared, last = _each(state_home / "colocations", _colocation)
    found += [*tunes, *shared]
    return sorted(found, key=lambda one: one.started), [*problems, *others, *further, *last]


def _each(folder: Path, read: Callable[[Path], T]) -> tuple[list[T], list[str]]:
    found, problems = [], []
    for directory in sorted(folder.iterdir()) if folder.is_dir() else []:
        try:
            found.append(read(directory))
        except (UserError, OSError, ValueError) as problem:
            problems.append(str(problem))
    return found, problems


def _comparison(directory: Path) -> KeptExperiment:
    head = read_typed(directory / "comparison.json", ComparisonHead, _REMEDY)
    arms = [arm.name for arm in head.arms]
    runs = len(raw_lines(directory / "runs.jsonl"))
    place = (head.id, head.started, head.application)
    return KeptExperiment("comparison", *place, arms, runs, str(directory))


def _tune(directory: Path) -> KeptExperiment:
    head = read_typed(directory / "tune.json", _Tune, _REMEDY)
    runs = len(raw_lines(directory / "trials.jsonl"))
    place = (head.id, head.started, head.application)
    return KeptExperiment("tune", *place, [head.settings.objective], runs, str(directory))


def _colocation(directory: Path) -> KeptExperiment:
    head = read_typed(directory / "colocation.json", _Colocation, _REMEDY)
    names = " + ".join(member.name for member in head.members)
    runs = len(raw_lines(directory / "rounds.jsonl"))
    place = (head.id, head.started, names)
    return KeptExperiment("colocation", *place, head.settings.arms, runs, str(directory))


def _characterisation(directory: Path) -> tuple[KeptExperiment, list[str]]:
    """With the ids of its comparisons."""
    head = read_typed(directory / "characterisation.json", CharacterisationHead, _REMEDY)
    lines = Journal(directory / "questions.jsonl").read_typed(Line)
    place = (head.id, head.started, ", ".join(head.subjects))
    keys = list(dict.fromkeys(line.key for line in lines))
    kept = KeptExperiment("characterisation", *place, keys, None, str(directory))
    return kept, [line.comparison for line in lines if line.comparison is not None]
