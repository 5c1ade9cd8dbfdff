"""The demonstration's Spark application: TPC-H queries and a word count.

Runs under any master, by `hearth submit` or spark-submit, and knows nothing of hearth:
job.py TABLES QUERIES TEXTS ANSWERS
"""

import json
import re
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


def main(data: Path, queries: Path, texts: Path, answers: Path) -> None:
    """Write the rows of each piece of work to a file of its own below `answers`."""
    session = SparkSession.builder.appName("hearth lab demo").getOrCreate()
    for table in sorted(folder for folder in data.iterdir() if folder.is_dir()):
        session.read.parquet(str(table)).createOrReplaceTempView(table.name)
    rows = {file.stem: run_query(session, file.read_text()) for file in queries.glob("*.sql")}
    rows["words"] = count_words(session, str(texts))
    (answers / f"{session.sparkContext.applicationId}.json").write_text(json.dumps(rows))
    session.stop()


def run_query(session: SparkSession, sql: str) -> list[list[Any]]:
    """Return the rows of a query, as JSON can hold them."""
    return [[plain(value) for value in row] for row in session.sql(sql).collect()]


def count_words(session: SparkSession, texts: str) -> list[list[Any]]:
    """Return how often each word (letters a to z) occurs in the files, by Python workers."""
    word = re.compile("[a-z]+")
    lines = session.sparkContext.textFile(texts)
    counts = lines.flatMap(lambda line: word.findall(line.lower())).map(lambda w: (w, 1))
    return [[w, n] for w, n in sorted(counts.reduceByKey(lambda a, b: a + b).collect())]


def plain(value: Any) -> Any:
    """Return a value as JSON holds it: exact decimals as text, dates in ISO form."""
    if isinstance(value, (str, int, float, type(None))):
        return value
    return str(value) if isinstance(value, Decimal) else value.isoformat()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
