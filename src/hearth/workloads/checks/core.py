"""Check of the jobs of Spark's core: DuckDB, numpy and scikit-learn on the same data."""

import itertools
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hearth.workloads.checks import FinishedRun, WrongAnswerError, large
from hearth.workloads.checks.duck import LINES, duck
from hearth.workloads.checks.files import lines, of_any_size, parts, size_bytes

if TYPE_CHECKING:
    import pyarrow as pa

#: Sorting is checked in one pass over input and output, at some hundreds of MB a second; of larger
#: data about as much is looked at.
SORT_CHECK_BYTES = 32 << 30
#: The share of reviews that rounding may label otherwise: those whose two sums are equal.
ACCURACY_TOLERANCE = 0.001
LOG_PROBABILITY_TOLERANCE = 1e-9

_RECORD_BYTES = 100
_KEY_BYTES = 10
_CHUNK_RECORDS = 1 << 18
_CHUNK_KEYS = 1 << 20

_WORDS = f"""SELECT word, count(*)::BIGINT AS n
    FROM (SELECT unnest(string_split(line, ' ')) AS word FROM {LINES})
    WHERE word <> '' GROUP BY word"""
_COUNTS = """SELECT word, sum(n)::BIGINT AS n FROM read_csv(?, columns={'word': 'VARCHAR',
    'n': 'BIGINT'}, delim='\t', quote='', escape='', header=false, auto_detect=false)
    GROUP BY word"""
_NO_WORDS = "SELECT '' AS word, 0::BIGINT AS n WHERE false"
# Rows of equal lines with the number of each: two texts are equal as multisets if these are.
_MATCHES = f"SELECT line, count(*) AS n FROM {LINES} WHERE contains(line, ?) GROUP BY line"
_ALL = f"SELECT line, count(*) AS n FROM {LINES} GROUP BY line"


def word_count(run: FinishedRun) -> str:
    """Compare every word's count with DuckDB's."""
    written, text, answer = (
        _files(run.answer / "counts"),
        _files(run.data["text"]),
        run.result["answer"],
    )
    with duck(run) as connection:
        sums = f"SELECT coalesce(sum(n), 0)::BIGINT, count(*) FROM ({_COUNTS})"
        total, distinct = connection.execute(sums, [written]).fetchall()[0] if written else (0, 0)
        if (total, distinct) != (answer["words"], answer["distinct_words"]):
            raise WrongAnswerError(f"the files hold {total} words, the answer {answer['words']}")
        # DuckDB reads no empty list of files.
        different = connection.execute(
            f"""SELECT coalesce(a.word, b.word) AS w, a.n, b.n
            FROM ({_WORDS if text else _NO_WORDS}) a
            FULL JOIN ({_COUNTS if written else _NO_WORDS}) b ON a.word = b.word
            WHERE a.n IS DISTINCT FROM b.n ORDER BY w""",
            [files for files in (text, written) if files],
        ).fetchall()
    if different:
        word, expected, actual = different[0]
        detail = f"'{word}' is counted {actual or 0} times, by DuckDB {expected or 0}"
        raise WrongAnswerError(f"{len(different)} words differ: {detail}")
    return f"the counts of {distinct:,} words equal DuckDB's"


def grep(run: FinishedRun) -> str:
    """Compare the lines written, and how often each, with DuckDB's."""
    text, pattern = _files(run.data["text"]), run.parameters["pattern"]
    written, reported = _files(run.answer / "lines"), run.result["answer"]["lines"]
    with duck(run) as connection:
        counted = f"SELECT coalesce(sum(n), 0)::BIGINT FROM ({_MATCHES})"
        expected = connection.execute(counted, [text, pattern]).fetchall()[0][0]
        if reported != expected:
            raise WrongAnswerError(f"{reported:,} lines, DuckDB finds {expected:,}")
        if not written and expected:
            raise WrongAnswerError(f"the files of {expected:,} lines are missing")
        if not written:
            return "no line holds it, by DuckDB neither"
        different = connection.execute(
            f"""SELECT count(*) FROM ({_MATCHES}) a FULL JOIN ({_ALL}) b ON a.line = b.line
            WHERE a.n IS DISTINCT FROM b.n""",
            [text, pattern, written],
        ).fetchall()[0][0]
    if different:
        raise WrongAnswerError(f"{different:,} different lines are not those that DuckDB finds")
    return f"the {expected:,} lines are those that DuckDB finds"


def _files(folder: Path) -> list[str]:
    return [str(file) for file in parts(folder)]


