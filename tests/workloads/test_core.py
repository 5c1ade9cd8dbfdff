"""The jobs of Spark's core on small data, held against independent implementations."""

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import small_data
from spark_runs import plain_java, planned, run_all, submit, with_answer

from hearth.workloads.checks import FinishedRun, core
from hearth.workloads.checks.registry import check

pytestmark = pytest.mark.spark

Runs = dict[str, FinishedRun]
_FEW_KEYS = {"maps": "4", "pairs": "3000", "value_bytes": "20", "keys": "500", "reduces": "5"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("core")
    text = {"text": small_data.text(folder / "text")}
    blanks = {"text": small_data.text_without_words(folder / "blanks", "\n  \n")}
    nothing = {"text": small_data.text_without_words(folder / "nothing", "")}
    records = {"records": small_data.records(folder / "records")}
    reviews = {"reviews": small_data.reviews(folder / "reviews")}
    jobs = {
        "word-count": ("word-count", text, {"partitions": "3"}),
        "word-count-blanks": ("word-count", blanks, {}),
        "word-count-nothing": ("word-count", nothing, {}),
        "grep": ("grep", text, {"pattern": "the4"}),
        "grep-nothing": ("grep", text, {"pattern": "nowhere"}),
        "sort": ("sort", records, {"partitions": "4"}),
        "group-by": ("group-by", {}, _FEW_KEYS),
        "sort-by": ("sort-by", {}, _FEW_KEYS),
        "naive-bayes": ("naive-bayes", reviews, {}),
    }
    plans = {
        name: planned(folder, name, job, data, **settings)
        for name, (job, data, settings) in jobs.items()
    }
    return run_all(folder, plans)


@pytest.mark.parametrize(
    "name",
    [
        *("word-count", "word-count-blanks", "word-count-nothing", "grep", "grep-nothing"),
        *("sort", "group-by", "sort-by", "naive-bayes"),
    ],
)
def test_the_answer_of_each_job_is_found_right(runs: Runs, name: str) -> None:
    verdict = check(runs[name])
    assert verdict.status == "checked", verdict.detail


def test_a_result_says_what_ran_and_how_long_each_phase_took(runs: Runs) -> None:
    result = runs["naive-bayes"].result
    assert [phase["name"] for phase in result["phases"]] == ["train", "test"]
    assert result["seconds"] == pytest.approx(sum(p["seconds"] for p in result["phases"]))
    assert result["parameters"] == {"train-percent": "80", "smoothing": "1.0"}
    assert result["spark"]["master"] == "local[2]"


def test_naive_bayes_labels_reviews_better_than_a_coin(runs: Runs) -> None:
    assert runs["naive-bayes"].result["answer"]["accuracy"] > 0.8


def test_pairs_are_grouped_and_sorted_from_the_cache(runs: Runs) -> None:
    for name in ("group-by", "sort-by"):
        assert runs[name].result["answer"]["cached_partitions"] == 4
    assert runs["group-by"].result["answer"]["groups"] == 500
    assert len(runs["sort-by"].result["answer"]["partitions"]) == 5


def _damaged(run: FinishedRun, folder: Path, damage: Callable[[Path], None]) -> FinishedRun:
    """The run with a copy of its answer's files, damaged."""
    copy = folder / "answer"
    shutil.copytree(run.answer, copy)
    damage(copy)
    return dataclasses.replace(run, answer=copy)


def _first(folder: Path) -> Path:
    return next(file for file in sorted(folder.glob("part-*")) if file.stat().st_size)


def _one_more(answer: Path) -> None:
    file = _first(answer / "counts")
    lines = file.read_text().splitlines(keepends=True)
    word, count = lines[0].split("\t")
    other, less = lines[1].split("\t")
    lines[:2] = [f"{word}\t{int(count) + 1}\n", f"{other}\t{int(less) - 1}\n"]
    file.write_text("".join(lines))


def _another_line(answer: Path) -> None:
    file = _first(answer / "lines")
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join([lines[0].replace("the4", "the4the4", 1), *lines[1:]]))


