"""Studies on disk: of each its head, which says what is studied, and the journal of its trials.

What a study says is derived from both and stored in neither. A journal is a file of JSON lines: it
is only added to, is its owner's alone, and holds no secret. After kill -9 its last line may be cut
short: it does not count, and is cut off before the next one is added. A full disk loses lines of a
journal and nothing else: the results are still shown at the end.
"""

import contextlib
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from hearth.base.absent import Absent
from hearth.base.codec import append_line, parse, raw_lines, read_typed, reason, to_json, typed
from hearth.base.errors import UserError
from hearth.base.redaction import Redaction, is_redacted
from hearth.record.schema import RecordHead, Setting
from hearth.record.store import (
    LAST,
    Record,
    named_directory,
    read_record,
    records_home,
    the_only,
    write_document,
)
from hearth.studies.engine.trial import Trial

T = TypeVar("T")
Head = TypeVar("Head")
Line = TypeVar("Line")
REMEDY = "give another, or delete its directory"
#: What must be the same for two runs to be compared.
_ALIKE = ("machine_settings", "versions", "cpus_of_node")
#: Settings that an arm changes on purpose.
_CHANGED = ("numa_balancing",)
_STUDIES = "studies"
_COMMAND = "command.json"


@dataclass(frozen=True)
class StudyKind:
    """A kind of study, in `studies/FOLDER/ID/`. name: what people call one."""

    name: str
    folder: str

    @property
    def head(self) -> str:
        """The file of the head."""
        return f"{self.name}.json"

    def home(self, state_home: Path) -> Path:
        """Return where new ones are made."""
        return state_home / _STUDIES / self.folder

    def directories(self, state_home: Path) -> list[Path]:
        """Return the directories of all studies, oldest first: an id begins with its start time."""
        home = self.home(state_home)
        if not home.is_dir():
            return []
        return sorted(path for path in home.iterdir() if not path.name.startswith("."))

    def kept(self, state_home: Path) -> list[Path]:
        """Return the directories that have a head, oldest first."""
        return [path for path in self.directories(state_home) if (path / self.head).is_file()]

    def find(self, state_home: Path, name: str) -> Path | None:
        """Return the one that a name stands for, as `find_record` does for records."""
        directories = self.kept(state_home)
        if name == LAST:
            return directories[-1] if directories else None
        number = the_only(name, f"{self.name}s", [path.name for path in directories])
        return None if number is None else self.home(state_home) / number


COMPARE = StudyKind("comparison", "compare")
CHARACTERISE = StudyKind("characterisation", "characterise")
TUNE = StudyKind("tune", "tune")
COLOCATE = StudyKind("colocation", "colocate")
STUDY = StudyKind("study", "published")
BENCH = StudyKind("series", "bench")
KINDS = (COMPARE, CHARACTERISE, TUNE, COLOCATE, STUDY, BENCH)
#: The journal of a study.
TRIALS = "trials.jsonl"


@dataclass(frozen=True)
class TypedCommand:
    """What was typed behind `hearth COMMAND`, without secrets, and in which directory."""

    words: list[str]
    directory: str

    @staticmethod
    def here(words: Iterable[str], redaction: Redaction) -> "TypedCommand":
        return TypedCommand(redaction.words(list(words)), str(Path.cwd()))

    def again(self, number: str, option: str) -> list[str]:
        """Return the words, to go on with the study of this id; option: goes on with it, too.

        Raises UserError where they lack a secret, or would name other files.
        """
        anew = f"type its command again, with {option}"
        if is_redacted(self.words):
            raise UserError(
                f"--resume: {number} was begun with a secret, which is not kept: {anew}"
            )
        if Path(self.directory) != Path.cwd():
            there = f"{number} was begun in '{self.directory}'"
            raise UserError(f"--resume: {there}: go there (cd), or {anew}")
        return self.words


