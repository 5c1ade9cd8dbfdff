"""Journals: files of JSON lines, to which each result is added as soon as it is there.

A full disk loses lines of a journal and nothing else: the results are still shown at the end.
"""

import sys
from pathlib import Path
from typing import Any

from hearth.measure.record import write_document
from hearth.model.documents import append_line, read_lines, reason
from hearth.model.errors import UserError
from hearth.model.private import private_directory

Document = dict[str, Any]
REMEDY = "name another, or delete its directory"


def begin_directory(directory: Path, name: str, head: Document) -> None:
    """Makes a directory with the document that says what its journal is of.

    Raises UserError where it cannot be written: nothing has run yet.
    """
    try:
        private_directory(directory.parent)
        directory.mkdir(mode=0o700)
        write_document(directory / name, head)
    except OSError as error:
        raise UserError(
            f"'{directory}' cannot be written: {error.strerror}; "
            "make room, or set HEARTH_STATE to a directory that can be written"
        ) from error


def keep_line(file: Path, line: Document) -> None:
    """Adds a result, written through to the disk; one that cannot be is told, and still counts."""
    try:
        append_line(file, line)
    except OSError as error:
        print(
            f"hearth: '{file}' does not hold this result: {reason(error)}; make room",
            file=sys.stderr,
        )


def read_journal(file: Path, shape: Any) -> list[Document]:
    """The results; damaged lines are told and left out. Raises UserError for no such file."""
    try:
        rows, damaged = read_lines(file, shape)
    except (OSError, ValueError) as error:
        raise UserError(f"'{file}' cannot be read: {reason(error)}; {REMEDY}") from error
    if damaged:
        print(f"hearth: '{file}': {damaged} damaged lines are left out", file=sys.stderr)
    return rows
