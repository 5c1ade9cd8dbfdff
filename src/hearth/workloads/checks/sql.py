"""Check of the SQL jobs, by DuckDB on the same files.

How values are compared: whole numbers, texts, days and decimals exactly. Where one engine has a
decimal and the other a double (averages and quotients of decimals), the double may lie half a
unit of the decimal's last place away, and DOUBLE_RELATIVE of itself for its own rounding. Two
doubles may differ by DOUBLE_RELATIVE. Rows come in the order that the query asks for by the
columns it names; rows that these leave equal may come in any order.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hearth.workloads import tpch
from hearth.workloads.checks import FinishedRun, WrongAnswerError
from hearth.workloads.checks.duck import duck

if TYPE_CHECKING:
    import duckdb

DOUBLE_RELATIVE = 1e-12
_STRETCH_ROWS = 100_000
_MISSING = "the answer is missing"
#: What each query orders by; the others have one row or no order.
TPCH_ORDER = {
    1: ("l_returnflag", "l_linestatus"),
    2: ("s_acctbal", "n_name", "s_name", "p_partkey"),
    3: ("revenue", "o_orderdate", "l_orderkey"),
    4: ("o_orderpriority",),
    5: ("revenue",),
    7: ("supp_nation", "cust_nation", "l_year"),
    8: ("o_year",),
    9: ("nation", "o_year"),
    10: ("revenue", "c_custkey"),
    11: ("value",),
    12: ("l_shipmode",),
    13: ("custdist", "c_count"),
    15: ("s_suppkey",),
    16: ("supplier_cnt", "p_brand", "p_type", "p_size"),
    18: ("o_totalprice", "o_orderdate", "o_orderkey"),
    20: ("s_name",),
    21: ("numwait", "s_name"),
    22: ("cntrycode",),
}
#: Of the standard's own answers at scale factor 1 (TPC-H 3.0.1, answer sets): the number of rows,
#: and a value of the first one, to the places that are known of it.
TPCH_AT_SCALE_1 = (
    *((4, "37734107.00"), (100, "9938.53"), (10, "406181.01"), (5, "10594"), (5, "55502041.17")),
    *((1, "123141078.23"), (4, "54639732.73"), (2, "0.0344"), (175, "27136900.18")),
    *((20, "734235.2455"), (1048, "17538456.86"), (2, "6202"), (42, "50005"), (1, "16.38")),
    *((1, "1772627.2087"), (18314, "28"), (1, "348406.05"), (57, "544089.09")),
    *((1, "3083843.0578"), (186, "Supplier#000000020"), (100, "Supplier#000002829")),
    (7, "6737713.99"),
)

_GOODS = """
SELECT goods_id, count(*) AS items, sum(quantity) AS pieces, sum(amount) AS revenue,
       sum(price) / count(*) AS mean_price
FROM items GROUP BY goods_id
"""
_BUYERS = """
SELECT buyer_id, count(*) AS items, sum(amount) AS total
FROM items, (FROM orders WHERE order_date >= CAST(? AS DATE)) AS recent
WHERE items.order_id = recent.order_id GROUP BY buyer_id
"""
_GROUPS = """
SELECT key, count(*) AS records, min(value) AS least, max(value) AS greatest
FROM pairs GROUP BY key
"""
_LOST = """
SELECT (SELECT count(*) FROM (FROM pairs EXCEPT ALL FROM records)),
       (SELECT count(*) FROM (FROM records EXCEPT ALL FROM pairs))