class Journal:
    """One journal; redaction: of the settings with which its results were made."""

    def __init__(self, file: Path, redaction: Redaction | None = None) -> None:
        self.file = file
        self.redaction = Redaction.of({}) if redaction is None else redaction

    def keep(self, line: object) -> None:
        """Add a result, on the disk before this returns; say so where it does not fit."""
        try:
            append_line(self.file, self.redaction.document(to_json(line)))
        except OSError as error:
            print(
                f"hearth: '{self.file}' could not take this result: {reason(error)}; make room",
                file=sys.stderr,
            )

    def cut_torn_line(self) -> None:
        """Cut off a last line without its end, so that lines can be added; a missing file is whole.

        Raises UserError where that cannot be done: the next line would be lost with it.
        """
        try:
            whole = self.file.read_bytes()
            end = whole.rfind(b"\n") + 1
            if end < len(whole):
                os.truncate(self.file, end)
        except FileNotFoundError:
            return
        except OSError as error:
            remedy = f"{reason(error)}; {REMEDY}"
            raise UserError(f"'{self.file}' cannot be repaired: {remedy}") from error

    def read(self, kind: type[T]) -> list[T]:
        """Return the lines; none of a missing file.

        Damaged ones are named and left out. Raises UserError where the file cannot be read.
        """
        try:
            lines = raw_lines(self.file)
        except (OSError, ValueError) as error:
            raise UserError(f"'{self.file}' cannot be read: {reason(error)}; {REMEDY}") from error
        rows = []
        for number, line in enumerate(lines, start=1):
            try:
                rows.append(typed(parse(line), kind))
            except ValueError as error:
                print(f"hearth: '{self.file}': line {number} is left out: {error}", file=sys.stderr)
        return rows


@dataclass(frozen=True)
class Opening:
    """How a study is opened. redaction: of what is kept of it. resume: the id of the one to go on
    with. typed: the words of its command, so that `--resume` alone goes on with it.
    """

    redaction: Redaction | None = None
    resume: str | None = None
    typed: Sequence[str] | None = None


NEW = Opening()


def started_now() -> str:
    """Return the time as a head keeps it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class Listed:
    """What a list of studies shows of one: its subject, its arms or the like, and its start."""

    started: str
    application: str
    asked: list[str]


@dataclass(frozen=True)
class ListedHead:
    """The part of a head's file that a list reads: other parts need the libraries of the study."""

    listed: Listed


class Study(ABC, Generic[Head, Line]):
    """A study: what is asked, and the lines of its journal, of the trials that have ended.

    It has a directory below the state directory, whose name is its id. A subclass says its kind,
    and of which dataclasses head and lines are.
    """

    kind: StudyKind
    head_type: type[Head]
    line_type: type[Line]

    def __init__(self, directory: Path, head: Head, redaction: Redaction | None = None) -> None:
        self.directory, self.head = directory, head
        self.journal = Journal(directory / TRIALS, redaction)
        self.trials: list[Line] = []
        self._first: Record | None = None

    def keep(self, line: Line) -> None:
        """Put a line on the disk, before the next trial begins."""
        self.journal.keep(line)
        self.trials.append(line)

    @property
    def state_home(self) -> Path:
        """The state directory."""
        above = self.directory.parents
        return above[2] if above[1].name == _STUDIES else above[1]

    @classmethod
    def open(
        cls,
        state_home: Path,
        name: str,
        head: Callable[[str], Head],
        opening: "Opening",
        identity: Mapping[str, object] | None = None,
    ) -> Self:
        """Make a new one, or go on with that of `opening.resume`.

        name: what its id is made of. head: of an id. identity: what must be the same for it to go
        on; None for what the head says. Raises UserError where it cannot be written, or was asked
        for in another way.
        """
        if opening.resume is not None:
            directory = to_resume(cls.kind, state_home, opening.resume)
            now = cls.identity(head(directory.name)) if identity is None else identity
            return cls._reopened(directory, now, opening.redaction)
        home = cls.kind.home(state_home)
        try:
            directory = named_directory(home, name)
        except OSError as error:
            raise _unwritable(home, error) from error
        study = cls(directory, head(directory.name), opening.redaction)
        try:
            study.write_head()
        except OSError as error:
            with contextlib.suppress(OSError):
                directory.rmdir()
            raise _unwritable(directory, error) from error
        if opening.typed is not None:
            study.keep_command(opening.typed)
        return study

    @classmethod
    def _reopened(
        cls, directory: Path, identity: Mapping[str, object], redaction: Redaction | None
    ) -> Self:
        study = cls.read(directory)
        for name, value in cls.identity(study.head).items():
            if value != identity.get(name):
                has = f"{directory.name} has {name} {_words(value)}"
                raise UserError(
                    f"--resume: {has}, not {_words(identity.get(name))}: "
                    "repeat its command as it was, or leave out --resume"
                )
        study.journal = Journal(study.journal.file, redaction)
        study.journal.cut_torn_line()
        return study

    def write_head(self) -> None:
        """Write the head over an older one. Raises OSError."""
        head = {**to_json(self.head), "listed": to_json(self.listed(self.head))}
        write_document(self.directory / self.kind.head, head)

    def keep_command(self, words: Iterable[str]) -> None:
        """Keep what was typed, so that `--resume` alone goes on with it. Raises OSError."""
        typed_here = TypedCommand.here(words, self.journal.redaction)
        write_document(self.directory / _COMMAND, to_json(typed_here))

    @classmethod
    def read(cls, directory: Path) -> Self:
        """Read one from disk; raises UserError where there is none. A torn line does not count."""
        study = cls(directory, read_typed(directory / cls.kind.head, cls.head_type, REMEDY))
        study.trials = [line for line in study.journal.read(cls.line_type) if study.fits(line)]
        return study

    @staticmethod
    @abstractmethod
    def identity(head: Any) -> dict[str, object]:
        """Return what must be the same for a study to go on, by the name that people read."""

    @staticmethod
    @abstractmethod
    def listed(head: Any) -> Listed:
        """Return what a list of studies shows."""

    def fits(self, line: Line) -> bool:
        """Return whether a line that was read belongs to this head."""
        return True

    def records(self) -> Iterator[str | None]:
        """Yield the ids of the records of its runs that ended well."""
        for trial in self.trials:
            if isinstance(trial, Trial):
                each = [trial] if trial.runs is None else [run.trial for run in trial.runs]
                yield from (one.record for one in each if one.seconds is not None)

    def check_alike(self, record: Record, besides: Collection[str] = ()) -> None:
        """Raise UserError, naming what differs, where a run's machine is not the first one's.

        besides: what may differ.
        """
        if self._first is None:
            there = [records_home(self.state_home) / name for name in self.records() if name]
            self._first = next(
                (read_record(directory) for directory in there if directory.is_dir()), record
            )
        refuse_unlike(self._first, record, besides)


