"""Results as tables: flat rows for files and pandas, plain HTML for a notebook."""

import importlib
import json
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from hearth.base.codec import to_json
from hearth.base.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
_SHOWN = 20


def flat(row: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return a row without nesting: `{"a": {"b": 1}}` becomes `{"a.b": 1}`; a list is JSON text."""
    columns: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            columns.update(flat(value, f"{prefix}{name}."))
        else:
            text = isinstance(value, list)
            columns[prefix + name] = json.dumps(value) if text else value
    return columns


def html_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in HTML; every text is escaped."""
    lines = [_row("td", row) for row in rows]
    return f"<table><caption>{escape(caption)}</caption>{_row('th', head)}{''.join(lines)}</table>"


def _row(cell: str, values: Sequence[object]) -> str:
    texts = ("" if value is None else escape(str(value)) for value in values)
    return f"<tr>{''.join(f'<{cell}>{text}</{cell}>' for text in texts)}</tr>"


class Rows(Sequence[T], Generic[T]):
    """Some results of one type: a list to read, and a table for pandas or a notebook."""

    def __init__(self, rows: Sequence[T]) -> None:
        self._rows = tuple(rows)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        return self._rows[at]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[T]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return f"Rows({list(self._rows)!r})"

    def to_pandas(self) -> "pd.DataFrame":
        """Return a DataFrame with a row for each; nested values are columns such as `time.gc`.

        Raises UserError where pandas is missing.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            raise UserError("pandas is not installed: pip install pandas") from None
        frame: pd.DataFrame = pandas.DataFrame(self._flat())
        return frame

    def _flat(self) -> list[dict[str, Any]]:
        return [flat(to_json(row)) for row in self._rows]

    def _repr_html_(self) -> str:
        rows = self._flat()
        names = list(dict.fromkeys(name for row in rows for name in row))
        shown = f"{min(len(rows), _SHOWN)} of {len(rows)}"
        return html_table(shown, names, ([row.get(n) for n in names] for row in rows[:_SHOWN]))
