"""Predict a workload's time on more nodes from those on 1 and 2, as other workloads scale.

What a further node brings follows from what all workloads share (memory bandwidth, cores, the
driver's part) more than from what the first step brought: on the published table (Baig 2018) the
laws of Amdahl and of powers, fitted to 1 and 2 nodes, are off by up to 12 and 18 %. So the step
from 2 nodes on is the geometric mean of the other workloads' own.
"""

import math
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hearth.base.errors import UserError
from hearth.studies.models.rows import number_above_0, read_rows

_COLUMNS = ("workload", "from_binding", "to_binding", "speedup")
#: So many nodes, bound to them: 4B.
_BOUND = re.compile(r"([1-9][0-9]{0,2})B")
_MOST_SPEEDUP = 1000
_NORMAL = 1.645
#: Seconds of a workload by its number of nodes, up to a factor.
Times = Mapping[int, float]


@dataclass(frozen=True)
class Scaled:
    """A workload's time on so many nodes, predicted without it: relative to that on 1 node."""

    workload: str
    nodes: int
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1


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
        return self.loss[end] - self.loss[start], self.from_one if 1 in (
            start,
            end,
        ) else self.between


#: Means over SVM, SQL and PageRank on up to four nodes of a POWER8 (Baig 2018, speedups between
#: bound runs): a test holds them against the table.
PUBLISHED = Steps({1: 0.0, 2: 0.195, 3: 0.317, 4: 0.498}, 0.286, 0.057)


def scaled(own: Times, others: Sequence[Times], nodes: int) -> float:
    """Return the time on `nodes` nodes, from those on 1 and 2 and from other workloads' times."""
    steps = [math.log(other[nodes] / other[2]) for other in others if {2, nodes} <= other.keys()]
    if not steps or 2 not in own:
        raise UserError(f"the step from 2 to {nodes} nodes is not known of any other workload")
    return own[2] * math.exp(statistics.fmean(steps))


def leave_one_out(table: Mapping[str, Times]) -> list[Scaled]:
    """Return each workload's times on 3 nodes and more, from its own on 1 and 2 and the others'."""
    found = []
    for workload, own in table.items():
        others = [times for name, times in table.items() if name != workload]
        for nodes in sorted(n for n in own if n > 2):
            predicted = scaled({n: own[n] for n in (1, 2)}, others, nodes)
            found.append(Scaled(workload, nodes, predicted, own[nodes]))
    return found


def read_speedups(file: Path) -> dict[str, dict[int, float]]:
    """Return each workload's times relative to one node, from speedups between bound runs (1B, 2B).

    Raises UserError for a table without the columns, or from which a time does not follow.
    """
    steps: dict[str, dict[tuple[int, int], float]] = {}
    for row, where in read_rows(file, _COLUMNS):
        start, end = (_BOUND.fullmatch(row[name]) for name in ("from_binding", "to_binding"))
        speedup = number_above_0(row["speedup"], "speedup", where, _MOST_SPEEDUP)
        if not (start and end):
            continue  # not bound
        own, step = steps.setdefault(row["workload"], {}), (int(start[1]), int(end[1]))
        if step in own:
            row_is = f"{row['workload']} from {step[0]} to {step[1]} nodes"
            raise UserError(f"{where}: {row_is} appears twice: keep one row for each step")
        own[step] = speedup
    return {workload: _times(own) for workload, own in steps.items()}


def _times(steps: Mapping[tuple[int, int], float]) -> dict[int, float]:
    times = {1: 1.0}
    known = 0
    while known < len(times):  # a row may need the time of a later one
        known = len(times)
        for (start, end), speedup in steps.items():
            if start in times and end not in times:
                times[end] = times[start] / speedup
            elif end in times and start not in times:
                times[start] = times[end] * speedup
    return times
