"""Check properties of every right answer, for data too large to be recomputed.

Each check goes over the data once and keeps little of it: numpy over some rows at a time, or
DuckDB. It finds what was lost or made up, and numbers that do not belong together; that each step
is right is shown at sizes that are fully recomputed.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hearth.workloads.checks import FinishedRun, WrongAnswerError
from hearth.workloads.checks.duck import LINES, duck
from hearth.workloads.checks.files import lines, manifest, parts, stretches

if TYPE_CHECKING:
    import duckdb

#: Of sums over all rows, relative to the largest: the order of additions differs.
SAME_SUMS = 1e-6
#: Of the sum of all ranks, which Spark and DuckDB add up alike but in another order.
SAME_RANKS = 1e-9
#: Of the gradient at a minimum, relative to that where the descent began.
FLAT = 0.02
#: How far a random share may be from its mean: once in 10^9 runs it is further away.
STANDARD_ERRORS = 6
#: Vertices whose triangles are recounted.
SAMPLED_VERTICES = 100

# The files come first; of values, their type too.
_EDGES = """read_csv(%s, columns={'a': 'BIGINT', 'b': 'BIGINT'}, delim='\t', header=false,
    auto_detect=false)"""
_VALUES = """read_csv(%s, columns={'vertex': 'BIGINT', 'value': '%s'}, delim='\t', header=false,
    auto_detect=false)"""


def naive_bayes(run: FinishedRun) -> str:
    """Check that words' probabilities add up to 1, and the number of tested reviews."""
    answer, sums, words = run.result["answer"], np.zeros(2), 0
    for line in lines(run.answer / "model"):
        _, negative, positive = line.split("\t")
        sums += np.exp([float(negative), float(positive)])
        words += 1
    if words != answer["vocabulary"]:
        reported = f"the answer says {answer['vocabulary']:,}"
        raise WrongAnswerError(f"{words:,} words in the files, {reported}")
    if not np.allclose(sums, 1, rtol=0, atol=SAME_SUMS):
        raise WrongAnswerError(f"the words' probabilities sum up to {sums}, not to 1")
    confusion = np.array(answer["confusion"])
    tested, right = confusion.sum(), np.trace(confusion)
    if (answer["tested"], answer["accuracy"]) != (tested, right / tested):
        raise WrongAnswerError("tested and accuracy are not those of the table of confusion")
    if answer["accuracy"] <= confusion.sum(axis=1).max() / tested:
        raise WrongAnswerError(f"accuracy {answer['accuracy']:.4f}: no better than one label")
    _check_split(run, int(tested))
    return f"the probabilities of {words:,} words sum up to 1, {tested:,.0f} reviews were tested"


def _check_split(run: FinishedRun, tested: int) -> None:
    """Raise where another share of the reviews was tested than the job was asked to test."""
    made = manifest(run.data["reviews"]).get("rows")
    if made is None:
        return
    share = 1 - int(run.parameters["train-percent"]) / 100
    away = abs(tested - made * share) / math.sqrt(made * share * (1 - share))
    if away > STANDARD_ERRORS:
        expected = f"of {made:,} there should be about {made * share:,.0f}"
        raise WrongAnswerError(f"{tested:,} reviews were tested, {expected}")


def k_means(run: FinishedRun) -> str:
    """Check the centres' cost in one pass of numpy, and that it is below the first centres'."""
    answer = run.result["answer"]
    centres, first = np.array(answer["centres"]), np.array(answer["first_centres"])
    count, total, before = 0, 0.0, 0.0
    for (points,) in stretches(run.data["points"], "features"):
        count += len(points)
        total += cost(points, centres)
        before += cost(points, first)
    _check_count(answer["points"], count)
    if not abs(answer["cost"] - total) <= SAME_SUMS * total:  # NaN is not
        raise WrongAnswerError(f"cost {answer['cost']:.6g}, that of the centres is {total:.6g}")
    if not total <= before:
        raise WrongAnswerError(f"cost {total:.6g}, that of the first centres was {before:.6g}")
    return f"the cost of {len(centres)} centres is numpy's, {total:.6g}, at first {before:.6g}"


