"""The jobs of MLlib on small data, held against scikit-learn and numpy."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_data
from spark_runs import planned, run_all, with_answer

from hearth.workloads.checks import FinishedRun, learning
from hearth.workloads.checks.files import vectors
from hearth.workloads.checks.registry import check

pytestmark = pytest.mark.spark

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


_RIGHT = (
    *("k-means", "k-means-random", "k-means-rdd"),
    *("gaussian-mixture", "gaussian-mixture-20-dimensions"),
    *("sparse-naive-bayes", "sparse-naive-bayes-rdd"),
    *("linear-svm", "linear-svm-rdd", "logistic-regression"),
)


@pytest.mark.parametrize("name", _RIGHT)
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


def test_a_mixture_of_fewer_clusters_is_found_wrong(runs: Runs) -> None:
    run = runs["gaussian-mixture"]
    found = {name: values[:1] for name, values in run.result["answer"]["found"].items()}
    verdict = check(with_answer(run, found=found))
    assert verdict.status == "wrong"
    assert "shape" in verdict.detail


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


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """All data are taken for too large to be worked out anew."""
    monkeypatch.setattr(learning, "too_large", lambda folder: True)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("name", _RIGHT)
def test_of_large_data_what_holds_of_every_right_answer_is_found_to_hold(
    runs: Runs, name: str
) -> None:
    verdict = check(runs[name])
    assert (verdict.status, verdict.detail[:7]) == ("checked", "large: "), verdict.detail


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(
    ("name", "value", "stated"),
    [
        ("k-means", "points", "the answer says"),
        ("k-means", "centres", "that of the centres is"),
        ("k-means", "cost", "that of the centres is"),
        ("gaussian-mixture", "points", "the answer says"),
        ("sparse-naive-bayes", "vectors", "the answer says"),
        ("sparse-naive-bayes", "log_priors", "DuckDB's"),
        ("linear-svm", "vectors", "the answer says"),
        ("linear-svm", "accuracy", "numpy's is"),
        ("logistic-regression", "accuracy", "numpy's is"),
    ],
)
def test_a_number_with_a_fault_is_found_wrong_on_large_data_too(
    runs: Runs, name: str, value: str, stated: str
) -> None:
    number = runs[name].result["answer"][value]
    changed = number + 1 if isinstance(number, int) else _changed(number)
    verdict = check(with_answer(runs[name], **{value: changed}))
    assert verdict.status == "wrong"
    assert stated in verdict.detail


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("value", ["weights", "means", "covariances"])
def test_a_mixture_without_the_moments_of_large_data_is_found_wrong(runs: Runs, value: str) -> None:
    test_a_mixture_one_percent_off_is_found_wrong(runs, value)


@pytest.mark.usefixtures("large")
def test_numbers_that_are_none_are_found_wrong_on_large_data(runs: Runs) -> None:
    nan = float("nan")
    centres = [[nan] * 5] * 8
    assert check(with_answer(runs["k-means"], centres=centres, cost=nan)).status == "wrong"
    for name in ("linear-svm", "logistic-regression"):
        nowhere = with_answer(runs[name], coefficients=[nan] * 8, accuracy=0.0)
        assert check(nowhere).status == "wrong"


@pytest.mark.usefixtures("large")
def test_centres_worse_than_the_first_ones_are_found_wrong_on_large_data(runs: Runs) -> None:
    run = runs["k-means"]
    answer = run.result["answer"]
    (points,) = vectors(run.data["points"], "features")
    away = points[:, None, :] - np.array(answer["first_centres"])[None, :, :]
    cost = float((away**2).sum(axis=2).min(axis=1).sum())
    worse = {"first_centres": answer["centres"], "centres": answer["first_centres"], "cost": cost}
    verdict = check(with_answer(run, **worse))
    assert verdict.status == "wrong"
    assert "that of the first centres was" in verdict.detail


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("name", ["linear-svm", "logistic-regression"])
def test_a_plane_far_from_the_minimum_is_found_wrong_on_large_data(runs: Runs, name: str) -> None:
    """Scaled weights part the vectors alike: only objective and gradient can tell."""
    answer = runs[name].result["answer"]
    for scale, stated in ((100, "objective"), *([(0.5, "gradient")] * (name != "linear-svm"))):
        scaled = [number * scale for number in answer["coefficients"]]
        damaged = with_answer(
            runs[name], coefficients=scaled, intercept=answer["intercept"] * scale
        )
        verdict = check(damaged)
        assert verdict.status == "wrong"
        assert stated in verdict.detail


def test_a_probability_one_percent_off_is_found_wrong_on_large_data(
    runs: Runs, large: None
) -> None:
    run = runs["sparse-naive-bayes"]
    file = sorted((run.answer / "model").glob("part-*"))[0]
    text = file.read_text()
    value = text.split("\n", 1)[0].split("\t")[2]
    try:
        file.write_text(text.replace(value, f"{float(value) + 0.01}", 1))
        assert "not to 1" in check(run).detail
    finally:
        file.write_text(text)


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
