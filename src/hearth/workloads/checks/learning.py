"""Check of the jobs of MLlib: scikit-learn, or the same formula in numpy, on the same data.

Where a job stops after a set number of iterations, the other implementation starts from the same
first guess and takes as many: then both must come to the same result, not to a similar one.
"""

import warnings
from typing import Any

import numpy as np

from hearth.workloads.checks import FinishedRun, Verdict, large
from hearth.workloads.checks.files import lines, parts, too_large, vectors

#: Of numbers that two implementations reach by the same steps, relative to the largest of them.
SAME_STEPS = 1e-6
#: Of an objective's minimum that two solvers find on ways of their own, relative.
SAME_MINIMUM = 1e-3
#: Of logarithms of probabilities, which are sums of the same numbers.
SAME_SUMS = 1e-9

_Weights = tuple[np.ndarray, float]


def k_means(run: FinishedRun) -> Verdict:
    """Check centres by as many iterations of scikit-learn from the same first centres; the cost."""
    if too_large(run.data["points"]):
        return large.k_means(run)
    from sklearn.cluster import KMeans

    answer = run.result["answer"]
    (points,) = vectors(run.data["points"], "features")
    first, centres = np.array(answer["first_centres"]), np.array(answer["centres"])
    if len(np.unique(centres, axis=0)) != int(run.parameters["clusters"]):
        return Verdict("wrong", f"{len(np.unique(centres, axis=0))} different centres")
    iterations = int(run.parameters["iterations"])
    model = KMeans(len(first), init=first, n_init=1, max_iter=iterations, tol=0, algorithm="lloyd")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it did not converge: it was not asked to
        model.fit(points)
    if difference := _differ(centres, model.cluster_centers_, SAME_STEPS):
        return Verdict("wrong", f"the centres are not scikit-learn's: {difference}")
    cost = _cost(points, centres)
    if difference := _differ(answer["cost"], cost, SAME_STEPS):
        return Verdict("wrong", f"the cost is not that of the centres: {difference}")
    return Verdict("checked", f"{len(centres)} centres equal scikit-learn's, cost {cost:.6g}")


def _cost(points: np.ndarray, centres: np.ndarray) -> float:
    """Return the sum of the squares of the points' distances to their nearest centres."""
    nearest = np.full(len(points), np.inf)
    for centre in centres:
        nearest = np.minimum(nearest, ((points - centre) ** 2).sum(axis=1))
    return float(nearest.sum())


def _differ(actual: Any, expected: Any, tolerance: float) -> str | None:
    """Return the largest difference if it is more than `tolerance` of the largest number."""
    actual, expected = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    if actual.shape != expected.shape:
        return f"shape {actual.shape} instead of {expected.shape}"
    difference = float(np.abs(actual - expected).max())
    if difference <= tolerance * float(np.abs(expected).max()):  # NaN is not
        return None
    return f"they differ by up to {difference:.3g}"


def gaussian_mixture(run: FinishedRun) -> Verdict:
    """Check weights, means and covariances by the same steps in numpy, with scipy's densities."""
    if too_large(run.data["points"]):
        return large.gaussian_mixture(run)
    answer = run.result["answer"]
    (points,) = vectors(run.data["points"], "features")
    expected = _mixture(points, answer["first"], int(run.parameters["iterations"]))
    for name, values in expected.items():
        if difference := _differ(answer["found"][name], values, SAME_STEPS):
            return Verdict("wrong", f"the {name} are not those of numpy's steps: {difference}")
    clusters = len(expected["weights"])
    return Verdict("checked", f"weights, means, covariances of {clusters} clusters equal numpy's")


def _mixture(
    points: np.ndarray, first: dict[str, list[Any]], iterations: int
) -> dict[str, np.ndarray]:
    """Run expectation maximisation; means: clusters x dimensions.

    Spark adds the machine epsilon to each density, so that a point far from all clusters belongs
    a little to each (its `GaussianMixture`); in many dimensions that shows, and scikit-learn, which
    works with logarithms, comes to another mixture.
    """
    from scipy.stats import multivariate_normal

    found = {name: np.array(values) for name, values in first.items()}
    for _ in range(iterations):
        densities = [
            multivariate_normal.pdf(points, mean, covariance)
            for mean, covariance in zip(found["means"], found["covariances"], strict=True)
        ]
        shares = found["weights"] * np.stack(densities, axis=1) + np.finfo(float).eps
        shares /= shares.sum(axis=1, keepdims=True)
        total = shares.sum(axis=0)
        means = shares.T @ points / total[:, None]
        from_mean = [points - mean for mean in means]
        covariances = [
            (share[:, None] * away).T @ away / sum_
            for share, away, sum_ in zip(shares.T, from_mean, total, strict=True)
        ]
        found = {
            "weights": total / total.sum(),
            "means": means,
            "covariances": np.array(covariances),
        }
    return found


