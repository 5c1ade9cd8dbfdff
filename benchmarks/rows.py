"""The rows of a CSV file that somebody else wrote, with the columns that are needed."""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from hearth.base.errors import UserError

_MOST_BYTES = 16 << 20
_SHOWN = 40
#: A row's values by column, and where it stands: 'FILE:LINE'.
Row = tuple[dict[str, str], str]


def read_rows(file: Path, columns: Sequence[str]) -> Iterator[Row]:
    """Yield the rows in their order, each with a value in every one of these columns.

    Raises UserError for what is not such a file, with file and line.
    """
    try:
        with file.open("rb") as stream:  # st_size is 0 for a device or a pipe
            content = stream.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise UserError(f"{file}: more than 16 MB: give a table of configurations")
        reader = csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""))
        _check_columns(file, reader.fieldnames or [], columns)
        for row in reader:
            where = f"{file}:{reader.line_num}"
            _check_row(row, columns, where)
            yield row, where
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}: give a readable CSV file") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{file}: not a CSV file: {error}") from error


def number_above_0(text: str, name: str, where: str, most: float) -> float:
    """Return the number; raise UserError for none, and for one not between 0 and the most."""
    try:
        value = float(text)
    except ValueError as error:
        raise UserError(f"{where}: {name} '{text[:_SHOWN]}' is not a number: correct it") from error
    if not 0 < value < most:
        limits = f"above 0 and below {most:g}"
        raise UserError(f"{where}: {name} {text[:_SHOWN]} is not {limits}: correct it")
    return value


def _check_columns(file: Path, found: Sequence[str], columns: Sequence[str]) -> None:
    missing = [name for name in columns if name not in found]
    if missing:
        other = any(mark in name for name in found for mark in ";\t")
        hint = " separated by commas" if other else ""
        needs = ",".join(columns)
        raise UserError(f"{file}: no column {', '.join(missing)}: a table needs {needs}{hint}")


def _check_row(row: dict[str, str], columns: Sequence[str], where: str) -> None:
    if None in row:  # where csv puts what is too many
        raise UserError(f"{where}: the row has more values than there are columns: correct it")
    for name in columns:
        if not row[name]:
            raise UserError(f"{where}: {name} is empty: correct the row")
        if not row[name].isprintable():
            raise UserError(f"{where}: {name} has characters that cannot be shown: correct the row")
