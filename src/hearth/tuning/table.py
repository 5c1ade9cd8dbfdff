"""Published or measured tables of completion time over configurations, read from CSV."""

import csv
import math
from dataclasses import dataclass
from pathlib import Path

from hearth.model.errors import UserError
from hearth.tuning.space import Cell

COLUMNS = (
    "workload", "workers", "cores_per_worker", "total_cores", "memory_per_worker_gb", "seconds"
)  # fmt: skip
#: Below this there is nothing to choose from.
_FEWEST = 2
_LARGEST_FILE = 16 << 20


@dataclass(frozen=True)
class Table:
    """The completion time in seconds of one workload, by configuration; each measured once."""

    workload: str
    cells: tuple[Cell, ...]
    seconds: tuple[float, ...]

    def only(self, kept: list[int]) -> "Table":
        """The table with these rows."""
        cells, seconds = (self.cells[at] for at in kept), (self.seconds[at] for at in kept)
        return Table(self.workload, tuple(cells), tuple(seconds))

    def shares_rows_with(self, other: "Table") -> bool:
        """Whether it holds rows of the other: the same measurement, which would be known."""
        return self.workload == other.workload and not set(
            zip(self.cells, self.seconds, strict=True)
        ).isdisjoint(zip(other.cells, other.seconds, strict=True))


def read_tables(file: Path) -> list[Table]:
    """A table for each workload of a CSV file, in its order.

    Raises UserError for what is missing, doubled or impossible, with file and line.
    """
    try:
        if file.stat().st_size > _LARGEST_FILE:
            raise UserError(f"{file}: more than 16 MB: give a table of configurations")
        with file.open(newline="", encoding="utf-8-sig") as stream:
            return _tables(file, csv.DictReader(stream))
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}: give a readable CSV file") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{file}: not a CSV file: {error}") from error


def _tables(file: Path, rows: "csv.DictReader[str]") -> list[Table]:
    missing = [name for name in COLUMNS if name not in (rows.fieldnames or [])]
    if missing:
        needs = ",".join(COLUMNS)
        other = any(mark in name for name in rows.fieldnames or [] for mark in ";\t")
        hint = " separated by commas" if other else ""
        raise UserError(f"{file}: no column {', '.join(missing)}: a table needs {needs}{hint}")
    found: dict[str, dict[Cell, float]] = {}
    for row in rows:
        where = f"{file}:{rows.line_num}"
        if None in row:  # where csv puts what is too many
            raise UserError(f"{where}: the row has more values than there are columns: correct it")
        cell, seconds = _row(row, where)
        cells = found.setdefault(str(row["workload"]), {})
        if cell in cells:
            raise UserError(
                f"{where}: {row['workload']} {cell.shown} with {cell.memory_per_worker_gb:g} GB "
                "is there twice: keep one row for each configuration"
            )
        cells[cell] = seconds
    if not found:
        raise UserError(f"{file}: no row: a table needs at least {_FEWEST} configurations")
    for workload, cells in found.items():
        if len(cells) < _FEWEST:
            raise UserError(
                f"{file}: {workload} has {len(cells)} row(s), at least {_FEWEST} are needed: "
                "with fewer there is nothing to choose from"
            )
    return [Table(name, tuple(cells), tuple(cells.values())) for name, cells in found.items()]


def _row(row: dict[str, str], where: str) -> tuple[Cell, float]:
    if not row["workload"]:
        raise UserError(f"{where}: workload is empty: name it")
    workers, cores, total = (
        _whole(row[name], name, where) for name in ("workers", "cores_per_worker", "total_cores")
    )
    if workers * cores != total:
        raise UserError(
            f"{where}: total_cores {total} is not workers {workers} x cores_per_worker {cores}: "
            "correct the row"
        )
    memory = _positive(row["memory_per_worker_gb"], "memory_per_worker_gb", where)
    return Cell(workers, cores, memory), _positive(row["seconds"], "seconds", where)


def _whole(text: str | None, name: str, where: str) -> int:
    value = _positive(text, name, where)
    if value != int(value):
        raise UserError(f"{where}: {name} '{text}' is not a whole number: correct the row")
    return int(value)


def _positive(text: str | None, name: str, where: str) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not 0 < value < 1e12:
        raise UserError(f"{where}: {name} '{text or ''}' is not a number above 0: correct the row")
    return value
