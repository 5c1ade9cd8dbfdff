"""Compare Spark's results with DuckDB's on the same files."""

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

#: Two numbers count as equal within ABSOLUTE + RELATIVE x the larger one. Sums of decimals are
#: exact in both engines; of an average Spark keeps six places, DuckDB gives a double.
ABSOLUTE = Decimal("0.000001")
RELATIVE = Decimal("0.000000001")

_WORDS = """
SELECT word, count(*) FROM (
    SELECT unnest(regexp_extract_all(lower(content), '[a-z]+')) AS word FROM read_text(?)
) GROUP BY word ORDER BY word
"""

Rows = list[list[Any]]


def expected_rows(data: Path, queries: Path, texts: Path) -> dict[str, Rows]:
    """Return DuckDB's answer to each query, and its count of words."""
    import duckdb

    with duckdb.connect() as connection:
        for table in sorted(folder for folder in data.iterdir() if folder.is_dir()):
            files = f"{table}/*.parquet".replace("'", "''")
            connection.execute(f"CREATE VIEW {table.name} AS FROM read_parquet('{files}')")
        answers = {
            file.stem: connection.execute(file.read_text()).fetchall()
            for file in sorted(queries.glob("*.sql"))
        }
        answers["words"] = connection.execute(_WORDS, [f"{texts}/*"]).fetchall()
    return {name: [list(row) for row in rows] for name, rows in answers.items()}


def difference(actual: Rows, expected: Rows) -> str | None:
    """Return the first difference, in words.

    None where the rows agree within the tolerance, in order.
    """
    if len(actual) != len(expected):
        return f"{len(actual)} rows, DuckDB has {len(expected)}"
    for number, (mine, theirs) in enumerate(zip(actual, expected, strict=True)):
        if len(mine) != len(theirs):
            return f"row {number} has {len(mine)} columns, DuckDB's {len(theirs)}"
        for column, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            if not _equal(one, other):
                return f"row {number}, column {column}: {one}, DuckDB has {other}"
    return None


def _equal(one: Any, other: Any) -> bool:
    if isinstance(other, (int, float, Decimal)):
        try:
            mine, theirs = Decimal(str(one)), Decimal(str(other))
        except InvalidOperation:
            return False
        return abs(mine - theirs) <= ABSOLUTE + RELATIVE * max(abs(mine), abs(theirs))
    return bool(one == (other.isoformat() if hasattr(other, "isoformat") else other))
