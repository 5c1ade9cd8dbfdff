"""Published or measured tables of completion time over configurations, read from CSV."""

from dataclasses import dataclass
from pathlib import Path

from hearth.base.errors import UserError
from hearth.studies.models.rows import number_above_0, read_rows
from hearth.studies.models.space import Cell

COLUMNS = (
    "workload", "workers", "cores_per_worker", "total_cores", "memory_per_worker_gb", "seconds"
)  # fmt: skip
#: Below this there is nothing to choose from.
_FEWEST = 2
#: Of any number; nothing that is measured comes near it.
_MOST = 1e12


@dataclass(frozen=True)
class Table:
    """The completion time in seconds of one workload, by configuration; each measured once."""

    workload: str
    cells: tuple[Cell, ...]
    seconds: tuple[float, ...]

    def only(self, indices: list[int]) -> "Table":
        """Return the table with these rows."""
        cells, seconds = (self.cells[at] for at in indices), (self.seconds[at] for at in indices)
        return Table(self.workload, tuple(cells), tuple(seconds))

    def shares_rows_with(self, other: "Table") -> bool:
        """Whether it holds rows of the other: the same measurement, which would be known."""
        return self.workload == other.workload and not set(
            zip(self.cells, self.seconds, strict=True)
        ).isdisjoint(zip(other.cells, other.seconds, strict=True))


def read_tables(file: Path) -> list[Table]:
    """Read a table for each workload of a CSV file, in its order.

    Raises UserError for what is missing, doubled or impossible, with file and line.
    """
    workloads: dict[str, dict[Cell, float]] = {}
    for row, where in read_rows(file, COLUMNS):
        cell, seconds = _row(row, where)
        cells = workloads.setdefault(row["workload"], {})
        if cell in cells:
            raise UserError(
                f"{where}: {row['workload']} {cell.shown} with {cell.memory_per_worker_gb:g} GB "
                "is there twice: keep one row for each configuration"
            )
        cells[cell] = seconds
    if not workloads:
        raise UserError(f"{file}: no row: a table needs at least {_FEWEST} configurations")
    for workload, cells in workloads.items():
        if len(cells) < _FEWEST:
            raise UserError(
                f"{file}: {workload} has {len(cells)} row(s), at least {_FEWEST} are needed: "
                "with fewer there is nothing to choose from"
            )
    return [Table(name, tuple(cells), tuple(cells.values())) for name, cells in workloads.items()]


def _row(row: dict[str, str], where: str) -> tuple[Cell, float]:
    workers, cores, total = (
        _whole(row[name], name, where) for name in ("workers", "cores_per_worker", "total_cores")
    )
    if workers * cores != total:
        raise UserError(
            f"{where}: total_cores {total} is not workers {workers} x cores_per_worker {cores}: "
            "correct the row"
        )
    memory, seconds = (
        number_above_0(row[name], name, where, _MOST)
        for name in ("memory_per_worker_gb", "seconds")
    )
    return Cell(workers, cores, memory), seconds


def _whole(text: str, name: str, where: str) -> int:
    value = number_above_0(text, name, where, _MOST)
    if value != int(value):
        raise UserError(f"{where}: {name} '{text}' is not a whole number: correct the row")
    return int(value)