"""

Row = tuple[Any, ...]


class Table:
    """Rows with the names of their columns."""

    def __init__(self, columns: list[str], rows: list[Row]) -> None:
        self.columns = columns
        self.rows = rows

    @classmethod
    def of(cls, answer: "duckdb.DuckDBPyConnection", most: int | None = None) -> "Table":
        """Read all rows, or the next `most` at most."""
        rows = answer.fetchall() if most is None else answer.fetchmany(most)
        return cls([column[0] for column in answer.description or []], rows)


def difference(actual: Table, expected: Table, order: tuple[str, ...] = ()) -> str | None:
    """Describe the first difference to DuckDB's rows, the expected ones; None if equal."""
    if actual.columns != expected.columns:
        return f"columns {', '.join(actual.columns)}, DuckDB has {', '.join(expected.columns)}"
    if len(actual.rows) != len(expected.rows):
        return f"{len(actual.rows)} rows, DuckDB has {len(expected.rows)}"
    keys = [expected.columns.index(name) for name in order]
    for number, (mine, theirs) in enumerate(zip(actual.rows, expected.rows, strict=True)):
        for key in keys:
            if not equal(mine[key], theirs[key]):
                return f"row {number}, {expected.columns[key]}: {mine[key]}, DuckDB {theirs[key]}"
    inexact = _inexact(actual) | _inexact(expected)
    pairs = zip(_sorted(actual, inexact), _sorted(expected, inexact), strict=True)
    for mine, theirs in pairs:
        for name, one, other in zip(expected.columns, mine, theirs, strict=True):
            if not equal(one, other):
                return f"{name}: {one}, DuckDB has {other} (row {theirs})"
    return None


def equal(one: Any, other: Any) -> bool:
    """Return whether two values agree by the rules at the top of this file."""
    if one is None or other is None:
        return one is other
    if not isinstance(one, float) and not isinstance(other, float):
        return bool(one == other)
    if not all(isinstance(value, (int, float, Decimal)) for value in (one, other)):
        return False
    half_units = [10.0 ** int(v.as_tuple().exponent) / 2 for v in (one, other) if _decimal(v)]
    allowed = sum(half_units) + DOUBLE_RELATIVE * max(abs(float(one)), abs(float(other)))
    return abs(float(one) - float(other)) <= allowed


def _decimal(value: Any) -> bool:
    return isinstance(value, Decimal)


def _inexact(table: Table) -> set[int]:
    return {i for row in table.rows for i, value in enumerate(row) if isinstance(value, float)}


def _sorted(table: Table, inexact: set[int]) -> list[Row]:
    """Sort by the exact columns first, so that rounding cannot pair unlike rows."""
    width = range(len(table.columns))
    columns = [i for i in width if i not in inexact] + [i for i in width if i in inexact]
    return sorted(table.rows, key=lambda row: [(row[i] is not None, row[i]) for i in columns])


def tpch_queries(run: FinishedRun) -> str:
    """Compare every query's rows with DuckDB's, and at scale 1 with the standard's answers.

    DuckDB is given the same texts: only the standard's answers can tell that a text is wrong.
    """
    scale = float(run.result["answer"]["scale"])
    names = list(run.result["answer"]["rows"])
    wrong, empty = [], []
    with _views(run, "tpch", tpch.TABLES) as connection:
        for name in names:
            outcome = _query_difference(connection, run.answer / name, int(name[1:]), scale)
            if isinstance(outcome, str):
                wrong.append(f"{name}: {outcome}")
            elif outcome == 0:
                empty.append(name)
    if wrong:
        raise WrongAnswerError(f"{len(wrong)} of {len(names)} queries differ; {wrong[0]}")
    without = f"{len(empty)} empty" + (f" ({', '.join(empty)})" if empty else "")
    return f"{len(names)} of {len(names)} queries equal DuckDB's, {without}"


def _query_difference(
    connection: "duckdb.DuckDBPyConnection", answer: Path, number: int, scale: float
) -> str | int:
    """Return what differs, or the number of rows (or of values that are not null) that agree."""
    actual = _read(connection, answer)
    if isinstance(actual, str):
        return actual
    expected = Table.of(connection.execute(tpch.query_text(number, scale)))
    outcome = difference(actual, expected, TPCH_ORDER.get(number, ()))
    if outcome is None and scale == 1:
        outcome = standard_problem(number, actual.rows)
    return outcome or sum(any(value is not None for value in row) for row in actual.rows)


def standard_problem(number: int, rows: list[Row]) -> str | None:
    """Return how a query's rows at scale 1 differ from the standard's answer."""
    count, known = TPCH_AT_SCALE_1[number - 1]
    if len(rows) != count:
        return f"{len(rows)} rows, the standard's answer has {count}"
    if not any(_known(value, known) for value in rows[0]):
        return f"the first row has no {known}, as the standard's answer has"
    return None


