"""Write the tables of an analysis and the samples of a record as Parquet or CSV."""

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hearth.analysis.document import Analysis, Executor, Stage, TasksSample
from hearth.analysis.samples import SampleFile
from hearth.base.absent import Absent, Measured
from hearth.base.codec import to_json
from hearth.base.errors import UserError, not_installed
from hearth.base.private_files import private_directory
from hearth.base.rows import flat
from hearth.base.temporary import working_directory

FORMATS = ("parquet", "csv")
#: Rows that are turned into columns and written at a time.
BATCH_ROWS = 20_000


def export(
    analysis: Analysis, record: Path | None, target: Path, form: str = "parquet"
) -> list[Path]:
    """Write tasks, stages and executors, and each file of samples of `record`, to a directory.

    Nested values become columns with dotted names, lists JSON text. Returns the files. Raises
    UserError where pyarrow is missing or the format is neither of FORMATS.
    """
    if form not in FORMATS:
        raise UserError(f"export: '{form}' is not a format: choose {' or '.join(FORMATS)}")
    if not target.exists():
        private_directory(target)
    tables: dict[str, Iterator[dict[str, Any]]] = {
        "tasks": _task_rows(analysis.tasks_sample),
        "stages": _rows(analysis.stages),
        "executors": _rows(analysis.executors),
    }
    for file in sorted(record.glob("samples/*.jsonl")) if record else ():
        tables[f"samples-{file.stem}"] = iter(SampleFile(file))
    with working_directory(False, ".export-", target) as scratch:
        parts = [_write(scratch / f"{name}.{form}", rows, form) for name, rows in tables.items()]
        return [part.replace(target / part.name) for part in parts if part is not None]


def _rows(group: Measured[Sequence[Stage | Executor]]) -> Iterator[dict[str, Any]]:
    return iter(() if isinstance(group, Absent) else map(to_json, group))


def _task_rows(sample: Measured[TasksSample]) -> Iterator[dict[str, Any]]:
    if isinstance(sample, Absent):
        return
    columns = {name: values for name, values in to_json(sample).items()
               if name not in ("stride", "executors")}  # fmt: skip
    for values in zip(*columns.values(), strict=True):
        row = dict(zip(columns, values, strict=True))
        yield {**row, "executor": sample.executors[row["executor"]]}


def _write(part: Path, rows: Iterator[dict[str, Any]], form: str) -> Path | None:
    """Write the rows in one pass: the first batch sets the columns, and a column that only appears
    later is kept in `more`, as JSON text."""
    arrow = _pyarrow()
    writer: Any = None
    names: list[str] | None = None
    try:
        while batch := _batch(rows):
            if names is None:
                names = list(dict.fromkeys(name for row in batch for name in row))
                schema = _schema(arrow, batch, names)
                part.touch(0o600, exist_ok=False)
                writer = _writer(part, schema, form)
            writer.write_table(arrow.Table.from_pylist(_fitted(batch, schema), schema=schema))
    finally:
        if writer is not None:
            writer.close()
    return None if writer is None else part


def _batch(rows: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    return [flat(row) for row in itertools.islice(rows, BATCH_ROWS)]


def _schema(arrow: Any, batch: list[dict[str, Any]], names: list[str]) -> Any:
    """Return whole numbers where all are, doubles where some are not, else text."""
    fields = []
    for name in names:
        kinds = {type(row[name]) for row in batch if row.get(name) is not None}
        fields.append((name, _type(arrow, kinds)))
    return arrow.schema([*fields, ("more", arrow.string())])


def _type(arrow: Any, kinds: set[type]) -> Any:
    if kinds == {bool}:
        return arrow.bool_()
    if kinds and kinds <= {int, float}:
        return arrow.float64() if float in kinds else arrow.int64()
    return arrow.string()


def _fitted(batch: list[dict[str, Any]], schema: Any) -> list[dict[str, Any]]:
    names = set(schema.names)
    text = {field.name for field in schema if str(field.type) == "string"}
    whole = {field.name for field in schema if str(field.type) == "int64"}
    fitted = []
    for row in batch:
        late = {n: v for n, v in row.items() if n not in names or (n in whole and v != _int(v))}
        values = {n: _text(v) if n in text else v for n, v in row.items() if n not in late}
        fitted.append({**values, "more": json.dumps(late) if late else None})
    return fitted


def _int(value: object) -> int | None:
    return value if value is None or isinstance(value, int) else None


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _writer(file: Path, schema: Any, form: str) -> Any:
    if form == "csv":
        import pyarrow.csv

        return pyarrow.csv.CSVWriter(file, schema)
    import pyarrow.parquet

    return pyarrow.parquet.ParquetWriter(file, schema, compression="zstd")


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as missing:
        raise not_installed("pyarrow") from missing
    return pyarrow