def _swapped(answer: Path) -> None:
    file = _first(answer / "sorted")
    data = file.read_bytes()
    file.write_bytes(data[100:200] + data[:100] + data[200:])


def _doubled(answer: Path) -> None:
    file = _first(answer / "sorted")
    data = file.read_bytes()
    file.write_bytes(data[:100] + data[:100] + data[200:])


def _value_changed(answer: Path) -> None:
    file = _first(answer / "sorted")
    data = file.read_bytes()
    file.write_bytes(data[:99] + bytes([data[99] ^ 1]) + data[100:])


def _record_lost(answer: Path) -> None:
    file = _first(answer / "sorted")
    file.write_bytes(file.read_bytes()[100:])


def _no_file(answer: Path) -> None:
    for file in (answer / "lines").glob("part-*"):
        file.unlink()


def _word_lost(answer: Path) -> None:
    file = _first(answer / "model")
    file.write_text(file.read_text().split("\n", 1)[1])


def _surer_word(answer: Path) -> None:
    file = _first(answer / "model")
    word, negative, positive = file.read_text().splitlines()[0].split("\t")
    changed = f"{word}\t{float(negative) + 1e-6}\t{positive}"
    file.write_text(file.read_text().replace(f"{word}\t{negative}\t{positive}", changed))


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("word-count", _one_more),
        ("grep", _another_line),
        ("grep", _no_file),
        ("sort", _swapped),
        ("sort", _doubled),
        ("sort", _value_changed),
        ("sort", _record_lost),
        ("naive-bayes", _word_lost),
        ("naive-bayes", _surer_word),
    ],
)
def test_files_with_a_fault_are_found_wrong(
    runs: Runs, name: str, damage: Callable[[Path], None], tmp_path: Path
) -> None:
    assert check(_damaged(runs[name], tmp_path, damage)).status == "wrong"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("word-count", "words"),
        ("grep", "lines"),
        ("group-by", "groups"),
        ("group-by", "checksum"),
        ("group-by", "largest_group"),
        ("group-by", "value_bytes"),
        ("sort-by", "pairs"),
        ("naive-bayes", "tested"),
        ("naive-bayes", "accuracy"),
    ],
)
def test_a_number_with_a_fault_is_found_wrong(runs: Runs, name: str, value: str) -> None:
    number = runs[name].result["answer"][value]
    changed = number - 0.01 if isinstance(number, float) else number + 1
    assert check(with_answer(runs[name], **{value: changed})).status == "wrong"


def test_words_lost_or_invented_altogether_are_found_wrong(runs: Runs) -> None:
    some, none = runs["word-count"], runs["word-count-nothing"]
    assert check(dataclasses.replace(none, data=some.data)).status == "wrong"
    assert check(dataclasses.replace(some, data=none.data)).status == "wrong"


def test_pairs_in_another_order_are_found_wrong(runs: Runs) -> None:
    partitions = runs["sort-by"].result["answer"]["partitions"]
    swapped = [partitions[1], partitions[0], *partitions[2:]]
    assert check(with_answer(runs["sort-by"], partitions=swapped)).status == "wrong"
    assert check(with_answer(runs["sort-by"], partitions=partitions[:-1])).status == "wrong"


def _likelier_word(answer: Path) -> None:
    file = _first(answer / "model")
    word, negative, positive = file.read_text().splitlines()[0].split("\t")
    changed = f"{word}\t{float(negative) + 0.5}\t{positive}"
    file.write_text(file.read_text().replace(f"{word}\t{negative}\t{positive}", changed))


