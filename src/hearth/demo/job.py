"""The demonstration's Spark application: TPC-H queries and a word count, each timed and kept.

Runs under any master, by `hearth submit` or spark-submit, and knows nothing of hearth:
job.py DATA QUERIES TEXTS PASSES OUTPUT
"""

import json
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


def main(data: Path, queries: Path, texts: Path, passes: int, output: Path) -> None:
    """Writes rows and seconds of each piece of work to `output`; pass 0 is cold."""
    session = SparkSession.builder.appName("hearth demo").getOrCreate()
    for table in sorted(folder for folder in data.iterdir() if folder.is_dir()):
        session.read.parquet(str(table)).createOrReplaceTempView(table.name)
    work: dict[str, tuple[Callable[[SparkSession, str], list[list[Any]]], str]] = {
        file.stem: (run_query, file.read_text()) for file in sorted(queries.glob("*.sql"))
    }
    work["words"] = (count_words, str(texts))
    rows: dict[str, Any] = {}
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(passes):
        for name, (function, argument) in work.items():
            start = time.perf_counter()
            rows[name] = function(session, argument)
            seconds[name].append(time.perf_counter() - start)
    context = session.sparkContext
    document = {"app_id": context.applicationId, "master": context.master}
    output.write_text(json.dumps({**document, "rows": rows, "seconds": seconds}))
    session.stop()


def run_query(session: SparkSession, sql: str) -> list[list[Any]]:
    """The rows of a query, as JSON can hold them."""
    return [[plain(value) for value in row] for row in session.sql(sql).collect()]


def count_words(session: SparkSession, texts: str) -> list[list[Any]]:
    """How often each word (letters a to z) occurs in the files, by Python workers."""
    import re

    word = re.compile("[a-z]+")
    lines = session.sparkContext.textFile(texts)
    counts = lines.flatMap(lambda line: word.findall(line.lower())).map(lambda w: (w, 1))
    return [[w, n] for w, n in sorted(counts.reduceByKey(lambda a, b: a + b).collect())]


def plain(value: Any) -> Any:
    """A value as JSON holds it: exact decimals as text, dates in ISO form."""
    if isinstance(value, (str, int, float, type(None))):
        return value
    return str(value) if isinstance(value, Decimal) else value.isoformat()


if __name__ == "__main__":
    main(
        Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5])
    )