def kept_words(kind: StudyKind, state_home: Path, number: str) -> list[str]:
    """Return the words with which the study of this id was begun; raise UserError without them."""
    directory = to_resume(kind, state_home, number)
    name, option = directory.name, f"--resume {directory.name}"
    if not (directory / _COMMAND).is_file():
        raise UserError(f"--resume: the command of {name} was not kept: type it, with {option}")
    return read_typed(directory / _COMMAND, TypedCommand, REMEDY).again(name, option)


def to_resume(kind: StudyKind, state_home: Path, number: str) -> Path:
    """Return where the study of this id is kept; raise UserError for an id of none."""
    directory = kind.find(state_home, number)
    if directory is None:
        none = f"no {kind.name} has the id '{number}'"
        raise UserError(f"--resume: {none}: 'hearth runs' lists them")
    return directory


def refuse_unlike(first: Record, other: Record, besides: Collection[str] = ()) -> None:
    """Raise UserError, naming the setting and both values, for runs that cannot be compared."""
    for part in _ALIKE:
        theirs, ours = _settings(first.head, part), _settings(other.head, part)
        for name in sorted({*theirs, *ours} - {*_CHANGED, *besides}):
            if theirs.get(name) != ours.get(name):
                raise UserError(
                    f"{name}: {_shown(theirs.get(name))} in {first.id} but "
                    f"{_shown(ours.get(name))} in {other.id}: "
                    "only runs on one machine with the same settings can be compared"
                )


def _settings(head: RecordHead, part: str) -> Mapping[str, Any]:
    return dict(getattr(head, part))


def _shown(value: Any) -> str:
    if isinstance(value, Absent):
        return f"absent ({value.reason})"
    return value.value if isinstance(value, Setting) else str(value)


def _words(value: object) -> str:
    return f"'{' '.join(map(str, value))}'" if isinstance(value, list | tuple) else str(value)


def _unwritable(path: Path, error: OSError) -> UserError:
    what = f"'{path}' cannot be written: {error.strerror}"
    return UserError(f"{what}; make room, or set HEARTH_STATE to a writable directory")
