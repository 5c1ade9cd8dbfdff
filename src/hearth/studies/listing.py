"""The studies on disk, for a listing: no run is read."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from hearth.base.codec import raw_lines, read_typed
from hearth.base.errors import UserError
from hearth.machine.applications import Application, read_applications
from hearth.record.store import LAST, Record, find_record, list_records, record_ids, the_only
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
    Raises UserError for one that stands for nothing, or for several, or for a run without a record.
    """
    kinds = {p.name: k for k in KINDS for p in k.kept(state_home)}
    ids = [] if name == LAST else [*record_ids(state_home), *kinds]
    number = the_only(name, "runs and studies", ids)
    kind = None if number is None else kinds.get(number)
    if number is None or kind is None:
        return None, find_run(state_home, name).directory
    return kind, kind.home(state_home) / number


def find_run(state_home: Path, name: str) -> Record:
    """Return the record of the run that a name stands for, as `find_run_or_study` takes names."""
    light = find_light(state_home, name)
    if light is not None:
        remedy = f"run '{light.profiled_by}', or name one that was ('hearth runs')"
        raise UserError(f"'{light.id}' was not profiled: {remedy}")
    return find_record(state_home, name)


def find_light(state_home: Path, name: str) -> Application | None:
    """Return the application with a light record alone that a name stands for, as
    `find_run_or_study` takes names; None where it stands for something else, or nothing.
    """
    light = light_records(state_home)
    if name == LAST:
        latest = max((one.head.started for one in list_records(state_home)[0]), default="")
        return light[-1] if light and _moment(light[-1].started_at) > _moment(latest) else None
    kept = [path.name for kind in KINDS for path in kind.kept(state_home)]
    named = {key: one for one in light for key in (one.id, one.app_id)}
    return named.get(the_only(name, "runs", [*record_ids(state_home), *kept, *named]) or "")


def light_records(state_home: Path) -> list[Application]:
    """Return the applications that have no record of `hearth profile`, the oldest first; of several
    that one process ran in turn, the first.
    """
    applications = read_applications(state_home)[0]
    processes = {one.process for one in applications if one.submitted is not None}
    return [
        one
        for one in applications
        if (one.submitted is None and one.process not in processes)
        or (one.submitted is not None and one.submitted.record is None)
    ]


def _moment(text: str) -> str:
    """Return the part of a time that sorts: both sides write UTC."""
    return text[:19]


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
