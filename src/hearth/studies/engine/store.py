"""Journals: files of JSON lines, to which each result is added as soon as it is known.

A journal is only added to, is its owner's alone, and holds no secret. After kill -9 its last line
may be cut short: it does not count, and is cut off before the next one is added. A full disk loses
lines of a journal and nothing else: the results are still shown at the end.
"""

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from hearth.base.codec import append_line, checked, parse, raw_lines, reason, typed
from hearth.base.errors import UserError
from hearth.base.private_files import private_directory
from hearth.base.redaction import Redaction
from hearth.record.store import named_directory, write_document

Document = dict[str, Any]
T = TypeVar("T")
REMEDY = "give another, or delete its directory"


class Journal:
    """One journal; redaction: of the settings with which its results were made."""

    def __init__(self, file: Path, redaction: Redaction | None = None) -> None:
        self.file = file
        self.redaction = Redaction.of({}) if redaction is None else redaction

    def begin(self, head: Document) -> None:
        """Adds the first line, in a directory that is made where it is missing. Raises OSError."""
        if not self.file.parent.exists():
            private_directory(self.file.parent)
        append_line(self.file, self.redaction.document(head))

    def keep(self, line: Document) -> None:
        """Adds a result, on the disk before this returns; where it does not fit, that is said."""
        try:
            append_line(self.file, self.redaction.document(line))
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
            raise UserError(f"'{self.file}' cannot be mended: {reason(error)}; {REMEDY}") from error

    def head(self, kind: type[T]) -> T:
        """The first line, where it says what the journal is of. Raises OSError and ValueError."""
        return typed(parse((raw_lines(self.file) or [b""])[0]), kind)

    def read(self, shape: Any, first: int = 1) -> list[Document]:
        """The lines from this number on; none of a missing file. Damaged ones are named, left out.

        Raises UserError where the file cannot be read.
        """
        return self._read(lambda line: checked(line, shape), first)

    def read_typed(self, kind: type[T], first: int = 1) -> list[T]:
        """As `read`, of lines that a dataclass describes."""
        return self._read(lambda line: typed(parse(line), kind), first)

    def _read(self, read: Callable[[bytes], T], first: int) -> list[T]:
        try:
            lines = raw_lines(self.file)
        except (OSError, ValueError) as error:
            raise UserError(f"'{self.file}' cannot be read: {reason(error)}; {REMEDY}") from error
        rows = []
        for number, line in enumerate(lines[first - 1 :], start=first):
            try:
                rows.append(read(line))
            except ValueError as error:
                print(f"hearth: '{self.file}': line {number} is left out: {error}", file=sys.stderr)
        return rows


def fresh_directory(home: Path, application: str) -> Path:
    """A new directory below `home`, whose name is the experiment's id and nobody else's.

    Raises UserError where it cannot be made: nothing has run yet.
    """
    try:
        return named_directory(home, application)
    except OSError as error:
        raise _unwritable(home, error) from error


def begin_directory(directory: Path, name: str, head: Document) -> None:
    """Writes the document that describes a journal into its directory, or removes that.

    Raises UserError where it cannot be written: nothing has run yet.
    """
    try:
        write_document(directory / name, head)
    except OSError as error:
        with contextlib.suppress(OSError):
            directory.rmdir()
        raise _unwritable(directory, error) from error


def _unwritable(place: Path, error: OSError) -> UserError:
    what = f"'{place}' cannot be written: {error.strerror}"
    return UserError(f"{what}; make room, or set HEARTH_STATE to a writable directory")
