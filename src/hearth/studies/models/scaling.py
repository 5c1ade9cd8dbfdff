"""How much longer tasks take on more NUMA nodes: what published workloads lost.

What a further node brings follows from what all workloads share (memory bandwidth, cores, the
driver's part) more than from what the first step brought: on the published table (Baig 2018) the
laws of Amdahl and of powers, fitted to 1 and 2 nodes, are off by up to 12 and 18 %. So a step is
the geometric mean of other workloads' own.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_NORMAL = 1.645
#: Seconds of a workload by its number of nodes, up to a factor.
Times = Mapping[int, float]


@dataclass(frozen=True)
class Steps:
    """How much longer tasks take on more nodes: the loss against proportional speedup.

    loss: logarithm, by number of nodes, over one node. from_one, between: deviation of the loss of
    a further workload, of a step from or to one node and of one between others.
    """

    loss: Mapping[int, float]
    from_one: float
    between: float

    @staticmethod
    def of(tables: Sequence[Times]) -> "Steps":
        """Return the steps of two workloads or more; deviations by Student's t, as normal ones."""
        from scipy.stats import t

        numbers = sorted(set.intersection(*(set(one) for one in tables)))
        lost = {n: [math.log(one[n] / one[1] * n) for one in tables] for n in numbers}
        factor = math.sqrt(1 + 1 / len(tables)) * float(t.ppf(0.95, len(tables) - 1)) / _NORMAL

        def most(pairs: list[tuple[int, int]]) -> float:
            steps = ([b - a for a, b in zip(lost[n], lost[m], strict=True)] for n, m in pairs)
            return factor * max((statistics.stdev(one) for one in steps), default=0.0)

        more = [n for n in numbers if n > 1]
        means = {n: statistics.fmean(of) for n, of in lost.items()}
        return Steps(means, most([(1, n) for n in more]), most([(2, n) for n in more if n > 2]))

    def step(self, start: int, end: int) -> tuple[float, float]:
        """Return the change of the logarithm of tasks' time, and its deviation.

        start, end: numbers of nodes that are in `loss`.
        """
        if start == end:
            return 0.0, 0.0
        deviation = self.from_one if 1 in (start, end) else self.between
        return self.loss[end] - self.loss[start], deviation


#: Means over SVM, SQL and PageRank on up to four nodes of a POWER8 (Baig 2018, speedups between
#: bound runs): a test holds them against the table.
PUBLISHED = Steps({1: 0.0, 2: 0.195, 3: 0.317, 4: 0.498}, 0.286, 0.057)