def cost(points: np.ndarray, centres: np.ndarray) -> float:
    """Return the sum of the squares of the points' distances to their nearest centres."""
    squares = [((points - centre) ** 2).sum(axis=1) for centre in centres]
    return float(np.min(squares, axis=0).sum())


def _check_count(reported: int, counted: int) -> None:
    if reported != counted:
        raise WrongAnswerError(f"the answer says {reported:,} rows, the files hold {counted:,}")


def gaussian_mixture(run: FinishedRun) -> str:
    """Check that the mixture has the data's mean and second moments, as each step keeps them."""
    mixture = {name: np.array(values) for name, values in run.result["answer"]["found"].items()}
    weights, means = mixture["weights"], mixture["means"]
    count, mean, second = 0, np.zeros(means.shape[1]), np.zeros((means.shape[1],) * 2)
    for (points,) in stretches(run.data["points"], "features"):
        count += len(points)
        mean += points.sum(axis=0)
        second += points.T @ points
    _check_count(run.result["answer"]["points"], count)
    squares = mixture["covariances"] + means[:, :, None] * means[:, None, :]
    for name, actual, expected, largest in (
        ("weights", weights.sum(), 1, weights),
        ("mean", weights @ means, mean / count, means),
        ("second moments", np.tensordot(weights, squares, axes=1), second / count, squares),
    ):
        away = float(np.abs(actual - expected).max())
        if not away <= SAME_SUMS * max(1.0, float(np.abs(largest).max())):
            raise WrongAnswerError(f"the mixture's {name} are {away:.3g} away from the data's")
    return f"the mixture has the mean and moments of {count:,} points"


def sparse_naive_bayes(run: FinishedRun) -> str:
    """Check priors by DuckDB's count of the labels; the dimensions' probabilities sum up to 1."""
    answer, smoothing = run.result["answer"], float(run.parameters["smoothing"])
    with duck(run) as connection:
        rows = connection.execute(
            f"""SELECT split_part(line, ' ', 1)::DOUBLE AS label, count(*) FROM {LINES}
            GROUP BY label ORDER BY label""",
            [[str(file) for file in parts(run.data["vectors"])]],
        ).fetchall()
    counts = np.array([count for _, count in rows])
    _check_count(answer["vectors"], int(counts.sum()))
    order = np.argsort(answer["labels"])
    labels, priors = (np.array(answer[name])[order] for name in ("labels", "log_priors"))
    expected = np.log((counts + smoothing) / (counts.sum() + smoothing * len(counts)))
    if list(labels) != [label for label, _ in rows] or not np.allclose(priors, expected, rtol=1e-9):
        raise WrongAnswerError(f"labels {labels} and priors {priors} are not DuckDB's {expected}")
    sums = dict.fromkeys(labels, 0.0)
    for line in lines(run.answer / "model"):
        label, _, value = line.split("\t")
        sums[float(label)] += math.exp(float(value))
    if not np.allclose(list(sums.values()), 1, rtol=0, atol=SAME_SUMS):
        raise WrongAnswerError(f"the probabilities of the classes sum up to {sums}, not to 1")
    return f"priors are DuckDB's, the probabilities of {len(counts)} classes sum up to 1"


@dataclass(frozen=True)
class Loss:
    """The loss of a plane for vectors of margin z, and its derivative by z."""

    of: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]
    #: Whether its minimum has no gradient.
    smooth: bool


