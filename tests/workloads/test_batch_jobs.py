"""The batch jobs on small data, held against other implementations; an answer's damage shows."""

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
import small_data
from spark_runs import Plan, Runs, damaged, finished, plain_java, run_all, with_answer

from hearth.workloads.checks import core, files, graph
from hearth.workloads.checks import large as of_large
from hearth.workloads.checks.registry import check

pytestmark = pytest.mark.spark

FEW_KEYS = {"maps": "4", "pairs": "3000", "value_bytes": "20", "keys": "500", "reduces": "5"}
OF_SPARSE = {"dimensions": "200", "classes": "3"}
#: Of the graph's jobs, the folder of each one's answer.
GRAPHS = {"page-rank": "ranks", "connected-components": "components", "triangle-count": "triangles"}
#: Those whose answer is worked out anew at any size.
EXACT = (
    *("word-count", "word-count-blanks", "word-count-nothing", "grep", "grep-nothing"),
    *("sort", "group-by", "sort-by"),
)
#: Those of which, above a size, properties are looked at.
SIZED = (
    *("naive-bayes", "k-means", "k-means-random", "k-means-rdd"),
    *("gaussian-mixture", "gaussian-mixture-20-dimensions"),
    *("sparse-naive-bayes", "sparse-naive-bayes-rdd"),
    *("linear-svm", "linear-svm-rdd", "logistic-regression", *GRAPHS),
)


def plans(folder: Path) -> dict[str, Plan]:
    text = {"text": small_data.text(folder / "text")}
    blanks = {"text": small_data.text_without_words(folder / "blanks", "\n  \n")}
    nothing = {"text": small_data.text_without_words(folder / "nothing", "")}
    records = {"records": small_data.records(folder / "records")}
    reviews = {"reviews": small_data.reviews(folder / "reviews")}
    near = {"points": small_data.clusters(folder / "near", 3000, 5, 8, spread=5.0)}
    overlap = {"points": small_data.clusters(folder / "overlap", 2000, 3, 2, spread=3.0)}
    many = {"points": small_data.clusters(folder / "many", 2000, 20, 2, spread=1.0)}
    dense = {"vectors": small_data.dense_vectors(folder / "dense")}
    sparse = {"vectors": small_data.sparse_vectors(folder / "sparse")}
    edges = {"graph": small_data.graph(folder / "graph")}
    return {
        "word-count": ("word-count", text, {"partitions": "3"}),
        "word-count-blanks": ("word-count", blanks, {}),
        "word-count-nothing": ("word-count", nothing, {}),
        "grep": ("grep", text, {"pattern": "the4"}),
        "grep-nothing": ("grep", text, {"pattern": "nowhere"}),
        "sort": ("sort", records, {"partitions": "4"}),
        "group-by": ("group-by", {}, FEW_KEYS),
        "sort-by": ("sort-by", {}, FEW_KEYS),
        "naive-bayes": ("naive-bayes", reviews, {}),
        "k-means": ("k-means", near, {}),
        "k-means-random": ("k-means", near, {"initial": "random", "iterations": "10"}),
        "k-means-rdd": ("k-means", near, {"api": "rdd", "partitions": "2"}),
        "gaussian-mixture": ("gaussian-mixture", overlap, {}),
        "gaussian-mixture-20-dimensions": ("gaussian-mixture", many, {}),
        "sparse-naive-bayes": ("sparse-naive-bayes", sparse, OF_SPARSE),
        "sparse-naive-bayes-rdd": ("sparse-naive-bayes", sparse, {**OF_SPARSE, "api": "rdd"}),
        "linear-svm": ("linear-svm", dense, {}),
        "linear-svm-rdd": ("linear-svm", dense, {"api": "rdd", "iterations": "20"}),
        "logistic-regression": ("logistic-regression", dense, {}),
        "logistic-regression-stopped": ("logistic-regression", dense, {"iterations": "1"}),
        **{job: (job, edges, {}) for job in GRAPHS},
    }


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("jobs")
    return finished(folder, plans(folder))


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """All data are taken for too large to be worked out anew."""
    monkeypatch.setattr(files, "size_bytes", lambda folder: 1 << 60)


of_large_data = pytest.mark.usefixtures("large")

# Right answers