def test_of_many_reviews_what_holds_of_every_right_answer_is_looked_at(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core, "too_large", lambda folder: True)
    run = runs["naive-bayes"]
    assert check(run).detail.startswith("large: ")
    (tmp_path / "_manifest.json").write_text(json.dumps({"rows": 1200}))
    assert check(dataclasses.replace(run, data={"reviews": tmp_path})).status == "checked"
    (tmp_path / "_manifest.json").write_text(json.dumps({"rows": 1700}))
    assert check(dataclasses.replace(run, data={"reviews": tmp_path})).status == "wrong"
    assert check(_damaged(run, tmp_path / "lost", _word_lost)).status == "wrong"
    assert "not to 1" in check(_damaged(run, tmp_path / "likelier", _likelier_word)).detail
    for value in ("tested", "accuracy"):
        assert check(with_answer(run, **{value: 0.5})).status == "wrong"
    assert "words in the files" in check(with_answer(run, vocabulary=7)).detail
    guessed = with_answer(run, accuracy=0.5, tested=20, confusion=[[5, 5], [5, 5]])
    assert "no better" in check(guessed).detail


def test_of_many_records_the_order_of_some_stretches_is_looked_at(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core, "SORT_CHECK_BYTES", 1_000_000)
    monkeypatch.setattr(core, "_CHUNK_RECORDS", 1000)
    verdict = check(runs["sort"])
    assert verdict.status == "checked"
    assert "one stretch in 2 of 1,000 records" in verdict.detail
    for number, damage in enumerate((_swapped, _record_lost)):
        assert check(_damaged(runs["sort"], tmp_path / str(number), damage)).status == "wrong"


def test_an_answer_for_which_duckdb_has_no_room_is_unchecked_and_says_so(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb

    opened = duckdb.connect
    tight = {"memory_limit": "1MB", "max_temp_directory_size": "0B"}
    monkeypatch.setattr(duckdb, "connect", lambda config: opened(config={**config, **tight}))
    many = {"pairs": 4_000_000, "value_bytes": 0, "partitions": [{"pairs": 4_000_000}]}
    run = with_answer(runs["sort-by"], **many)
    settings = {**run.parameters, "maps": "1", "pairs": "4000000", "value-bytes": "0"}
    verdict = check(dataclasses.replace(run, parameters=settings))
    assert verdict.status == "unchecked"
    assert "DuckDB could not hold what it needed" in verdict.detail
    assert not (runs["sort-by"].answer / "_spilled").exists()


def test_a_run_that_fails_is_told_and_does_not_stop_the_next(tmp_path: Path) -> None:
    broken = tmp_path / "reviews"
    broken.mkdir()
    (broken / "part-00000.txt").write_text("no label here\n")
    small = {"maps": "2", "pairs": "10", "value_bytes": "1"}
    plans = [
        planned(tmp_path, "broken", "naive-bayes", {"reviews": broken}),
        planned(tmp_path, "after", "group-by", {}, **small),
    ]
    for name in ("broken", "after"):
        (tmp_path / name).mkdir()
    file = tmp_path / "runs.jsonl"
    file.write_text("".join(json.dumps(plan) + "\n" for plan in plans))
    done = submit(tmp_path, "run-all", str(file))
    assert done.returncode == 1
    assert "naive-bayes failed" in done.stderr
    assert "a review must start with negative or positive" in done.stderr
    assert "1 of 2 runs failed" in done.stderr
    assert not (tmp_path / "broken" / "result.json").exists()
    assert json.loads((tmp_path / "after" / "result.json").read_text())["answer"]["pairs"] == 20


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "sort"], "--data records=DIR is missing"),
        (["run", "naive-bayes", "--train-percent", "100"], "is not a whole number from 1 to 99"),
        (["run", "group-by", "--maps", "3000000000"], "'3000000000' is not a whole number"),
        (["run-all", "nowhere.jsonl"], "'nowhere.jsonl' does not exist"),
        (["run-all", "broken.jsonl"], "broken.jsonl, line 1 is not a JSON object"),
        (["run", "group-by", "--answer", "full", "--result", "r.json"], "'full' is not empty"),
    ],
)
def test_what_the_user_can_put_right_is_told_in_a_line(
    tmp_path: Path, words: list[str], message: str
) -> None:
    (tmp_path / "broken.jsonl").write_text("{job\n")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "other").write_text("")
    if words[:1] == ["run"] and "--answer" not in words:
        words = [*words, "--answer", "new", "--result", "r.json"]
    done = plain_java(tmp_path, *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
