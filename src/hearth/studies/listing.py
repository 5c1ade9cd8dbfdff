"""The studies on disk, for a listing: no run is read."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

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
    KINDS,
    STUDY,
    TUNE,
    Journal,
    StudyKind,
)
from hearth.studies.published.result import StudyHead

_REMEDY = "delete its directory to remove it from the list"


@dataclass(frozen=True)
class _Objective:
    objective: str


@dataclass(frozen=True)
class _Tune:
    """The listed part of `tune.json`; to read all of it would load the tuner's libraries."""

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
    kinds = {k.id_of(p): k for k in KINDS for p in k.kept(state_home)}
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


#: Of each kind the listed part of its head, and what is said of it: its subject, and what is asked.
_HEADS: dict[StudyKind, tuple[type, Callable[[Any], tuple[str, list[str]]]]] = {
    COMPARE: (ComparisonHead, lambda head: (head.application, [arm.name for arm in head.arms])),
    CHARACTERISE: (CharacterisationHead, lambda head: (", ".join(head.subjects), [])),
    TUNE: (_Tune, lambda head: (head.application, [head.settings.objective])),
    COLOCATE: (
        _Colocation,
        lambda head: (" + ".join(one.name for one in head.members), head.settings.arms),
    ),
    STUDY: (
        StudyHead,
        lambda head: (head.preset, [f"scale {head.scale:g}", *(head.steps or ())]),
    ),
    BENCH: (_Series, lambda head: (head.suite, head.masters)),
}
#: Those whose lines are no runs.
_OF_STUDIES = (CHARACTERISE, STUDY)


def list_studies(state_home: Path) -> tuple[list[KeptStudy], list[str]]:
    """Return them, the oldest first, and a line for each that cannot be read.

    A comparison that a characterisation made is listed there alone.
    """
    problems: list[str] = []
    found: list[KeptStudy] = []
    parts: set[str | None] = set()
    for kind in _HEADS:
        for place in kind.directories(state_home):
            try:
                one = _kept(kind, place)
                if kind is CHARACTERISE:
                    lines = Journal(place / kind.lines).read(QuestionLine)
                    one = replace(one, asked=list(dict.fromkeys(line.key for line in lines)))
                    parts |= {line.comparison for line in lines}
                found.append(one)
            except (UserError, OSError, ValueError) as problem:
                problems.append(str(problem))
    whole = [one for one in found if one.kind != COMPARE.name or one.id not in parts]
    return sorted(whole, key=lambda one: one.started), problems


def _kept(kind: StudyKind, place: Path) -> KeptStudy:
    listed, said = _HEADS[kind]
    one_file = kind.head == ""
    file = place / kind.head
    head: Any = Journal(file).head(listed) if one_file else read_typed(file, listed, _REMEDY)
    application, asked = said(head)
    lines = len(raw_lines(place / kind.lines)) - one_file
    runs = None if kind in _OF_STUDIES else lines
    return KeptStudy(
        kind.name, kind.id_of(place), head.started, application, asked, runs, str(place)
    )