@pytest.mark.parametrize("name", [*EXACT, *SIZED])
def test_the_answer_of_each_job_is_found_right(runs: Runs, name: str) -> None:
    verdict = check(runs[name])
    assert verdict.status == "checked", verdict.detail


@of_large_data
@pytest.mark.parametrize("name", SIZED)
def test_of_large_data_what_holds_of_every_right_answer_is_found_to_hold(
    runs: Runs, name: str
) -> None:
    verdict = check(runs[name])
    assert (verdict.status, verdict.detail[:7]) == ("checked", "large: "), verdict.detail


def test_a_regression_stopped_before_its_minimum_is_not_called_right(runs: Runs) -> None:
    verdict = check(runs["logistic-regression-stopped"])
    assert verdict.status == "unchecked"
    assert "last iteration" in verdict.detail


def test_a_result_says_what_ran_and_how_long_each_phase_took(runs: Runs) -> None:
    result = runs["naive-bayes"].result
    assert [phase["name"] for phase in result["phases"]] == ["train", "test"]
    assert result["seconds"] == pytest.approx(sum(p["seconds"] for p in result["phases"]))
    assert result["parameters"] == {"train-percent": "80", "smoothing": "1.0"}
    assert result["spark"]["master"] == "local[2]"


def test_triangles_and_components_are_networkx_s(runs: Runs) -> None:
    other = networkx.Graph()
    for file in runs["triangle-count"].data["graph"].glob("part-*"):
        other.add_edges_from(line.split("\t") for line in file.read_text().splitlines())
    components = list(networkx.connected_components(other))
    other.remove_edges_from(list(networkx.selfloop_edges(other)))
    answer = runs["triangle-count"].result["answer"]
    assert answer["triangles"] == sum(networkx.triangles(other).values()) // 3
    assert runs["connected-components"].result["answer"]["components"] == len(components)


# Files with a fault

Damage = Callable[[Path], None]


def in_bytes(part: str, change: Callable[[bytes], bytes]) -> Damage:
    """The first file with content of a part of the answer is what `change` makes of it."""

    def damage(answer: Path) -> None:
        written = sorted((answer / part).glob("part-*"))
        file = next(file for file in written if file.stat().st_size)
        file.write_bytes(change(file.read_bytes()))

    return damage


def in_lines(part: str, change: Callable[[list[str]], list[str]]) -> Damage:
    def changed(content: bytes) -> bytes:
        return "".join(f"{line}\n" for line in change(content.decode().splitlines())).encode()

    return in_bytes(part, changed)


def another(line: str, column: int, by: float) -> str:
    """The line with another number in a column."""
    fields = line.split("\t")
    fields[column] = str(type(by)(fields[column]) + by)
    return "\t".join(fields)


def moved(part: str, column: int, by: float) -> Damage:
    return in_lines(part, lambda rows: [another(rows[0], column, by), *rows[1:]])


def lost(part: str) -> Damage:
    return in_lines(part, lambda rows: rows[1:])


def one_for_another(rows: list[str]) -> list[str]:
    return [another(rows[0], 1, 1), another(rows[1], 1, -1), *rows[2:]]


def no_lines(answer: Path) -> None:
    for file in (answer / "lines").glob("part-*"):
        file.unlink()


SWAPPED = in_bytes("sorted", lambda data: data[100:200] + data[:100] + data[200:])
RECORD_LOST = in_bytes("sorted", lambda data: data[100:])
OF_VERTICES = [
    (job, damage, words)
    for job, part in GRAPHS.items()
    for damage, words in (
        (moved(part, 1, 0.001 if job == "page-rank" else 1), ""),
        (lost(part), "listed"),
        (in_lines(part, lambda rows: [rows[0], *rows]), "list"),
    )
]


@pytest.mark.parametrize(
    ("name", "damage", "words"),
    [
        ("word-count", in_lines("counts", one_for_another), ""),
        ("grep", in_lines("lines", lambda rows: [f"{rows[0]} the4", *rows[1:]]), ""),
        ("grep", no_lines, ""),
        ("sort", SWAPPED, ""),
        ("sort", in_bytes("sorted", lambda data: data[:100] + data[:100] + data[200:]), ""),
        ("sort", in_bytes("sorted", lambda data: data[:99] + b"!" + data[100:]), ""),
        ("sort", RECORD_LOST, ""),
        ("naive-bayes", lost("model"), ""),
        ("naive-bayes", moved("model", 1, 1e-6), ""),
        ("sparse-naive-bayes", moved("model", 2, 1e-6), ""),
        *OF_VERTICES,
    ],
)  # fmt: skip
def test_files_with_a_fault_are_found_wrong(
    runs: Runs, name: str, damage: Damage, words: str, tmp_path: Path
) -> None:
    verdict = check(damaged(runs[name], tmp_path, damage))
    assert verdict.status == "wrong"
    assert words in verdict.detail