def sort(run: FinishedRun) -> str:
    """Order over all files, and the same records as the input, by a sum over their hashes.

    Of large data, the order of some stretches and from each to the next.
    """
    source, target = run.data["records"], run.answer / "sorted"
    if size_bytes(source) != size_bytes(target):
        sizes = f"{size_bytes(target):,} bytes, the input {size_bytes(source):,}"
        raise WrongAnswerError(f"the output has {sizes}")
    every = -(-size_bytes(target) // SORT_CHECK_BYTES)
    _check_order(target, max(1, every))
    if every > 1:
        looked = f"keys ascend over one stretch in {every} of {_CHUNK_RECORDS:,} records"
        return f"large: as many bytes as the input, {looked}"
    if _multiset(source) != _multiset(target):
        raise WrongAnswerError("the output does not hold the same records as the input")
    records = size_bytes(source) // _RECORD_BYTES
    return f"{records:,} records in order, the same as in the input"


def _chunks(folder: Path) -> Iterator[tuple[Path, np.ndarray]]:
    """Yield each file's records of 100 bytes, some at a time."""
    for file in parts(folder):
        records = np.memmap(file, dtype=np.uint8, mode="r").reshape(-1, _RECORD_BYTES)
        for start in range(0, len(records), _CHUNK_RECORDS):
            yield file, records[start : start + _CHUNK_RECORDS]


def _check_order(folder: Path, every: int) -> None:
    """Raise where a key is smaller than the one before it; one chunk in `every` is read."""
    last = b""
    for file, records in itertools.islice(_chunks(folder), 0, None, every):
        # Compared as unsigned bytes; that numpy drops trailing zeros changes no order here.
        keys = np.ascontiguousarray(records[:, :_KEY_BYTES]).view(f"S{_KEY_BYTES}").ravel()
        if keys[0] < last or bool((keys[1:] < keys[:-1]).any()):
            raise WrongAnswerError(f"the keys in {file.name} are not in order")
        last = keys[-1]


def _multiset(folder: Path) -> int:
    """Return the sum of all records' hashes modulo 2^64: no matter in which order they stand."""
    odd = np.random.default_rng(100).integers(0, 1 << 63, 13, dtype=np.uint64) * np.uint64(2)
    weights = odd + np.uint64(1)
    total = 0
    for _, records in _chunks(folder):
        padded = np.zeros((len(records), 104), dtype=np.uint8)
        padded[:, :_RECORD_BYTES] = records
        hashes = _mixed(_mixed(padded.view("<u8")) @ weights)
        total += int(hashes.sum(dtype=np.uint64))
    return total % (1 << 64)


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Return SplitMix64's output function (Steele, Lea, Flood: OOPSLA 2014), modulo 2^64."""
    with np.errstate(over="ignore"):
        a = numbers + np.uint64(0x9E3779B97F4A7C15)
        b = (a ^ (a >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        c = (b ^ (b >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return c ^ (c >> np.uint64(31))


def _pairs(parameters: dict[str, str]) -> "pa.RecordBatchReader":
    """Yield the keys of the pairs that the job makes, made again, some at a time."""
    import pyarrow as pa

    count = int(parameters["maps"]) * int(parameters["pairs"])
    seed = _mixed(np.array([int(parameters["seed"])], dtype=np.uint64))
    below = np.uint64(parameters["keys"])

    def made() -> Iterator[pa.RecordBatch]:
        for start in range(0, count, _CHUNK_KEYS):
            indices = np.arange(start, min(start + _CHUNK_KEYS, count), dtype=np.uint64)
            keys = (_mixed(indices + seed) >> np.uint64(1)) % below
            yield pa.record_batch({"key": keys})

    return pa.RecordBatchReader.from_batches(pa.schema([("key", pa.uint64())]), made())


def _check_pairs(run: FinishedRun) -> None:
    """Raise where pairs were lost or invented, by their number and their bytes."""
    answer = run.result["answer"]
    pairs = int(run.parameters["maps"]) * int(run.parameters["pairs"])
    for name, expected in (
        ("pairs", pairs),
        ("value_bytes", pairs * int(run.parameters["value-bytes"])),
    ):
        if answer[name] != expected:
            raise WrongAnswerError(f"{name}: {answer[name]:,}, made were {expected:,}")


def group_by(run: FinishedRun) -> str:
    """Compare groups with DuckDB's over the same keys: number, largest, a sum over all of them."""
    _check_pairs(run)
    count, largest, checksum = 0, 0, 0
    with duck(run) as connection:
        connection.register("pairs", _pairs(run.parameters))
        groups = connection.sql("SELECT key, count(*)::UBIGINT AS n FROM pairs GROUP BY key")
        for some in groups.to_arrow_reader(_CHUNK_KEYS):
            key, size = (some.column(name).to_numpy() for name in ("key", "n"))
            count, largest = count + len(key), max(largest, int(size.max()))
            checksum += int((_mixed(key) * size * size).sum(dtype=np.uint64))
    answer = run.result["answer"]
    actual = (answer["groups"], answer["largest_group"], answer["checksum"] % (1 << 64))
    expected = (count, largest, checksum % (1 << 64))
    if actual != expected:
        raise WrongAnswerError(f"groups, largest, checksum: {actual}, by DuckDB {expected}")
    return f"{count:,} groups, the sizes of all equal DuckDB's"


def sort_by(run: FinishedRun) -> str:
    """Compare each partition's keys, in order, with the same keys sorted by DuckDB."""
    _check_pairs(run)
    partitions = run.result["answer"]["partitions"]
    ends = np.cumsum([partition["pairs"] for partition in partitions], dtype=np.uint64)
    made = int(run.parameters["maps"]) * int(run.parameters["pairs"])
    if ends[-1] != made:
        raise WrongAnswerError(f"the partitions hold {ends[-1]:,} pairs, made were {made:,}")
    begins = np.concatenate([np.zeros(1, dtype=np.uint64), ends[:-1]])
    sums, start = np.zeros(len(ends), dtype=np.uint64), 0
    with duck(run) as connection:
        connection.register("pairs", _pairs(run.parameters))
        ordered = connection.sql("SELECT key FROM pairs ORDER BY key")
        for some in ordered.to_arrow_reader(_CHUNK_KEYS):
            keys = some.column("key").to_numpy()
            places = np.arange(start, start + len(keys), dtype=np.uint64)
            which = np.searchsorted(ends, places, side="right")
            np.add.at(sums, which, _mixed(keys) * (places - begins[which] + np.uint64(1)))
            start += len(keys)
    for number, partition in enumerate(partitions):
        if int(sums[number]) != partition["checksum"] % (1 << 64):
            raise WrongAnswerError(f"partition {number} does not hold its keys in order")
    return f"{made:,} pairs in the order that DuckDB sorts them in"


def naive_bayes(run: FinishedRun) -> str:
    """Check model and accuracy against scikit-learn's on the same split of the reviews."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB

    training, unseen = _split(run)
    counter = CountVectorizer(analyzer=_tokens)
    counts = counter.fit_transform(text for _, text in training)
    model = MultinomialNB(alpha=float(run.parameters["smoothing"]))
    model.fit(counts, [label for label, _ in training])
    words = counter.get_feature_names_out()
    expected = dict(zip(words, model.feature_log_prob_.T, strict=True))
    _check_words(run.answer / "model", expected)
    accuracy = model.score(
        counter.transform(text for _, text in unseen), [label for label, _ in unseen]
    )
    answer = run.result["answer"]
    if answer["tested"] != len(unseen):
        raise WrongAnswerError(f"{answer['tested']:,} reviews tested, there are {len(unseen):,}")
    if abs(answer["accuracy"] - accuracy) > ACCURACY_TOLERANCE:
        raise WrongAnswerError(f"accuracy {answer['accuracy']:.4f}, scikit-learn's {accuracy:.4f}")
    return f"{len(expected):,} words and accuracy {accuracy:.4f}: scikit-learn's"


def _split(run: FinishedRun) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return reviews to learn from, and unseen ones: (label, text), by the job's rule."""
    training: list[tuple[str, str]] = []
    unseen: list[tuple[str, str]] = []
    for line in lines(run.data["reviews"]):
        label, _, text = line.partition("\t")
        learns = zlib.crc32(line.encode()) % 100 < int(run.parameters["train-percent"])
        (training if learns else unseen).append((label, text))
    return training, unseen


def _tokens(text: str) -> list[str]:
    return re.findall("[a-z0-9']+", text.lower())


def _check_words(folder: Path, expected: dict[str, np.ndarray]) -> None:
    written = {}
    for line in lines(folder):
        word, negative, positive = line.split("\t")
        written[word] = np.array([float(negative), float(positive)])
    if written.keys() != expected.keys():
        known = f"{len(written):,} words are known, scikit-learn knows {len(expected):,}"
        raise WrongAnswerError(known)
    for word, logs in expected.items():
        if not np.allclose(written[word], logs, rtol=0, atol=LOG_PROBABILITY_TOLERANCE):
            detail = f"'{word}' has log probabilities {written[word]}, by scikit-learn {logs}"
            raise WrongAnswerError(detail)


CORE = {
    "word-count": word_count,
    "grep": grep,
    "sort": sort,
    "group-by": group_by,
    "sort-by": sort_by,
    "naive-bayes": of_any_size(naive_bayes, large.naive_bayes, "reviews"),
}