def _known(value: Any, known: str) -> bool:
    if isinstance(value, str):
        return value == known
    try:
        digits = Decimal(known)
    except ArithmeticError:
        return False
    unit = Decimal(1).scaleb(int(digits.as_tuple().exponent))
    # The standard's answers are rounded, or cut off.
    return isinstance(value, (int, Decimal)) and abs(value - digits) < unit


def aggregation(run: FinishedRun) -> str:
    """Compare each article's sums with DuckDB's."""
    with _views(run, "shop", ("items",)) as connection:
        return _compared(connection, run.answer / "goods", _GOODS, "articles")


def join(run: FinishedRun) -> str:
    """Compare each buyer's sums with DuckDB's."""
    since = run.result["parameters"]["since"]
    with _views(run, "shop", ("orders", "items")) as connection:
        return _compared(connection, run.answer / "buyers", _BUYERS, "buyers", [since])


def rdd_relation(run: FinishedRun) -> str:
    """Check counts, groups, the ordered filter before and after Parquet, and the copy itself."""
    records = tpch.parquet_rows(sorted(run.data["pairs"].glob("*.parquet")))
    answer = run.result["answer"]
    if not answer["records"] == answer["stored"] == records:
        counts = f"{answer['records']} records, {answer['stored']} read back"
        raise WrongAnswerError(f"{counts}, the files have {records}")
    below = int(run.result["parameters"]["below"])
    smallest = f"SELECT key, value FROM pairs WHERE key < {below} ORDER BY key, value"
    with duck(run) as connection:
        _view(connection, "pairs", f"{run.data['pairs']}/*.parquet")
        for name in ("smallest", "smallest-stored"):
            ordered = ("key", "value")
            _compared(connection, run.answer / name, smallest, "rows", order=ordered)
        _view(connection, "records", f"{run.answer}/records/*.parquet")
        lost, new = connection.execute(_LOST).fetchall()[0]
        if lost or new:
            raise WrongAnswerError(f"of the stored records {lost} are missing, {new} are new")
        return _compared(connection, run.answer / "groups", _GROUPS, "keys")


def _compared(
    connection: "duckdb.DuckDBPyConnection",
    answer: Path,
    query: str,
    what: str,
    values: list[Any] | None = None,
    order: tuple[str, ...] = (),
) -> str:
    """Compare row by row, few of them in Python at once; without an order, by the first column."""
    files = _parquet(answer)
    if not files:
        raise WrongAnswerError(f"{answer.name}: {_MISSING}")
    by = "" if order else "ORDER BY 1"
    mine = connection.cursor().execute(f"FROM read_parquet(?) {by}", [files])
    theirs = connection.cursor().execute(f"{query} {by}", values or [])
    compared, more = 0, True
    while more:
        actual, expected = (Table.of(side, _STRETCH_ROWS) for side in (mine, theirs))
        outcome = difference(actual, expected, order)
        if outcome is not None:
            raise WrongAnswerError(f"{answer.name}: {outcome}")
        compared += len(expected.rows)
        more = len(expected.rows) == _STRETCH_ROWS
    return f"{compared:,} {what} equal DuckDB's"


def _read(connection: "duckdb.DuckDBPyConnection", answer: Path) -> Table | str:
    files = _parquet(answer)
    return Table.of(connection.execute("FROM read_parquet(?)", [files])) if files else _MISSING


def _parquet(folder: Path) -> list[str]:
    return [str(file) for file in sorted(folder.glob("*.parquet"))]


def _view(connection: "duckdb.DuckDBPyConnection", name: str, files: str) -> None:
    quoted = files.replace("'", "''")
    connection.execute(f"CREATE VIEW {name} AS FROM read_parquet('{quoted}')")


@contextmanager
def _views(
    run: FinishedRun, data: str, tables: tuple[str, ...]
) -> Iterator["duckdb.DuckDBPyConnection"]:
    with duck(run) as connection:
        for table in tables:
            _view(connection, table, f"{run.data[data]}/{table}/*.parquet")
        yield connection


SQL = {
    "tpch": tpch_queries,
    "sql-aggregation": aggregation,
    "sql-join": join,
    "rdd-relation": rdd_relation,
}