@of_large_data
@pytest.mark.parametrize(
    ("name", "damage", "words"),
    [
        ("naive-bayes", lost("model"), "words in the files"),
        ("naive-bayes", moved("model", 1, 0.5), "not to 1"),
        ("sparse-naive-bayes", moved("model", 2, 0.01), "not to 1"),
        *OF_VERTICES,
    ],
)
def test_files_with_a_fault_are_found_wrong_on_large_data_too(
    runs: Runs, name: str, damage: Damage, words: str, tmp_path: Path
) -> None:
    test_files_with_a_fault_are_found_wrong(runs, name, damage, words, tmp_path)


def test_words_lost_or_invented_altogether_are_found_wrong(runs: Runs) -> None:
    some, none = runs["word-count"], runs["word-count-nothing"]
    assert check(dataclasses.replace(none, data=some.data)).status == "wrong"
    assert check(dataclasses.replace(some, data=none.data)).status == "wrong"


# Numbers with a fault


def off(value: Any) -> Any:
    """The value, the first number in it one percent off, or one more."""
    if isinstance(value, dict):
        (first, *_) = value
        return {**value, first: off(value[first])}
    if isinstance(value, list):
        return [off(value[0]), *value[1:]]
    return value + 1 if isinstance(value, int) else value * 1.01


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("word-count", "words"),
        ("grep", "lines"),
        ("group-by", "groups checksum largest_group value_bytes"),
        ("sort-by", "pairs"),
        ("naive-bayes", "tested accuracy"),
        ("k-means", "centres cost"),
        ("k-means-rdd", "centres"),
        ("sparse-naive-bayes", "log_priors accuracy"),
        ("linear-svm", "accuracy"),
        ("linear-svm-rdd", "coefficients"),
        ("logistic-regression", "accuracy"),
        ("connected-components", "components largest"),
        ("triangle-count", "triangles"),
    ],
)
def test_a_number_with_a_fault_is_found_wrong(runs: Runs, name: str, values: str) -> None:
    for value in values.split():
        changed = off(runs[name].result["answer"][value])
        assert check(with_answer(runs[name], **{value: changed})).status == "wrong", value


@of_large_data
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("naive-bayes", "tested", "the table of confusion"),
        ("naive-bayes", "accuracy", "the table of confusion"),
        ("naive-bayes", "vocabulary", "words in the files"),
        ("k-means", "points", "the answer says"),
        ("k-means", "centres", "that of the centres is"),
        ("k-means", "cost", "that of the centres is"),
        ("gaussian-mixture", "points", "the answer says"),
        ("sparse-naive-bayes", "vectors", "the answer says"),
        ("sparse-naive-bayes", "log_priors", "DuckDB's"),
        ("linear-svm", "vectors", "the answer says"),
        ("linear-svm", "accuracy", "numpy's is"),
        ("logistic-regression", "accuracy", "numpy's is"),
        ("page-rank", "sum", ""),
        ("page-rank", "vertices", ""),
        ("connected-components", "components", ""),
        ("connected-components", "largest", ""),
        ("triangle-count", "triangles", ""),
    ],
)
def test_a_number_with_a_fault_is_found_wrong_on_large_data_too(
    runs: Runs, name: str, value: str, words: str
) -> None:
    changed = off(runs[name].result["answer"][value])
    verdict = check(with_answer(runs[name], **{value: changed}))
    assert verdict.status == "wrong"
    assert words in verdict.detail


@pytest.mark.parametrize("value", ["weights", "means", "covariances"])
def test_a_mixture_one_percent_off_is_found_wrong(runs: Runs, value: str) -> None:
    run = runs["gaussian-mixture"]
    found = run.result["answer"]["found"]
    assert check(with_answer(run, found={**found, value: off(found[value])})).status == "wrong"