def plane(run: FinishedRun, loss: Loss) -> str:
    """Check accuracy and objective of the plane in one pass of numpy, and that it is a minimum."""
    answer, strength = run.result["answer"], float(run.parameters["regularisation"])
    weights, intercept = np.array(answer["coefficients"]), answer["intercept"]
    count, right, paid, at_zero = 0, 0, 0.0, 0.0
    gradient, first = np.zeros(len(weights)), np.zeros(len(weights))
    for labels, features in stretches(run.data["vectors"], "label", "features"):
        sides = 2 * labels - 1
        margins, none = sides * (features @ weights + intercept), np.zeros(len(labels))
        count, right = count + len(labels), right + int((margins > 0).sum())
        paid, at_zero = paid + float(loss.of(margins).sum()), at_zero + float(loss.of(none).sum())
        gradient += (loss.slope(margins) * sides) @ features
        first += (loss.slope(none) * sides) @ features
    _check_count(answer["vectors"], count)
    # Vectors on the plane itself belong to either side.
    if not abs(answer["accuracy"] * count - right) <= 1.5:
        raise WrongAnswerError(f"accuracy {answer['accuracy']}, numpy's is {right / count}")
    objective = paid / count + strength / 2 * float(weights @ weights)
    values = f"objective {objective:.6g}, at the start {at_zero / count:.6g}"
    if not objective < at_zero / count:
        raise WrongAnswerError(values)
    steep = np.linalg.norm(gradient / count + strength * weights) / np.linalg.norm(first / count)
    ended = answer["iterations"] < int(run.parameters["iterations"])
    if loss.smooth and ended and not steep <= FLAT:
        raise WrongAnswerError(f"{values}; the gradient is still {steep:.2g} of the first one")
    return f"accuracy {right / count:.4f} is numpy's, {values}"


LOGISTIC = Loss(lambda z: np.logaddexp(0, -z), lambda z: -np.exp(-np.logaddexp(0, z)), smooth=True)
HINGE = Loss(lambda z: np.maximum(0, 1 - z), lambda z: -(z < 1).astype(float), smooth=False)


def page_rank(run: FinishedRun) -> str:
    """Check that ranks sum up to their number; the least are of vertices that no edge leads to."""
    answer = run.result["answer"]
    with duck(run) as connection:
        graph_views(connection, run, "ranks", "DOUBLE")
        _check_vertices(connection, run)
        total, least, unsought, most = connection.execute(
            """SELECT sum(value), min(value),
            min(value) FILTER (WHERE NOT sought), max(value) FILTER (WHERE NOT sought) FROM
            (SELECT value, vertex IN (SELECT DISTINCT b FROM edges) AS sought FROM answer)"""
        ).fetchall()[0]
    for name, value in (("files", total), ("answer", answer["sum"])):
        if not abs(value - answer["vertices"]) <= SAME_RANKS * answer["vertices"]:
            sums = f"the ranks of the {name} sum up to {value}"
            raise WrongAnswerError(f"{sums}, not to the {answer['vertices']:,} vertices")
    if least <= 0 or (unsought is not None and not least == unsought == most):
        raise WrongAnswerError("vertices that no edge leads to do not share the least rank")
    return f"the ranks of {answer['vertices']:,} vertices sum up rightly"


def connected_components(run: FinishedRun) -> str:
    """Check that no edge joins two components, and that each is named by its smallest vertex."""
    answer = run.result["answer"]
    with duck(run) as connection:
        graph_views(connection, run, "components", "BIGINT")
        _check_vertices(connection, run)
        (crossing,) = _row(connection, CROSSING_EDGES)
        misnamed, components, largest = _row(
            connection,
            """SELECT count(*) FILTER (WHERE name <> least), count(*), max(size) FROM
            (SELECT value AS name, min(vertex) AS least, count(*) AS size FROM answer
            GROUP BY value)""",
        )
    if crossing:
        raise WrongAnswerError(f"{crossing:,} edges lead from one component to another")
    if misnamed:
        raise WrongAnswerError(f"{misnamed:,} components are not named by their smallest vertex")
    if (components, largest) != (answer["components"], answer["largest"]):
        reported = f"{answer['components']:,} components, the largest of {answer['largest']:,}"
        raise WrongAnswerError(f"{reported}; the files hold {components:,} and {largest:,}")
    return f"no edge leaves any of the {components:,} components"


# Not as a condition: DuckDB (2.0) then joins all pairs of vertices by it, before the edges.
CROSSING_EDGES = """
SELECT count(*) FILTER (WHERE source.value <> target.value) FROM edges
JOIN answer AS source ON source.vertex = a JOIN answer AS target ON target.vertex = b
"""


