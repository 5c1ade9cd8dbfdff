"""Published or measured tables of times and speedups, read from CSV."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hearth.base.errors import UserError
from hearth.studies.models.space import Cell

COLUMNS = (
    "workload", "workers", "cores_per_worker", "total_cores", "memory_per_worker_gb", "seconds"
)  # fmt: skip
#: Below this there is nothing to choose from.
_FEWEST = 2
#: Of any number; nothing that is measured comes near it.
_MOST = 1e12
_STEPS = ("workload", "from_binding", "to_binding", "speedup")
#: So many nodes, bound to them: 4B.
_BOUND = re.compile(r"([1-9][0-9]{0,2})B")
_MOST_SPEEDUP = 1000


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


def read_rows(file: Path, columns: Sequence[str]) -> Iterator[tuple[dict[str, str], str]]:
    """Yield the values of each row by column, and where it stands: 'FILE:LINE'.

    Raises UserError for what is not such a file.
    """
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, strict=True)
            for row in reader:
                yield {name: row[name] or "" for name in columns}, f"{file}:{reader.line_num}"
    except KeyError as missing:
        needs = ",".join(columns)
        raise UserError(f"{file}: no column {missing.args[0]}: a table needs {needs}") from missing
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{file}: not a readable CSV file: {error}") from error


def number_above_0(text: str, name: str, where: str, most: float) -> float:
    """Return the number; raise UserError for none, and for one not between 0 and the most."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < most:
        limits = f"a number above 0 and below {most:g}"
        raise UserError(f"{where}: {name} '{text}' is not {limits}: correct the row")
    return value


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


def read_speedups(file: Path) -> dict[str, dict[int, float]]:
    """Return each workload's times relative to one node, from speedups between bound runs (1B, 2B).

    Raises UserError for a table without the columns, or from which a time does not follow.
    """
    steps: dict[str, dict[tuple[int, int], float]] = {}
    for row, where in read_rows(file, _STEPS):
        start, end = (_BOUND.fullmatch(row[name]) for name in ("from_binding", "to_binding"))
        speedup = number_above_0(row["speedup"], "speedup", where, _MOST_SPEEDUP)
        if not (start and end):
            continue  # not bound
        own, step = steps.setdefault(row["workload"], {}), (int(start[1]), int(end[1]))
        if step in own:
            row_is = f"{row['workload']} from {step[0]} to {step[1]} nodes"
            raise UserError(f"{where}: {row_is} appears twice: keep one row for each step")
        own[step] = speedup
    return {workload: _times(own) for workload, own in steps.items()}


def _times(steps: Mapping[tuple[int, int], float]) -> dict[int, float]:
    times = {1: 1.0}
    known = 0
    while known < len(times):  # a row may need the time of a later one
        known = len(times)
        for (start, end), speedup in steps.items():
            if start in times and end not in times:
                times[end] = times[start] / speedup
            elif end in times and start not in times:
                times[start] = times[end] * speedup
    return times