@of_large_data
@pytest.mark.parametrize("value", ["weights", "means", "covariances"])
def test_a_mixture_without_the_moments_of_large_data_is_found_wrong(runs: Runs, value: str) -> None:
    test_a_mixture_one_percent_off_is_found_wrong(runs, value)


def test_a_mixture_of_fewer_clusters_is_found_wrong(runs: Runs) -> None:
    run = runs["gaussian-mixture"]
    found = {name: values[:1] for name, values in run.result["answer"]["found"].items()}
    verdict = check(with_answer(run, found=found))
    assert verdict.status == "wrong"
    assert "shape" in verdict.detail


def test_pairs_in_another_order_are_found_wrong(runs: Runs) -> None:
    partitions = runs["sort-by"].result["answer"]["partitions"]
    swapped = [partitions[1], partitions[0], *partitions[2:]]
    assert check(with_answer(runs["sort-by"], partitions=swapped)).status == "wrong"
    assert check(with_answer(runs["sort-by"], partitions=partitions[:-1])).status == "wrong"


def test_classes_with_another_name_and_centres_that_fall_together_are_wrong(runs: Runs) -> None:
    bayes, means = runs["sparse-naive-bayes"], runs["k-means"]
    labels, centres = (r.result["answer"][n] for r, n in ((bayes, "labels"), (means, "centres")))
    assert check(with_answer(bayes, labels=[*labels[:-1], 7.0])).status == "wrong"
    verdict = check(with_answer(means, centres=[*centres[:-1], centres[0]]))
    assert verdict.detail == f"{len(centres) - 1} different centres"


@pytest.mark.parametrize("job", ["page-rank", "triangle-count"])
def test_a_list_of_the_largest_with_a_fault_is_found_wrong(runs: Runs, job: str) -> None:
    top = runs[job].result["answer"]["top"]
    assert check(with_answer(runs[job], top=[*top[:-2], top[-1], top[-2]])).status == "wrong"


def beside(runs: Runs, name: str, scale: float) -> Any:
    """The verdict on scaled weights: they part the vectors alike, so accuracy cannot tell."""
    answer = runs[name].result["answer"]
    scaled = [number * scale for number in answer["coefficients"]]
    wrong = {"coefficients": scaled, "intercept": answer["intercept"] * scale}
    return check(with_answer(runs[name], **wrong))


@pytest.mark.parametrize("name", ["linear-svm", "logistic-regression"])
def test_a_plane_beside_the_minimum_is_found_wrong(runs: Runs, name: str) -> None:
    verdict = beside(runs, name, 0.5)
    assert verdict.status == "wrong"
    assert "objective" in verdict.detail


# Only of large data


@of_large_data
@pytest.mark.parametrize(
    ("name", "scale", "words"),
    [
        ("linear-svm", 100, "objective"),
        ("logistic-regression", 100, "objective"),
        ("logistic-regression", 0.5, "gradient"),
    ],
)
def test_a_plane_far_from_the_minimum_is_found_wrong_on_large_data(
    runs: Runs, name: str, scale: float, words: str
) -> None:
    verdict = beside(runs, name, scale)
    assert verdict.status == "wrong"
    assert words in verdict.detail


@of_large_data
def test_numbers_that_are_none_are_found_wrong_on_large_data(runs: Runs) -> None:
    nan = float("nan")
    centres = [[nan] * 5] * 8
    assert check(with_answer(runs["k-means"], centres=centres, cost=nan)).status == "wrong"
    for name in ("linear-svm", "logistic-regression"):
        nowhere = with_answer(runs[name], coefficients=[nan] * 8, accuracy=0.0)
        assert check(nowhere).status == "wrong"


@of_large_data
def test_centres_worse_than_the_first_ones_are_found_wrong_on_large_data(runs: Runs) -> None:
    run = runs["k-means"]
    answer = run.result["answer"]
    (points,) = files.vectors(run.data["points"], "features")
    cost = of_large.cost(points, np.array(answer["first_centres"]))
    worse = {"first_centres": answer["centres"], "centres": answer["first_centres"], "cost": cost}
    verdict = check(with_answer(run, **worse))
    assert verdict.status == "wrong"
    assert "that of the first centres was" in verdict.detail


