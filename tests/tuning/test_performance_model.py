"""What the performance model believes of the machines of the published studies."""

import csv

import numpy as np
import pytest

from hearth.studies.models.performance_model import DRAWS, RANGES, Array, draw, log_times
from hearth.studies.models.space import Cell, MachineSize
from support import ROOT, require

#: Kyong 2017: 8 sockets of 15 cores; one JVM on 120, 60 and 15 of them, and three partitionings.
EIGHT_SOCKETS = MachineSize(120, 120, 792.0)
ONE_JVM = [Cell(1, slots, 700.0) for slots in (120, 60, 15)]
PER_SOCKET, TWO_SOCKETS, HALF_SOCKETS = Cell(8, 15, 87.0), Cell(4, 30, 175.0), Cell(16, 7, 44.0)


def parameters(*, straggling: float | None = None) -> Array:
    """Imagined applications, all with this much straggling where it is given."""
    found = draw(DRAWS, 1).copy()
    if straggling is not None:
        found[:, list(RANGES).index("straggling")] = straggling
    return found


def like_the_study(applications: Array) -> Array:
    """How well each agrees with the study's one JVM, four times as fast on 60 cores as on 15 and no
    faster on 120; sums to 1."""
    times = log_times(applications, EIGHT_SOCKETS, ONE_JVM)
    far = ((times[:, 1] - times[:, 2] + np.log(4)) / 0.25) ** 2
    far += ((times[:, 0] - times[:, 1]) / 0.15) ** 2
    weights = np.exp(-far / 2)
    found: Array = weights / weights.sum()
    return found


def of_one_jvm(applications: Array, cell: Cell) -> float:
    """The time on 120 cores to that of one JVM, where one JVM scales as in the study."""
    times = log_times(applications, EIGHT_SOCKETS, [cell, ONE_JVM[0]])
    return float(np.exp(like_the_study(applications) @ (times[:, 0] - times[:, 1])))


def test_unlike_tasks_make_partitions_of_two_sockets_faster_than_of_one_on_120_cores() -> None:
    unlike = parameters(straggling=1.0)
    assert of_one_jvm(unlike, TWO_SOCKETS) < of_one_jvm(unlike, PER_SOCKET) < 1
    alike = parameters(straggling=1e-6)
    assert of_one_jvm(alike, PER_SOCKET) < of_one_jvm(alike, TWO_SOCKETS) < 1


def test_half_sockets_are_no_faster_than_sockets_where_one_jvm_scales_as_in_the_study() -> None:
    assert of_one_jvm(parameters(), HALF_SOCKETS) > of_one_jvm(parameters(), PER_SOCKET)


def test_more_waves_for_each_executor_leave_less_to_stragglers() -> None:
    few, many = parameters(straggling=0.6), parameters(straggling=0.6)
    few[:, list(RANGES).index("tasks_per_thread")] = 1.0
    many[:, list(RANGES).index("tasks_per_thread")] = 8.0
    alike = parameters(straggling=1e-6)
    longer = []
    for applications in (few, many):
        alike[:] = applications
        alike[:, list(RANGES).index("straggling")] = 1e-6
        apart = log_times(applications, EIGHT_SOCKETS, [PER_SOCKET])
        longer.append((apart - log_times(alike, EIGHT_SOCKETS, [PER_SOCKET])).mean())
    assert longer[0] > 2 * longer[1] > 0


@pytest.mark.parametrize("table", ["table4_svm.csv", "table6_pagerank.csv"])
def test_on_the_power8_it_believes_in_a_shape_within_a_tenth_of_the_published_best(
    table: str,
) -> None:
    file = ROOT.parent / "shared/data/power8" / table
    if not file.is_file():
        require("shared", f"../shared/data/power8/{table} is not here")
    rows = list(csv.DictReader(file.read_text().splitlines()))
    cells = [Cell(int(r["workers"]), int(r["cores_per_worker"]), 1000 / int(r["workers"]))
             for r in rows]  # fmt: skip
    seconds = [float(r["seconds"]) for r in rows]
    believed = log_times(parameters(), MachineSize(192, 24, 1000.0), cells).mean(axis=0)
    near = [s for s, log in zip(seconds, believed, strict=True) if log < believed.min() + 0.01]
    assert min(near) <= 1.05 * min(seconds)
    plan = [cell.shown for cell in cells].index("12x8")
    assert believed[plan] < believed.min() + 0.01
