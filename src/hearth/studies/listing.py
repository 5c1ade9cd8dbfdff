"""The studies on disk, for a listing: no run is read."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from hearth.base.codec import raw_lines, read_typed
from hearth.base.errors import UserError
from hearth.record.store import LAST, find_record, record_ids, the_only
from hearth.studies.engine.store import KINDS, STUDY, TRIALS, ListedHead, StudyKind

_REMEDY = "delete its directory to remove it from the list"


@dataclass(frozen=True)
class ListedStudy:
    """kind: `comparison`, `characterisation`, `tune`, `colocation`, `study`, `series`. asked: its
    arms and the like. runs: how many have ended; None for a study, whose steps have them.
    """

    kind: str
    id: str
    started: str
    application: str
    asked: list[str]
    runs: int | None
    directory: str


def find_run_or_study(state_home: Path, name: str) -> tuple[StudyKind | None, Path]:
    """Return the run or the study that a name stands for; no kind for a run.

    A name is an id, the beginning of one, its last four letters, or `last` for the latest run.
    Raises UserError for one that stands for nothing, or for several.
    """
    kinds = {p.name: k for k in KINDS for p in k.kept(state_home)}
    ids = [] if name == LAST else [*record_ids(state_home), *kinds]
    number = the_only(name, "runs and studies", ids)
    kind = None if number is None else kinds.get(number)
    if number is None or kind is None:
        return None, find_record(state_home, name).directory
    return kind, kind.home(state_home) / number


def delete_study(directory: Path) -> None:
    """Delete a study; the runs that it made are left."""
    gone = directory.with_name(f".deleted-{directory.name}")
    directory.rename(gone)  # out of the listing first
    shutil.rmtree(gone)


def list_studies(state_home: Path) -> tuple[list[ListedStudy], list[str]]:
    """Return them, the oldest first, and a line for each that cannot be read."""
    problems: list[str] = []
    studies: list[ListedStudy] = []
    for kind in KINDS:
        for directory in kind.directories(state_home):
            try:
                studies.append(_kept(kind, directory))
            except (UserError, OSError, ValueError) as problem:
                problems.append(str(problem))
    return sorted(studies, key=lambda one: one.started), problems


def _kept(kind: StudyKind, directory: Path) -> ListedStudy:
    head = read_typed(directory / kind.head, ListedHead, _REMEDY).listed
    runs = None if kind is STUDY else len(raw_lines(directory / TRIALS))
    return ListedStudy(
        kind.name, directory.name, head.started, head.application, head.asked, runs, str(directory)
    )
