"""The SQL jobs: each answer equals DuckDB's on the same files, and a damaged one is found."""

import datetime
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections import namedtuple
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_runs import Runs, damaged, finished, plain_java, with_answer

from hearth.base.errors import UserError
from hearth.workloads import tpch
from hearth.workloads.checks import FinishedRun, Verdict, sql
from hearth.workloads.checks.registry import check
from hearth.workloads.checks.sql import TPCH_AT_SCALE_1, Table, difference, equal, standard_problem
from hearth.workloads.datasets import MANIFEST, ensure
from hearth.workloads.tpch import TpchTables, scale_of
from support import PATIENCE_S, check_golden, eventually

pytestmark = pytest.mark.spark

SCALE = 0.1
STATUSES = ["placed", "paid", "shipped", "delivered", "returned"]


def verdict_on(run: FinishedRun, folder: Path, part: str, query: str) -> Verdict:
    """The verdict, were one part of the answer what a query makes of its rows."""

    def damage(answer: Path) -> None:
        old, new = f"{run.answer / part}/*.parquet", answer / part / "damaged.parquet"
        for file in (answer / part).glob("*.parquet"):
            file.unlink()
        rows = query.format(rows=f"read_parquet('{old}')")
        duckdb.sql(f"COPY ({rows}) TO '{new}' (FORMAT parquet)")

    return check(damaged(run, folder, damage))


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ensure(TpchTables(SCALE), tmp_path_factory.mktemp("data") / "tpch")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The e-commerce tables, small, in the form of the generator `shop`."""
    folder, draw = tmp_path_factory.mktemp("shop"), random.Random(1)
    first = datetime.date(2020, 1, 1)
    days = [first + datetime.timedelta(draw.randrange(1461)) for _ in range(500)]
    orders = {
        "order_id": pa.array(range(1, 501), pa.int64()),
        "buyer_id": pa.array([draw.randint(1, 125) for _ in days], pa.int64()),
        "order_date": pa.array(days, pa.date32()),
        "status": pa.array([draw.choice(STATUSES) for _ in days]),
    }
    prices = [Decimal(draw.randint(99, 99_999)).scaleb(-2) for _ in range(2000)]
    pieces = [draw.randint(1, 20) for _ in prices]
    items = {
        "item_id": pa.array(range(1, 2001), pa.int64()),
        "order_id": pa.array([draw.randint(1, 500) for _ in prices], pa.int64()),
        "goods_id": pa.array([draw.randint(1, 40) for _ in prices], pa.int64()),
        "quantity": pa.array(pieces, pa.int32()),
        "price": pa.array(prices, pa.decimal128(10, 2)),
        "amount": pa.array(
            [p * n for p, n in zip(prices, pieces, strict=True)], pa.decimal128(12, 2)
        ),
    }
    for name, columns in (("orders", orders), ("items", items)):
        (folder / name).mkdir()
        pq.write_table(pa.table(columns), folder / name / "part-00000.parquet")
    return folder


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, draw = tmp_path_factory.mktemp("pairs"), random.Random(2)
    keys = [draw.randrange(100) for _ in range(3000)]
    columns = {"key": pa.array(keys, pa.int64()), "value": [f"val_{draw.random()}" for _ in keys]}
    pq.write_table(pa.table(columns), folder / "part-00000.parquet")
    return folder


@pytest.fixture(scope="module")
def runs(tables: Path, shop: Path, pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """All jobs in one Spark application."""
    folder = tmp_path_factory.mktemp("runs")
    # At this scale no part is of Q17's brand, container and quantity.
    small = ensure(TpchTables(0.01), folder / "data" / "tpch")
    plans = {
        "queries": ("tpch", {"tpch": tables}, {}),
        "empty": ("tpch", {"tpch": small}, {"queries": "11,17"}),
        "goods": ("sql-aggregation", {"shop": shop}, {}),
        "buyers": ("sql-join", {"shop": shop}, {"since": "2022-02-03"}),
        "relation": ("rdd-relation", {"pairs": pairs}, {"partitions": "3"}),
    }
    return finished(folder, plans)


@pytest.fixture
def queries(runs: Runs) -> FinishedRun:
    return runs["queries"]


def test_all_22_queries_equal_duckdb_and_none_is_empty(queries: FinishedRun) -> None:
    assert check(queries) == Verdict("checked", "22 of 22 queries equal DuckDB's, 0 empty")
    phases = [phase["name"] for phase in queries.result["phases"]]
    assert phases == [f"q{number:02d}" for number in range(1, 23)]
    assert queries.result["answer"]["scale"] == "0.1"


def test_an_empty_sum_is_null_in_spark_and_duckdb_and_is_told(
    runs: Runs,
) -> None:
    assert check(runs["empty"]) == Verdict(
        "checked", "2 of 2 queries equal DuckDB's, 1 empty (q17)"
    )


def test_the_queries_answer_what_they_answered_when_they_gave_the_standards_answers(
    queries: FinishedRun,
) -> None:
    """DuckDB is given the same texts: a change of their meaning shows here, and at scale 1."""
    lines = []
    for number in range(1, 23):
        files = [str(file) for file in (queries.answer / f"q{number:02d}").glob("*.parquet")]
        rows = duckdb.sql("FROM read_parquet($files)", params={"files": files}).fetchall()
        texts = ["|".join(map(str, row)) for row in rows]
        digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]
        lines.append(f"q{number:02d}  {len(rows)} rows  {digest}  {texts[0]}\n")
    check_golden("tpch-0.1.txt", "".join(lines))


@pytest.mark.parametrize("number", range(1, 23))
def test_rows_at_scale_1_that_are_not_the_standards_are_wrong(number: int) -> None:
    count, known = TPCH_AT_SCALE_1[number - 1]
    value = known if known.startswith("Supplier") else Decimal(known)
    assert standard_problem(number, [(value,)] * count) is None
    fewer = standard_problem(number, [(value,)] * (count - 1))
    assert fewer == f"{count - 1} rows, the standard's answer has {count}"
    other = f"{known}0" if isinstance(value, str) else value * Decimal("1.01") + 1
    assert standard_problem(number, [(other,)] * count) is not None


def test_at_scale_1_the_standards_answers_are_asked(
    queries: FinishedRun,
) -> None:
    verdict = check(with_answer(queries, scale="1"))
    assert verdict.status == "wrong"
    assert "the first row has no 37734107.00, as the standard's answer has" in verdict.detail


@pytest.mark.parametrize(
    ("part", "query", "sentence"),
    [
        ("q06", "SELECT revenue + 0.0001 AS revenue FROM {rows}", "q06: revenue: "),
        ("q16", "FROM {rows} LIMIT 2761", "q16: 2761 rows, DuckDB has 2762"),
        ("q10", "FROM {rows} ORDER BY revenue", "q10: row 0, revenue: "),
        ("q14", "SELECT promo_revenue + 0.000002 AS promo_revenue FROM {rows}", "q14: promo"),
        ("q04", "SELECT order_count, o_orderpriority FROM {rows}", "q04: columns "),
    ],
)
def test_a_damaged_answer_is_wrong(
    queries: FinishedRun, tmp_path: Path, part: str, query: str, sentence: str
) -> None:
    verdict = verdict_on(queries, tmp_path, part, query)
    assert verdict.status == "wrong"
    assert verdict.detail.startswith(f"1 of 22 queries differ; {sentence}")


def test_a_missing_answer_is_wrong(queries: FinishedRun, tmp_path: Path) -> None:
    run = damaged(queries, tmp_path, lambda answer: shutil.rmtree(answer / "q02"))
    assert check(run) == Verdict("wrong", "1 of 22 queries differ; q02: the answer is missing")


def test_a_query_that_the_standard_lacks_is_refused_by_number(tables: Path, tmp_path: Path) -> None:
    words = ["run", "tpch", "--data", f"tpch={tables}", "--queries", "1,3-23"]
    done = plain_java(tmp_path, *words, "--answer", "new", "--result", "r.json")
    assert done.returncode == 2
    assert "--queries: '1,3-23' is not" in done.stderr
    assert "there is no query 23" in done.stderr


FEWER = "FROM {rows} WHERE goods_id <> 7"
MORE = "SELECT * REPLACE (revenue + 0.01 AS revenue) FROM {rows}"


def test_sales_and_records_equal_duckdb(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(runs["goods"]) == Verdict("checked", "40 articles equal DuckDB's")
    assert check(runs["buyers"]).status == "checked", check(runs["buyers"]).detail
    assert check(runs["relation"]) == Verdict("checked", "100 keys equal DuckDB's")
    monkeypatch.setattr(sql, "_STRETCH_ROWS", 10)  # of 40: the last stretch is full
    assert check(runs["goods"]) == Verdict("checked", "40 articles equal DuckDB's")


@pytest.mark.parametrize(
    ("name", "part", "query"),
    [
        ("goods", "goods", FEWER),
        ("goods", "goods", MORE),
        ("buyers", "buyers", "SELECT * REPLACE (items + 1 AS items) FROM {rows}"),
        ("relation", "records", "FROM {rows} LIMIT 2999"),
        ("relation", "smallest", "FROM {rows} ORDER BY key DESC, value"),
        ("relation", "smallest-stored", "FROM {rows} LIMIT 1"),
        ("relation", "groups", "SELECT * REPLACE ('val_' AS least) FROM {rows}"),
    ],
)
def test_a_damaged_table_is_wrong(
    runs: Runs, tmp_path: Path, name: str, part: str, query: str
) -> None:
    assert verdict_on(runs[name], tmp_path, part, query).status == "wrong"


@pytest.mark.parametrize(
    "query",
    [
        FEWER,
        MORE,
        "FROM {rows} UNION ALL FROM {rows} LIMIT 41",
        "SELECT * REPLACE (goods_id // 2 AS goods_id) FROM {rows}",
    ],
)
def test_a_damaged_table_is_wrong_where_it_is_compared_in_stretches(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(sql, "_STRETCH_ROWS", 10)
    assert verdict_on(runs["goods"], tmp_path, "goods", query).status == "wrong"


def test_records_that_were_not_all_read_or_stored_are_wrong(runs: Runs) -> None:
    for name in ("records", "stored"):
        assert check(with_answer(runs["relation"], **{name: 2999})).status == "wrong"


Value = namedtuple("Value", "one other same")


@pytest.mark.parametrize(
    "value",
    [
        Value(Decimal("0.034436"), 0.0344358904, True),
        Value(Decimal("0.034437"), 0.0344358904, False),
        Value(Decimal("1.10"), Decimal("1.1"), True),
        Value(Decimal("1.10"), Decimal("1.11"), False),
        Value(1.0, 1.0 + 1e-14, True),
        Value(1.0, 1.0 + 1e-11, False),
        Value(None, 0.0, False),
        Value(None, None, True),
        Value("1", 1.0, False),
    ],
)
def test_values_agree_by_the_stated_rule(value: Value) -> None:
    assert equal(value.one, value.other) == value.same


def test_rows_that_the_order_leaves_equal_may_come_in_any_order() -> None:
    rows: list[tuple[Any, ...]] = [(2, "a"), (1, "b"), (1, "c")]
    theirs = Table(["n", "name"], rows)
    assert difference(Table(["n", "name"], [rows[0], rows[2], rows[1]]), theirs, ("n",)) is None
    assert difference(Table(["n", "name"], [rows[1], rows[0], rows[2]]), theirs, ("n",))


def test_a_data_set_of_tpch_says_what_it_is_and_is_made_once(tables: Path) -> None:
    document = json.loads((tables / MANIFEST).read_text())
    assert document["parameters"] == {"scale": "0.1"}
    assert document["rows"] == 600572 + 150000 + 80000 + 20000 + 15000 + 1000 + 25 + 5
    assert document["bytes"] == sum(f.stat().st_size for f in tables.glob("*/*.parquet"))
    assert document["bytes"] < SCALE * tpch.PARQUET_BYTES_PER_SCALE
    files = sorted(tables.glob("*/*.parquet"))
    assert tpch.parquet_rows(files) == document["rows"]
    before = (tables / MANIFEST).stat().st_mtime_ns
    assert ensure(TpchTables(SCALE), tables) == tables
    assert (tables / MANIFEST).stat().st_mtime_ns == before


def test_a_folder_of_another_scale_or_with_a_damaged_file_is_refused(
    tables: Path, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=r"holds data with scale 0\.1, not 0\.2"):
        ensure(TpchTables(0.2), tables)
    copy = shutil.copytree(tables, tmp_path / "copy")
    (copy / "nation" / "nation.1.parquet").write_bytes(b"")
    with pytest.raises(UserError, match=r"nation\.1\.parquet' is missing or damaged"):
        ensure(TpchTables(SCALE), copy)


def test_a_size_is_the_raw_size_and_too_small_or_too_large_ones_are_refused(tmp_path: Path) -> None:
    assert scale_of(2 << 30) == 2.0
    with pytest.raises(UserError, match="scale factor"):
        scale_of(1000)
    with pytest.raises(UserError, match="does not fit"):
        ensure(TpchTables(100_000), tmp_path / "large")
    assert not (tmp_path / "large").exists()


_MAKE = """
from pathlib import Path
from hearth.workloads.datasets import ensure
from hearth.workloads.tpch import TpchTables
"""


@pytest.mark.parametrize("victim", ["generator", "parent"])
def test_nothing_of_a_killed_generator_is_trusted(tmp_path: Path, victim: str) -> None:
    place = tmp_path / "tpch"
    code = _MAKE + f"ensure(TpchTables(3.0), Path({str(place)!r}))"
    parent = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    begun = ".tpch.tpch-*/data/*/*.inprogress"
    eventually("the generator starts", lambda: list(tmp_path.glob(begun)), look_s=0.01)
    os.kill(parent.pid if victim == "parent" else generator_of(parent.pid), signal.SIGKILL)
    error = parent.communicate(timeout=PATIENCE_S)[1]
    assert not place.exists()
    if victim == "generator":
        assert "tpchgen-cli ended with -9" in error
    eventually("what it made is gone", lambda: files_under(tmp_path) <= {".tpch.lock"})
    made = ensure(TpchTables(0.002), place)
    assert (made / MANIFEST).is_file()


def files_under(folder: Path) -> set[str]:
    """Their names; unlike a glob it passes over a directory that is deleted meanwhile."""
    return {name for _, _, names in os.walk(folder) for name in names}


def generator_of(parent: int) -> int:
    """The child of this process that is tpchgen-cli."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    names = {Path(f"/proc/{pid}/comm").read_text().strip(): int(pid) for pid in children}
    return names["tpchgen-cli"]
