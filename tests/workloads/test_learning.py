"""The jobs of MLlib on small data, held against scikit-learn and numpy."""

import copy
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import small_data
from spark_runs import planned, run_all, with_answer

from hearth.bench.checks import FinishedRun, learning
from hearth.bench.checks.registry import check

Runs = dict[str, FinishedRun]


def _jobs(folder: Path) -> dict[str, tuple[str, dict[str, Path], dict[str, str]]]:
    near = {"points": small_data.clusters(folder / "near", 3000, 5, 8, spread=5.0)}
    overlap = {"points": small_data.clusters(folder / "overlap", 2000, 3, 2, spread=3.0)}
    many = {"points": small_data.clusters(folder / "many", 2000, 20, 2, spread=1.0)}
    dense = {"vectors": small_data.dense_vectors(folder / "dense")}
    sparse = {"vectors": small_data.sparse_vectors(folder / "sparse")}
    of_sparse = {"dimensions": "200", "classes": "3"}
    return {
        "k-means": ("k-means", near, {}),
        "k-means-random": ("k-means", near, {"initial": "random", "iterations": "10"}),
        "k-means-rdd": ("k-means", near, {"api": "rdd", "partitions": "2"}),
        "gaussian-mixture": ("gaussian-mixture", overlap, {}),
        "gaussian-mixture-20-dimensions": ("gaussian-mixture", many, {}),
        "sparse-naive-bayes": ("sparse-naive-bayes", sparse, of_sparse),
        "sparse-naive-bayes-rdd": ("sparse-naive-bayes", sparse, {**of_sparse, "api": "rdd"}),
        "linear-svm": ("linear-svm", dense, {}),
        "linear-svm-rdd": ("linear-svm", dense, {"api": "rdd", "iterations": "20"}),
        "logistic-regression": ("logistic-regression", dense, {}),
        "logistic-regression-stopped": ("logistic-regression", dense, {"iterations": "1"}),
    }


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("learning")
    plans = {
        name: planned(folder, name, job, data, **settings)
        for name, (job, data, settings) in _jobs(folder).items()
    }
    return run_all(folder, plans)


@pytest.mark.parametrize(
    "name",
    [
        "k-means",
        "k-means-random",
        "k-means-rdd",
        "gaussian-mixture",
        "gaussian-mixture-20-dimensions",
        "sparse-naive-bayes",
        "sparse-naive-bayes-rdd",
        "linear-svm",
        "linear-svm-rdd",
        "logistic-regression",
    ],
)
def test_the_answer_of_each_job_is_found_right(runs: Runs, name: str) -> None:
    verdict = check(runs[name])
    assert verdict.status == "checked", verdict.detail


def test_a_regression_stopped_before_its_minimum_is_not_called_right(runs: Runs) -> None:
    verdict = check(runs["logistic-regression-stopped"])
    assert verdict.status == "unchecked"
    assert "last iteration" in verdict.detail


def test_iterations_are_those_asked_for(runs: Runs) -> None:
    assert runs["gaussian-mixture"].result["answer"]["iterations"] == 10


def _changed(value: Any) -> Any:
    """The value, the first number in it one percent off."""
    if isinstance(value, list):
        return [_changed(value[0]), *value[1:]]
    return value * 1.01


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("k-means", "centres"),
        ("k-means", "cost"),
        ("k-means-rdd", "centres"),
        ("sparse-naive-bayes", "log_priors"),
        ("sparse-naive-bayes", "accuracy"),
        ("linear-svm", "accuracy"),
        ("linear-svm-rdd", "coefficients"),
        ("logistic-regression", "accuracy"),
    ],
)
def test_a_number_one_percent_off_is_found_wrong(runs: Runs, name: str, value: str) -> None:
    run = runs[name]
    damaged = with_answer(run, **{value: _changed(run.result["answer"][value])})
    assert check(damaged).status == "wrong"


def test_classes_with_another_name_and_centres_that_fall_together_are_wrong(runs: Runs) -> None:
    bayes, means = runs["sparse-naive-bayes"], runs["k-means"]
    labels, centres = (r.result["answer"][n] for r, n in ((bayes, "labels"), (means, "centres")))
    assert check(with_answer(bayes, labels=[*labels[:-1], 7.0])).status == "wrong"
    verdict = check(with_answer(means, centres=[*centres[:-1], centres[0]]))
    assert verdict.detail == f"{len(centres) - 1} different centres"


@pytest.mark.parametrize("value", ["weights", "means", "covariances"])
def test_a_mixture_one_percent_off_is_found_wrong(runs: Runs, value: str) -> None:
    run = runs["gaussian-mixture"]
    found = copy.deepcopy(run.result["answer"]["found"])
    found[value] = _changed(found[value])
    assert check(with_answer(run, found=found)).status == "wrong"


@pytest.mark.parametrize("name", ["linear-svm", "logistic-regression"])
def test_a_plane_beside_the_minimum_is_found_wrong(runs: Runs, name: str) -> None:
    """Scaled weights part the vectors alike, so that only the objective can tell."""
    run = runs[name]
    answer = run.result["answer"]
    half = [number / 2 for number in answer["coefficients"]]
    damaged = with_answer(run, coefficients=half, intercept=answer["intercept"] / 2)
    verdict = check(damaged)
    assert verdict.status == "wrong"
    assert "objective" in verdict.detail


def test_of_large_data_only_the_number_of_rows_is_compared(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning, "too_large", lambda folder: "the input is large")
    run = dataclasses.replace(runs["k-means"], data={"points": tmp_path})
    for rows, status in ((3000, "unchecked"), (3001, "wrong")):
        (tmp_path / "_manifest.json").write_text(json.dumps({"rows": rows}))
        assert check(run).status == status


def test_a_probability_with_a_fault_is_found_wrong(runs: Runs) -> None:
    run = runs["sparse-naive-bayes"]
    file = sorted((run.answer / "model").glob("part-*"))[0]
    text = file.read_text()
    first, rest = text.split("\n", 1)
    label, index, value = first.split("\t")
    try:
        file.write_text(f"{label}\t{index}\t{float(value) + 1e-6}\n{rest}")
        assert check(run).status == "wrong"
    finally:
        file.write_text(text)
