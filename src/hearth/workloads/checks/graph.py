"""Check of the jobs of GraphX: scipy and networkx on the same edges."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hearth.workloads.checks import FinishedRun, WrongAnswerError, large
from hearth.workloads.checks.files import of_any_size, parts, table

#: Edge files up to this size are recomputed: some ten seconds.
GRAPH_CHECK_BYTES = 64 << 20
#: networkx keeps Python objects: it ranks graphs of up to so many edges.
NETWORKX_EDGES = 300_000
#: Of each rank, relative: the order of sums differs.
RANK_TOLERANCE = 1e-9
#: Iterations after which ranks no longer change, and how far (sum of differences) networkx's,
#: which sum up to 1, may then be away.
CONVERGED = 300
NETWORKX_TOLERANCE = 1e-8


@dataclass(frozen=True)
class Edges:
    """A graph's edges, its vertices numbered from 0.

    ids: the vertices' own numbers, ascending. source, target: indices into them, one an edge.
    """

    ids: np.ndarray
    source: np.ndarray
    target: np.ndarray

    @cached_property
    def matrix(self) -> Any:
        """Sparse, ids x ids: how many edges lead from row to column."""
        from scipy.sparse import coo_array

        ones, size = np.ones(len(self.source)), len(self.ids)
        return coo_array((ones, (self.source, self.target)), shape=(size, size)).tocsr()


def _edges(run: FinishedRun) -> Edges:
    read = [np.loadtxt(file, dtype=np.int64, ndmin=2) for file in parts(run.data["graph"])]
    pairs = np.concatenate(read)
    ids, indices = np.unique(pairs, return_inverse=True)
    indices = indices.reshape(pairs.shape)
    return Edges(ids, indices[:, 0], indices[:, 1])


def _values(run: FinishedRun, name: str, edges: Edges, dtype: type) -> np.ndarray:
    """Return the answer's values in the order of `ids`."""
    values = table(run.answer / name, dtype)
    if values.keys() != set(edges.ids.tolist()):
        listed = f"{len(values):,} vertices are listed, the graph has {len(edges.ids):,}"
        raise WrongAnswerError(listed)
    return np.array([values[vertex] for vertex in edges.ids.tolist()])


def _check_top(run: FinishedRun, edges: Edges, values: np.ndarray) -> None:
    """Raise where the vertices of the largest values are not those of the files."""
    largest = np.lexsort((edges.ids, -values))[:20]
    expected = [(int(edges.ids[i]), float(values[i])) for i in largest]
    actual = [(item["vertex"], item["value"]) for item in run.result["answer"]["top"]]
    if actual != expected:
        raise WrongAnswerError("the 20 largest are not those of the files")


def page_rank(run: FinishedRun) -> str:
    """Check ranks by scipy with the same definition, which is itself compared with networkx's."""
    edges = _edges(run)
    ranks = _values(run, "ranks", edges, float)
    reset, iterations = float(run.parameters["reset"]), int(run.parameters["iterations"])
    expected = _ranks(edges, reset, iterations)
    difference = float(np.max(np.abs(ranks - expected) / expected))
    if not difference <= RANK_TOLERANCE:
        raise WrongAnswerError(f"ranks differ from scipy's by up to {difference:.3g} of them")
    _check_top(run, edges, ranks)
    if len(edges.source) > NETWORKX_EDGES:
        return f"{len(ranks):,} ranks equal scipy's"
    # That the definition is right: iterated until nothing changes, it comes to networkx's ranks.
    settled = _ranks(edges, reset, CONVERGED) / len(edges.ids)
    distance = float(np.abs(settled - _converged(edges, reset)).sum())
    if not distance <= NETWORKX_TOLERANCE:
        raise WrongAnswerError(f"the formula's ranks are {distance:.3g} away from networkx's")
    return f"{len(ranks):,} ranks equal scipy's, whose limit is networkx's"


def _ranks(edges: Edges, reset: float, iterations: int) -> np.ndarray:
    """Return GraphX's ranks: from 1 each, `reset + (1 - reset) * sum(rank / out-degree)`.

    What flows into vertices without successors is lost on the way, and put back at the end, when
    the ranks are scaled to sum up to their number (SPARK-18847).
    """
    degree = edges.matrix.sum(axis=1)
    share = np.divide(1, degree, out=np.zeros_like(degree), where=degree > 0)
    ranks = np.ones(len(edges.ids))
    for _ in range(iterations):
        ranks = reset + (1 - reset) * (edges.matrix.T @ (ranks * share))
    scaled: np.ndarray = ranks * len(ranks) / ranks.sum()
    return scaled


