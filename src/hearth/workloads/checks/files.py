"""How checks read data sets and answers; what is too large to be recomputed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hearth.workloads.checks import Check, FinishedRun, WrongAnswerError

#: Inputs up to this size are fully recomputed by a second implementation.
FULL_CHECK_BYTES = 256 << 20
_STRETCH_ROWS = 1 << 16


def parts(folder: Path) -> list[Path]:
    """Return the data's files in order, without empty ones, which some readers refuse."""
    return [file for file in sorted(folder.glob("part-*")) if file.stat().st_size > 0]


def size_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in parts(folder))


def of_any_size(
    recompute: Check, properties: Check, data: str, limit_bytes: int = FULL_CHECK_BYTES
) -> Check:
    """Return a check by another implementation; where that input is larger, by properties."""

    def check(run: FinishedRun) -> str:
        if size_bytes(run.data[data]) <= limit_bytes:
            return recompute(run)
        return f"large: {properties(run)}"

    return check


def manifest(folder: Path) -> dict[str, Any]:
    """Return the generator's list of what it wrote; empty for other data."""
    file = folder / "_manifest.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def lines(folder: Path) -> Iterator[str]:
    """Yield the lines of all parts of a text, in order, without their ends."""
    for file in parts(folder):
        with file.open(encoding="utf-8", newline="\n") as text:
            yield from (line.removesuffix("\n") for line in text)


def table(folder: Path, dtype: type) -> dict[int, Any]:
    """Read an answer of `vertex TAB value`; a vertex that is listed twice is wrong."""
    values: dict[int, Any] = {}
    for line in lines(folder):
        key, value = line.split("\t")
        if int(key) in values:
            raise WrongAnswerError(f"{folder.name} lists {key} twice")
        values[int(key)] = dtype(value)
    return values


def vectors(folder: Path, *columns: str) -> list[np.ndarray]:
    """Read columns of a Parquet data set: a list column becomes an array of rows x dimensions."""
    return [np.concatenate(column) for column in zip(*stretches(folder, *columns), strict=True)]


def stretches(folder: Path, *columns: str) -> Iterator[list[np.ndarray]]:
    """Yield the columns as `vectors` does, some rows at a time."""
    import pyarrow.parquet as pq

    for file in parts(folder):
        for batch in pq.ParquetFile(file).iter_batches(_STRETCH_ROWS, columns=list(columns)):
            yield [_array(batch.column(name), len(batch)) for name in columns]


def _array(column: Any, rows: int) -> np.ndarray:
    values = column.flatten() if hasattr(column, "flatten") and column.type.num_fields else column
    array: np.ndarray = values.to_numpy(zero_copy_only=False)
    return array.reshape(rows, -1) if values is not column else array
