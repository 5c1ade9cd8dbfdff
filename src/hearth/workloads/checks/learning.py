"""Check of the jobs of MLlib: scikit-learn, or the same formula in numpy, on the same data.

Where a job stops after a set number of iterations, the other implementation starts from the same
first guess and takes as many: then both must come to the same result, not to a similar one.
"""

import warnings
from functools import partial
from typing import Any

import numpy as np

from hearth.workloads.checks import FinishedRun, UncheckedError, WrongAnswerError, large
from hearth.workloads.checks.files import lines, of_any_size, parts, vectors

#: Of numbers that two implementations reach by the same steps, relative to the largest of them.
SAME_STEPS = 1e-6
#: Of an objective's minimum that two solvers find on ways of their own, relative.
SAME_MINIMUM = 1e-3
#: Of logarithms of probabilities, which are sums of the same numbers.
SAME_SUMS = 1e-9

_Weights = tuple[np.ndarray, float]


def k_means(run: FinishedRun) -> str:
    """Check centres by as many iterations of scikit-learn from the same first centres; the cost."""
    from sklearn.cluster import KMeans

    answer = run.result["answer"]
    (points,) = vectors(run.data["points"], "features")
    first, centres = np.array(answer["first_centres"]), np.array(answer["centres"])
    if len(np.unique(centres, axis=0)) != int(run.parameters["clusters"]):
        raise WrongAnswerError(f"{len(np.unique(centres, axis=0))} different centres")
    iterations = int(run.parameters["iterations"])
    model = KMeans(len(first), init=first, n_init=1, max_iter=iterations, tol=0, algorithm="lloyd")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it did not converge: it was not asked to
        model.fit(points)
    _check_same("centres", centres, model.cluster_centers_, SAME_STEPS)
    cost = large.cost(points, centres)
    _check_same("cost", answer["cost"], cost, SAME_STEPS)
    return f"{len(centres)} centres equal scikit-learn's, cost {cost:.6g}"


def _check_same(name: str, actual: Any, expected: Any, tolerance: float) -> None:
    """Raise where the largest difference is more than `tolerance` of the largest number."""
    actual, expected = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    if actual.shape != expected.shape:
        raise WrongAnswerError(f"{name}: shape {actual.shape} instead of {expected.shape}")
    difference = float(np.abs(actual - expected).max())
    if not difference <= tolerance * float(np.abs(expected).max()):  # NaN is not
        raise WrongAnswerError(f"{name}: they differ from the recount by up to {difference:.3g}")


def gaussian_mixture(run: FinishedRun) -> str:
    """Check weights, means and covariances by the same steps in numpy, with scipy's densities."""
    answer = run.result["answer"]
    (points,) = vectors(run.data["points"], "features")
    expected = _mixture(points, answer["first"], int(run.parameters["iterations"]))
    for name, values in expected.items():
        _check_same(name, answer["found"][name], values, SAME_STEPS)
    clusters = len(expected["weights"])
    return f"weights, means, covariances of {clusters} clusters equal numpy's"


def _mixture(
    points: np.ndarray, first: dict[str, list[Any]], iterations: int
) -> dict[str, np.ndarray]:
    """Run expectation maximisation; means: clusters x dimensions.

    Spark adds the machine epsilon to each density, so that a point far from all clusters belongs
    a little to each (its `GaussianMixture`); in many dimensions that shows, and scikit-learn, which
    works with logarithms, comes to another mixture.
    """
    from scipy.stats import multivariate_normal

    mixture = {name: np.array(values) for name, values in first.items()}
    for _ in range(iterations):
        densities = [
            multivariate_normal.pdf(points, mean, covariance)
            for mean, covariance in zip(mixture["means"], mixture["covariances"], strict=True)
        ]
        shares = mixture["weights"] * np.stack(densities, axis=1) + np.finfo(float).eps
        shares /= shares.sum(axis=1, keepdims=True)
        total = shares.sum(axis=0)
        means = shares.T @ points / total[:, None]
        from_mean = [points - mean for mean in means]
        covariances = [
            (share[:, None] * away).T @ away / sum_
            for share, away, sum_ in zip(shares.T, from_mean, total, strict=True)
        ]
        mixture = {
            "weights": total / total.sum(),
            "means": means,
            "covariances": np.array(covariances),
        }
    return mixture


def sparse_naive_bayes(run: FinishedRun) -> str:
    """Check probabilities by scikit-learn's; priors, which Spark smooths too, by their formula."""
    from scipy.sparse import vstack
    from sklearn.datasets import load_svmlight_files
    from sklearn.naive_bayes import MultinomialNB

    answer, smoothing = run.result["answer"], float(run.parameters["smoothing"])
    dimensions = int(run.parameters["dimensions"])
    read = load_svmlight_files(
        [str(file) for file in parts(run.data["vectors"])], n_features=dimensions, zero_based=False
    )
    matrix, labels = vstack(read[0::2]).tocsr(), np.concatenate(read[1::2])
    model = MultinomialNB(alpha=smoothing).fit(matrix, labels)
    logs = np.full((len(model.classes_), dimensions), np.nan)
    for line in lines(run.answer / "model"):
        label, index, value = line.split("\t")
        logs[np.searchsorted(model.classes_, float(label)), int(index)] = float(value)
    order = np.argsort(answer["labels"])
    priors = np.log((model.class_count_ + smoothing) / (len(labels) + smoothing * len(logs)))
    predicted = model.classes_[np.argmax(matrix @ model.feature_log_prob_.T + priors, axis=1)]
    pairs = (
        ("classes", np.array(answer["labels"])[order], model.classes_),
        ("priors", np.array(answer["log_priors"])[order], priors),
        ("probabilities", logs, model.feature_log_prob_),
        ("accuracy", answer["accuracy"], np.mean(predicted == labels)),
    )
    for name, actual, expected in pairs:
        _check_same(name, actual, expected, SAME_SUMS)
    return f"{logs.size:,} probabilities equal scikit-learn's"


