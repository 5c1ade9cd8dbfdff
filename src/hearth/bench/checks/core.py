"""Checks of the jobs of Spark's core, by DuckDB on the same files."""

from hearth.bench.checks import FinishedRun, Verdict

_WORDS = """
SELECT word, count(*) FROM (
    SELECT unnest(string_split(line, ' ')) AS word
    FROM read_csv(?, columns={'line': 'VARCHAR'}, delim='\\n', quote='', escape='', header=false)
) WHERE word <> '' GROUP BY word
"""


def word_count(run: FinishedRun) -> Verdict:
    """Every word's count against DuckDB's."""
    import duckdb

    with duckdb.connect() as connection:
        rows = connection.execute(_WORDS, [f"{run.data['text']}/part-*"]).fetchall()
    expected = dict(rows)
    actual: dict[str, int] = {}
    for file in sorted((run.answer / "counts").glob("part-*")):
        for line in file.read_text(encoding="utf-8").splitlines():
            word, _, count = line.partition("\t")
            actual[word] = actual.get(word, 0) + int(count)
    wrong = [word for word in expected | actual if expected.get(word) != actual.get(word)]
    if wrong:
        word = min(wrong)
        counts = f"{actual.get(word, 0)} times, DuckDB counts {expected.get(word, 0)}"
        return Verdict("wrong", f"{len(wrong)} words differ, '{word}': {counts}")
    return Verdict("checked", f"{len(expected):,} words equal DuckDB's")


CORE = {"word-count": word_count}