def _converged(edges: Edges, reset: float) -> np.ndarray:
    """Return networkx's ranks, which sum up to 1."""
    import networkx

    graph = networkx.DiGraph()
    graph.add_nodes_from(range(len(edges.ids)))
    matrix = edges.matrix.tocoo()
    graph.add_weighted_edges_from(
        zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True)
    )
    ranks = networkx.pagerank(graph, alpha=1 - reset, tol=1e-12, max_iter=1000)
    return np.array([ranks[vertex] for vertex in range(len(edges.ids))])


def connected_components(run: FinishedRun) -> str:
    """Compare each vertex's component, named by its smallest vertex, with scipy's."""
    from scipy.sparse.csgraph import connected_components as components

    edges = _edges(run)
    actual = _values(run, "components", edges, int)
    count, labels = components(edges.matrix, directed=False)
    # ids ascend, so that a component's first index is that of its smallest vertex.
    _, first = np.unique(labels, return_index=True)
    differ = int((actual != edges.ids[first][labels]).sum())
    if differ:
        raise WrongAnswerError(f"{differ:,} vertices are in other components than scipy's")
    answer, largest = run.result["answer"], int(np.bincount(labels).max())
    if (answer["components"], answer["largest"]) != (count, largest):
        stated = f"{answer['components']:,} components, the largest of {answer['largest']:,}"
        raise WrongAnswerError(f"{stated}; scipy finds {count:,} and {largest:,}")
    return f"{count:,} components equal scipy's"


def triangle_count(run: FinishedRun) -> str:
    """Compare the triangles through each vertex with a product of scipy's sparse matrices."""
    edges = _edges(run)
    actual = _values(run, "triangles", edges, int)
    expected = _triangles(edges)
    differ = int((actual != expected).sum())
    if differ:
        raise WrongAnswerError(f"{differ:,} vertices have other counts than scipy's")
    total, stated = int(expected.sum()) // 3, run.result["answer"]["triangles"]
    if stated != total:
        raise WrongAnswerError(f"{stated:,} triangles, scipy counts {total:,}")
    _check_top(run, edges, actual)
    return f"{total:,} triangles, those of each vertex equal scipy's"


def _triangles(edges: Edges) -> np.ndarray:
    """Count each vertex's pairs of neighbours that are neighbours, without loops and repetitions.

    Vertices are ordered by degree and each edge kept from the lower to the higher, so that the
    product stays small on graphs with a few vertices of very many neighbours.
    """
    from scipy.sparse import coo_array

    size = len(edges.ids)
    low = np.minimum(edges.source, edges.target)
    high = np.maximum(edges.source, edges.target)
    low, high = np.unique(np.stack([low, high])[:, low != high], axis=1)
    degree = np.bincount(np.concatenate([low, high]), minlength=size)
    place = np.empty(size, dtype=np.int64)
    place[np.lexsort((np.arange(size), degree))] = np.arange(size)
    up = place[low] < place[high]
    start, end = np.where(up, low, high), np.where(up, high, low)
    ones = np.ones(len(start), dtype=np.int64)
    upward = coo_array((ones, (start, end)), shape=(size, size)).tocsr()
    # Of edge a -> c: the ways a -> b -> c. Each triangle is counted once, at its a -> c.
    ends = (upward @ upward).multiply(upward)
    # Of edge b -> c: the a with a -> b and a -> c. Once, at b.
    middles = (upward.T @ upward).multiply(upward)
    triangles: np.ndarray = ends.sum(axis=1) + ends.sum(axis=0) + middles.sum(axis=1)
    return triangles


GRAPH = {
    job: of_any_size(recompute, properties, "graph", GRAPH_CHECK_BYTES)
    for job, recompute, properties in (
        ("page-rank", page_rank, large.page_rank),
        ("connected-components", connected_components, large.connected_components),
        ("triangle-count", triangle_count, large.triangle_count),
    )
}