def linear_svm(run: FinishedRun) -> str:
    """Check DataFrames by scikit-learn's minimum, RDDs by the same descent in numpy."""
    labels, features = vectors(run.data["vectors"], "label", "features")
    sides = 2 * labels - 1
    _check_accuracy(run, features, sides)
    strength = float(run.parameters["regularisation"])
    if run.parameters["api"] == "rdd":
        expected = _descent(features, sides, int(run.parameters["iterations"]), strength)
        coefficients = run.result["answer"]["coefficients"]
        _check_same("coefficients", coefficients, expected, SAME_STEPS)
        return f"{len(expected)} coefficients equal numpy's"
    from sklearn.svm import LinearSVC

    # This solver restrains the intercept too; scaled up, it hardly does.
    other = LinearSVC(
        C=1 / (len(labels) * strength), loss="hinge", intercept_scaling=100, max_iter=200_000
    )
    return _minimum(run, features, sides, large.HINGE, other)


def logistic_regression(run: FinishedRun) -> str:
    """Compare the minimum of the objective with scikit-learn's."""
    from sklearn.linear_model import LogisticRegression

    labels, features = vectors(run.data["vectors"], "label", "features")
    sides = 2 * labels - 1
    _check_accuracy(run, features, sides)
    strength = float(run.parameters["regularisation"])
    other = LogisticRegression(C=1 / (len(labels) * strength), tol=1e-9, max_iter=10_000)
    return _minimum(run, features, sides, large.LOGISTIC, other)


def _answer(run: FinishedRun) -> _Weights:
    answer = run.result["answer"]
    return np.array(answer["coefficients"]), answer["intercept"]


def _check_accuracy(run: FinishedRun, features: np.ndarray, sides: np.ndarray) -> None:
    """Raise where the accuracy is not the coefficients'; `sides`: labels, -1 and 1."""
    coefficients, intercept = _answer(run)
    right = (features @ coefficients + intercept > 0) == (sides > 0)
    accuracy, stated = float(right.mean()), run.result["answer"]["accuracy"]
    # One vector may lie on the plane.
    if not abs(stated - accuracy) * len(sides) < 1.5:
        raise WrongAnswerError(f"accuracy {stated}, that of its coefficients is {accuracy}")


def _descent(
    features: np.ndarray, sides: np.ndarray, iterations: int, strength: float
) -> np.ndarray:
    """Descend on the hinge loss by subgradients; the step is one through the root of its number."""
    weights = np.zeros(features.shape[1])
    for number in range(1, iterations + 1):
        within = sides * (features @ weights) < 1
        gradient = -(features[within] * sides[within, None]).sum(axis=0) / len(sides)
        step = 1 / np.sqrt(number)
        weights = weights * (1 - step * strength) - step * gradient
    return weights


def _minimum(
    run: FinishedRun, features: np.ndarray, sides: np.ndarray, loss: large.Loss, other: Any
) -> str:
    """Compare mean(loss) + strength / 2 * |w|^2 at Spark's weights against another solver's."""
    strength = float(run.parameters["regularisation"])

    def objective(weights: _Weights) -> float:
        coefficients, intercept = weights
        margins = sides * (features @ coefficients + intercept)
        return float(loss.of(margins).mean() + strength / 2 * coefficients @ coefficients)

    other.fit(features, sides)
    spark, best = objective(_answer(run)), objective((other.coef_[0], float(other.intercept_[0])))
    values = f"objective {spark:.6g}, scikit-learn's {best:.6g}"
    if spark <= best * (1 + SAME_MINIMUM):
        return values
    if run.result["answer"]["iterations"] >= int(run.parameters["iterations"]):
        raise UncheckedError(f"{values}: it ended at its last iteration, not at the minimum")
    raise WrongAnswerError(values)


LEARNING = {
    job: of_any_size(recompute, properties, data)
    for job, recompute, properties, data in (
        ("k-means", k_means, large.k_means, "points"),
        ("gaussian-mixture", gaussian_mixture, large.gaussian_mixture, "points"),
        ("sparse-naive-bayes", sparse_naive_bayes, large.sparse_naive_bayes, "vectors"),
        ("linear-svm", linear_svm, partial(large.plane, loss=large.HINGE), "vectors"),
        (
            "logistic-regression",
            logistic_regression,
            partial(large.plane, loss=large.LOGISTIC),
            "vectors",
        ),
    )
}