@of_large_data
def test_labels_no_better_than_one_label_are_found_wrong_on_large_data(runs: Runs) -> None:
    guessed = {"accuracy": 0.5, "tested": 20, "confusion": [[5, 5], [5, 5]]}
    assert "no better" in check(with_answer(runs["naive-bayes"], **guessed)).detail


@of_large_data
@pytest.mark.parametrize("job", ["naive-bayes", *GRAPHS])
def test_rows_lost_are_found_by_the_manifest_of_large_data(
    runs: Runs, job: str, tmp_path: Path
) -> None:
    ((name, source),) = runs[job].data.items()
    folder = shutil.copytree(source, tmp_path / name)
    made = runs[job].result["answer"].get("edges", 1200)  # reviews
    more = 500 if job == "naive-bayes" else 1  # of those a random share is tested
    for rows, status in ((made, "checked"), (made + more, "wrong")):
        (folder / "_manifest.json").write_text(json.dumps({"rows": rows}))
        assert check(dataclasses.replace(runs[job], data={name: folder})).status == status


@of_large_data
@pytest.mark.parametrize("job", ["page-rank", "triangle-count"])
def test_values_that_change_places_are_found_wrong_in_a_large_graph(
    runs: Runs, job: str, tmp_path: Path
) -> None:
    """The sums stay as they are: only the edges can tell."""

    def turn(answer: Path) -> None:
        written = [file for file in (answer / GRAPHS[job]).glob("part-*") if file.stat().st_size]
        rows = [line.split("\t") for file in written for line in file.read_text().splitlines()]
        values = reversed([value for _, value in rows])
        for file in written:
            file.unlink()
        turned = [f"{row[0]}\t{value}\n" for row, value in zip(rows, values, strict=True)]
        written[0].write_text("".join(turned))

    assert check(damaged(runs[job], tmp_path, turn)).status == "wrong"


@of_large_data
@pytest.mark.parametrize(
    ("of_all", "expected"),
    [
        (True, "not named by their smallest vertex"),
        (False, "edges lead from one component to another"),
    ],
)
def test_a_component_of_a_large_graph_with_another_name_or_cut_in_two_is_found_wrong(
    runs: Runs, tmp_path: Path, of_all: bool, expected: str
) -> None:
    run = runs["connected-components"]
    written = (run.answer / "components").glob("part-*")
    rows = [line.split("\t") for file in written for line in file.read_text().splitlines()]
    names = [name for _, name in rows]
    largest = max(names, key=names.count)
    last = max((vertex for vertex, name in rows if name == largest), key=int)
    cut = {vertex for vertex, name in rows if name == largest} if of_all else {last}
    answer = tmp_path / "answer" / "components"
    answer.mkdir(parents=True)
    renamed = [f"{vertex}\t{last if vertex in cut else name}\n" for vertex, name in rows]
    (answer / "part-00000").write_text("".join(renamed))
    verdict = check(dataclasses.replace(run, answer=answer.parent))
    assert verdict.status == "wrong"
    assert expected in verdict.detail


def test_of_many_records_the_order_of_some_stretches_is_looked_at(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core, "SORT_CHECK_BYTES", 1_000_000)
    monkeypatch.setattr(core, "_CHUNK_RECORDS", 1000)
    verdict = check(runs["sort"])
    assert verdict.status == "checked"
    assert "one stretch in 2 of 1,000 records" in verdict.detail
    for number, damage in enumerate((SWAPPED, RECORD_LOST)):
        assert check(damaged(runs["sort"], tmp_path / str(number), damage)).status == "wrong"


# What a check itself may lack or have wrong


def test_a_formula_whose_limit_is_not_that_of_networkx_is_found_wrong(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = graph._converged
    monkeypatch.setattr(graph, "_converged", lambda edges, reset: limit(edges, reset * 1.01))
    verdict = check(runs["page-rank"])
    assert verdict.status == "wrong"
    assert "away from networkx's" in verdict.detail


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


# Runs that fail


def test_a_run_that_fails_is_told_and_does_not_stop_the_next(tmp_path: Path) -> None:
    reviews = {"reviews": small_data.text_without_words(tmp_path / "reviews", "no label here\n")}
    small = {"maps": "2", "pairs": "10", "value_bytes": "1"}
    both: dict[str, Plan] = {
        "broken": ("naive-bayes", reviews, {}),
        "after": ("group-by", {}, small),
    }
    done = run_all(tmp_path, both)
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