def sparse_naive_bayes(run: FinishedRun) -> Verdict:
    """Check probabilities by scikit-learn's; priors, which Spark smooths too, by their formula."""
    if too_large(run.data["vectors"]):
        return large.sparse_naive_bayes(run)
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
        if difference := _differ(actual, expected, SAME_SUMS):
            return Verdict("wrong", f"{name}: not scikit-learn's, {difference}")
    return Verdict("checked", f"{logs.size:,} probabilities equal scikit-learn's")


def linear_svm(run: FinishedRun) -> Verdict:
    """Check DataFrames by scikit-learn's minimum, RDDs by the same descent in numpy."""
    if too_large(run.data["vectors"]):
        return large.plane(run, large.HINGE)
    labels, features = vectors(run.data["vectors"], "label", "features")
    sides = 2 * labels - 1
    if problem := _accuracy_problem(run, features, sides):
        return Verdict("wrong", problem)
    strength = float(run.parameters["regularisation"])
    if run.parameters["api"] == "rdd":
        expected = _descent(features, sides, int(run.parameters["iterations"]), strength)
        if difference := _differ(run.result["answer"]["coefficients"], expected, SAME_STEPS):
            return Verdict("wrong", f"the coefficients are not numpy's: {difference}")
        return Verdict("checked", f"{len(expected)} coefficients equal numpy's")
    from sklearn.svm import LinearSVC

    # This solver restrains the intercept too; scaled up, it hardly does.
    other = LinearSVC(
        C=1 / (len(labels) * strength), loss="hinge", intercept_scaling=100, max_iter=200_000
    )
    return _minimum(run, features, sides, lambda z: np.maximum(0, 1 - z), other)


def logistic_regression(run: FinishedRun) -> Verdict:
    """Compare the minimum of the objective with scikit-learn's."""
    if too_large(run.data["vectors"]):
        return large.plane(run, large.LOGISTIC)
    from sklearn.linear_model import LogisticRegression

    labels, features = vectors(run.data["vectors"], "label", "features")
    sides = 2 * labels - 1
    if problem := _accuracy_problem(run, features, sides):
        return Verdict("wrong", problem)
    strength = float(run.parameters["regularisation"])
    other = LogisticRegression(C=1 / (len(labels) * strength), tol=1e-9, max_iter=10_000)
    return _minimum(run, features, sides, lambda z: np.logaddexp(0, -z), other)


def _found(run: FinishedRun) -> _Weights:
    answer = run.result["answer"]
    return np.array(answer["coefficients"]), answer["intercept"]


def _accuracy_problem(run: FinishedRun, features: np.ndarray, sides: np.ndarray) -> str | None:
    """Return the problem if the accuracy is not the coefficients'; `sides`: labels, -1 and 1."""
    coefficients, intercept = _found(run)
    right = (features @ coefficients + intercept > 0) == (sides > 0)
    accuracy, stated = float(right.mean()), run.result["answer"]["accuracy"]
    # One vector may lie on the plane.
    if abs(stated - accuracy) * len(sides) < 1.5:
        return None
    return f"accuracy {stated}, that of its coefficients is {accuracy}"


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
    run: FinishedRun, features: np.ndarray, sides: np.ndarray, loss: Any, other: Any
) -> Verdict:
    """Compare mean(loss) + strength / 2 * |w|^2 at Spark's weights against another solver's."""
    strength = float(run.parameters["regularisation"])

    def objective(weights: _Weights) -> float:
        coefficients, intercept = weights
        margins = sides * (features @ coefficients + intercept)
        return float(loss(margins).mean() + strength / 2 * coefficients @ coefficients)

    other.fit(features, sides)
    spark, best = objective(_found(run)), objective((other.coef_[0], float(other.intercept_[0])))
    values = f"objective {spark:.6g}, scikit-learn's {best:.6g}"
    if spark <= best * (1 + SAME_MINIMUM):
        return Verdict("checked", values)
    if run.result["answer"]["iterations"] >= int(run.parameters["iterations"]):
        return Verdict("unchecked", f"{values}: it ended at its last iteration, not at the minimum")
    return Verdict("wrong", values)


LEARNING = {
    "k-means": k_means,
    "gaussian-mixture": gaussian_mixture,
    "sparse-naive-bayes": sparse_naive_bayes,
    "linear-svm": linear_svm,
    "logistic-regression": logistic_regression,
}
