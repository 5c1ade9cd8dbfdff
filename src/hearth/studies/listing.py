"""The studies on disk, for a listing: no run is read."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from hearth.base.codec import raw_lines, read_typed
from hearth.base.errors import UserError
from hearth.record.store import LAST, find_record, record_ids, the_only
from hearth.studies.characterise.result import CharacterisationHead, QuestionLine
from hearth.studies.compare.result import ComparisonHead
from hearth.studies.engine.store import (
    BENCH,
    CHARACTERISE,
    COLOCATE,
    COMPARE,
    STUDY,
    TUNE,
    Journal,
    StudyKind,
)
from hearth.studies.published.result import StudyHead

_LISTED = (COMPARE, CHARACTERISE, TUNE, COLOCATE, STUDY, BENCH)
_REMEDY = "delete its directory to remove it from the list"

T = TypeVar("T")


@dataclass(frozen=True)
class _Objective:
    objective: str


@dataclass(frozen=True)
class _Tune:
    """The listed part of `tune.json`; to read all of it would load the tuner's libraries."""

    id: str
    application: str
    started: str
    settings: _Objective


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
class _Series:
    """The same of the first line of a series."""

    suite: str
    masters: list[str]
    started: str


@dataclass(frozen=True)
class KeptStudy:
    """kind: `comparison`, `characterisation`, `tune`, `colocation`, `study`, `series`. asked: its
    arms and the like.

    runs: how many have ended; None for a characterisation, whose questions have them.
    """

    kind: str
    id: str
    started: str
    application: str
    asked: list[str]
    runs: int | None
    directory: str


def find_kept(state_home: Path, name: str) -> tuple[StudyKind | None, Path]:
    """Return the run or the study that a name stands for; no kind for a run.

    A name is an id, the beginning of one, its last four letters, or `last` for the latest run.
    Raises UserError for one that stands for nothing, or for several.
    """
    kinds = {k.id_of(p): k for k in _LISTED for p in k.kept(state_home)}
    ids = [] if name == LAST else [*record_ids(state_home), *kinds]
    found = the_only(name, "runs and studies", ids)
    kind = None if found is None else kinds.get(found)
    if found is None or kind is None:
        return None, find_record(state_home, name).directory
    return kind, kind.directory(state_home, found)


def delete_study(directory: Path) -> None:
    """Delete a study; the runs that it made are left."""
    gone = directory.with_name(f".deleted-{directory.name}")
    directory.rename(gone)  # out of the listing first
    if gone.is_dir():
        shutil.rmtree(gone)
    else:
        gone.unlink()


def list_studies(state_home: Path) -> tuple[list[KeptStudy], list[str]]:
    """Return them, the oldest first, and a line for each that cannot be read.

    A comparison that a characterisation made is listed there alone.
    """
    problems: list[str] = []
    asked = _each(CHARACTERISE, state_home, _characterisation, problems)
    parts = {name for _, names in asked for name in names}
    compared = _each(COMPARE, state_home, _comparison, problems)
    found = [study for study, _ in asked] + [one for one in compared if one.id not in parts]
    found += _each(TUNE, state_home, _tune, problems)
    found += _each(COLOCATE, state_home, _colocation, problems)
    found += _each(STUDY, state_home, _study, problems)
    found += _each(BENCH, state_home, _series, problems)
    return sorted(found, key=lambda one: one.started), problems


def _each(
    kind: StudyKind, state_home: Path, read: Callable[[Path], T], problems: list[str]
) -> list[T]:
    """Return those of a kind; what is wrong with others is added to `problems`."""
    found = []
    for directory in kind.directories(state_home):
        try:
            found.append(read(directory))
        except (UserError, OSError, ValueError) as problem:
            problems.append(str(problem))
    return found


def _kept(
    kind: StudyKind, directory: Path, id_: str, started: str, title: str, asked: list[str]
) -> KeptStudy:
    runs = len(raw_lines(directory / kind.lines))
    return KeptStudy(kind.name, id_, started, title, asked, runs, str(directory))


def _comparison(directory: Path) -> KeptStudy:
    head = read_typed(directory / COMPARE.head, ComparisonHead, _REMEDY)
    arms = [arm.name for arm in head.arms]
    return _kept(COMPARE, directory, head.id, head.started, head.application, arms)


def _tune(directory: Path) -> KeptStudy:
    head = read_typed(directory / TUNE.head, _Tune, _REMEDY)
    asked = [head.settings.objective]
    return _kept(TUNE, directory, head.id, head.started, head.application, asked)


def _colocation(directory: Path) -> KeptStudy:
    head = read_typed(directory / COLOCATE.head, _Colocation, _REMEDY)
    names = " + ".join(member.name for member in head.members)
    return _kept(COLOCATE, directory, head.id, head.started, names, head.settings.arms)


def _study(directory: Path) -> KeptStudy:
    head = read_typed(directory / STUDY.head, StudyHead, _REMEDY)
    asked = [f"scale {head.scale:g}", *(head.steps or ())]
    return KeptStudy(STUDY.name, head.id, head.started, head.preset, asked, None, str(directory))


def _series(file: Path) -> KeptStudy:
    head, runs = Journal(file).head(_Series), len(raw_lines(file)) - 1
    number = BENCH.id_of(file)
    return KeptStudy(BENCH.name, number, head.started, head.suite, head.masters, runs, str(file))


def _characterisation(directory: Path) -> tuple[KeptStudy, list[str]]:
    """Return a characterisation, and the ids of its comparisons."""
    head = read_typed(directory / CHARACTERISE.head, CharacterisationHead, _REMEDY)
    lines = Journal(directory / CHARACTERISE.lines).read(QuestionLine)
    keys = list(dict.fromkeys(line.key for line in lines))
    place = (head.id, head.started, ", ".join(head.subjects), keys)
    kept = KeptStudy(CHARACTERISE.name, *place, None, str(directory))
    return kept, [line.comparison for line in lines if line.comparison is not None]