def triangle_count(run: FinishedRun) -> str:
    """Check that counts sum up to three a triangle, and some vertices against DuckDB."""
    answer = run.result["answer"]
    with duck(run) as connection:
        graph_views(connection, run, "triangles", "BIGINT")
        _check_vertices(connection, run)
        (total,) = _row(connection, "SELECT sum(value)::BIGINT FROM answer")
        if total != 3 * answer["triangles"]:
            sums = f"the vertices' counts sum up to {total:,}, not three each"
            raise WrongAnswerError(f"the answer says {answer['triangles']:,} triangles, {sums}")
        differ = connection.execute(_TRIANGLES, [SAMPLED_VERTICES]).fetchall()
    if differ:
        vertex, reported, counted = differ[0]
        detail = f"{vertex} has {reported:,}, by DuckDB {counted:,}"
        raise WrongAnswerError(f"{len(differ)} vertices have other triangles: {detail}")
    return f"{answer['triangles']:,} triangles, those of {SAMPLED_VERTICES} vertices are DuckDB's"


# The vertices of the smallest hashes: any, but the same ones at each check.
_TRIANGLES = """
WITH apart AS (SELECT DISTINCT least(a, b) AS a, greatest(a, b) AS b FROM edges WHERE a <> b),
sampled AS (SELECT vertex, value FROM answer ORDER BY hash(vertex), vertex LIMIT ?),
beside AS (SELECT vertex, b AS other FROM sampled JOIN apart ON a = vertex
    UNION ALL SELECT vertex, a FROM sampled JOIN apart ON b = vertex),
counted AS (SELECT one.vertex, count(*) AS n FROM beside AS one
    JOIN apart ON apart.a = one.other
    JOIN beside AS two ON two.vertex = one.vertex AND two.other = apart.b GROUP BY one.vertex)
SELECT sampled.vertex, value, coalesce(n, 0) FROM sampled LEFT JOIN counted USING (vertex)
WHERE value <> coalesce(n, 0)
"""


def _row(connection: "duckdb.DuckDBPyConnection", query: str) -> tuple[Any, ...]:
    return connection.execute(query).fetchall()[0]


def graph_views(
    connection: "duckdb.DuckDBPyConnection", run: FinishedRun, name: str, kind: str
) -> None:
    """Create the views `edges` (a, b) and `answer` (vertex, value)."""
    edges, values = (_list(folder) for folder in (run.data["graph"], run.answer / name))
    connection.execute(f"CREATE VIEW edges AS FROM {_EDGES % edges}")
    connection.execute(f"CREATE VIEW answer AS FROM {_VALUES % (values, kind)}")


def _list(folder: Path) -> str:
    """Return the folder's files as a list of SQL's."""
    quoted = (str(file).replace("'", "''") for file in parts(folder))
    return "[" + ", ".join(f"'{file}'" for file in quoted) + "]"


def _check_vertices(connection: "duckdb.DuckDBPyConnection", run: FinishedRun) -> None:
    """Raise where edges were lost, other vertices are listed than the graph's, or one twice."""
    made, read = manifest(run.data["graph"]).get("rows"), run.result["answer"]["edges"]
    if made not in (None, read):
        raise WrongAnswerError(f"{read:,} edges were read, {made:,} were made")
    listed, different, expected = _row(
        connection,
        """SELECT count(*), count(DISTINCT vertex), (SELECT count(*) FROM
        (SELECT a FROM edges UNION SELECT b FROM edges)) FROM answer""",
    )
    (strange,) = _row(
        connection,
        """SELECT count(*) FROM answer WHERE vertex NOT IN
        (SELECT a FROM edges UNION SELECT b FROM edges)""",
    )
    if not listed == different == expected == run.result["answer"]["vertices"] or strange:
        vertices = f"{listed:,} vertices are listed, {different:,} different"
        raise WrongAnswerError(f"{vertices}; the graph has {expected:,}")
