"""How a machine is best split between applications: predicted from what each loses on a part."""

import math
import random
from pathlib import Path
from typing import get_args

import pytest
from placement_prediction import read_speedups

from hearth.base.errors import UserError
from hearth.studies.models.colocation import (
    Curve,
    Estimate,
    Objective,
    Shared,
    judged,
    parse_split,
    predict,
    ranked,
    splits,
    unbound,
)

#: Sums of 1 / slowdown by hand on 1-3, 2-2 and 3-1 nodes, from table VII of Baig 2018. No study
#: published the throughput of pairs against one after the other.
BY_HAND = {
    ("SQL", "SVM"): [1.29, 1.35, 1.38],
    ("SQL", "PageRank"): [1.27, 1.34, 1.28],
    ("SVM", "PageRank"): [1.37, 1.37, 1.29],
}


def curve(name: str, *slowdown: float, alone_s: float | None = None) -> Curve:
    """On 1 unit, on 2 units, and so on."""
    return Curve(name, {n: Estimate(s) for n, s in enumerate(slowdown, 1)}, alone_s)


def test_throughput_of_pairs_is_the_sum_of_their_relative_speeds_on_their_nodes(
    shared: Path,
) -> None:
    table = read_speedups(shared / "data" / "power8" / "table7_speedups.csv")
    for names, expected in BY_HAND.items():
        times = {name: [table[name][n] / table[name][4] for n in (1, 2, 3, 4)] for name in names}
        curves = [curve(name, *times[name]) for name in names]
        found = predict(curves, splits(4, 2))
        assert [split.shown for split in found] == ["1-3", "2-2", "3-1"]
        assert [round(split.throughput.value, 2) for split in found] == expected
        assert all(split.throughput.ends is None for split in found), "the table has no intervals"


def test_two_nodes_each_by_hand() -> None:
    """Half the speed each is no gain; one that scales badly gives its half away cheaply."""
    (even,) = predict([curve("a", 2, 1), curve("b", 2, 1)], [(1, 1)])
    assert (even.throughput.value, even.worst.value, even.fairness.value) == (1, 2, 1)
    (odd,) = predict([curve("a", 2, 1, alone_s=30), curve("b", 1.25, 1)], [(1, 1)])
    assert odd.throughput.value == pytest.approx(0.5 + 0.8)
    assert (odd.worst.value, odd.fairness.value) == (2, 0.625)
    assert [one.seconds and one.seconds.value for one in odd.applications] == [60, None]


def test_each_objective_ranks_by_its_own_figure() -> None:
    small, large = curve("small", 1.1, 1.05, 1.0, 1.0), curve("large", 9.0, 4.0, 1.5, 1.0)
    even, odd = curve("even", 1.4, 1.3, 1.2, 1.0), curve("odd", 2.6, 1.2, 1.1, 1.0)
    first = {
        objective: ranked(predict([even, odd], splits(4, 2)), objective)[0].shown
        for objective in get_args(Objective)
    }
    assert first == {"throughput": "1-3", "slowdown": "2-2", "fairness": "2-2"}
    best = ranked(predict([small, large], splits(4, 2)), "slowdown")[0]
    assert best.shown == "1-3", "the one that hardly slows down leaves its nodes to the other"


@pytest.mark.parametrize("seed", range(40))
def test_what_holds_for_every_prediction(seed: int) -> None:
    draw = random.Random(seed)
    units, parts = draw.randint(2, 7), draw.randint(2, 4)
    ways = splits(units, parts) if parts <= units else []
    assert len(ways) == len({*ways})
    assert all(sum(way) == units and min(way) >= 1 and len(way) == parts for way in ways)
    curves = []
    for name in "abcd"[:parts]:
        logs = sorted((draw.uniform(1, 6) for _ in range(units - 1)), reverse=True)
        known = {
            n: Estimate(s, s * draw.uniform(0.7, 1), s * draw.uniform(1, 1.4))
            for n, s in enumerate([*logs, 1.0], 1)
        }
        curves.append(Curve(name, known, draw.uniform(1, 100)))
    found = predict(curves, ways)
    assert len(found) == len(ways)
    for split in found:
        slow = [one.slowdown.value for one in split.applications]
        assert 0 < split.throughput.value <= parts / min(slow) + 1e-9
        assert split.throughput.value >= parts / split.worst.value - 1e-9
        assert 0 < split.fairness.value <= 1
        for figure in (split.throughput, split.worst, split.fairness):
            assert figure.ends is not None
            assert figure.ends[0] - 1e-9 <= figure.value <= figure.ends[1] + 1e-9
        within = [draw.uniform(*(one.slowdown.ends or (1, 1))) for one in split.applications]
        drawn = judged([Estimate(one) for one in within])
        for figure, one in zip((split.throughput, split.worst, split.fairness), drawn, strict=True):
            low, high = figure.ends or (0, 0)
            assert low - 1e-9 <= one.value <= high + 1e-9, "the interval holds what may happen"
    for objective in get_args(Objective):
        order = ranked(found, objective)
        assert sorted(order, key=lambda s: s.units) == sorted(found, key=lambda s: s.units)
        assert ranked(order[::-1], objective) == order, "the order they come in does not matter"


def test_where_memory_may_be_at_its_limit_only_the_high_end_moves() -> None:
    curves = [curve("a", 2, 1), Curve("b", {1: Estimate(1.5, 1.4, 1.6), 2: Estimate(1.0)})]
    (apart,), (beside,) = (predict(curves, [(1, 1)], s) for s in (None, Shared(stretch=1.25)))
    assert [one.slowdown.value for one in apart.applications] == [2, 1.5]
    assert [one.slowdown.ends for one in beside.applications] == [(2, 2.5), (1.4, 2.0)]
    assert predict(curves, [(1, 1)], Shared(stretch=0.8)) == [apart]


def test_on_fewer_nodes_an_application_takes_as_long_as_their_memory_needs() -> None:
    """By hand: 0.9 of four nodes' bandwidth takes two of them 1.8 times as long."""
    hungry, modest = curve("hungry", 3, 1.4, 1.2, 1), curve("modest", 3, 2, 1.5, 1)
    (split,) = predict([hungry, modest], [(2, 2)], Shared(used=(0.9, 0.5)))
    assert [one.slowdown for one in split.applications] == [Estimate(1.8), Estimate(2)]


def test_unbound_loses_what_local_memory_was_worth_and_says_how_uncertain_that_is() -> None:
    curves = [curve("a", 3, 2, 1.5, 1, alone_s=10), curve("b", 3, 2, 1.5, 1)]
    (split,) = predict(curves, [(2, 2)])
    free = unbound(split, 4)
    gain = math.prod([1.15, 1.07, 1.25, 1.13, 1.035]) ** (1 / 5)
    assert [one.slowdown.value for one in free.applications] == pytest.approx([2 * gain] * 2)
    assert free.throughput.value == pytest.approx(1 / gain)
    low, high = free.applications[0].slowdown.ends or (0, 0)
    assert low < 2 * 1.07 and high > 2 * 1.25, "published gains are within"
    assert free.applications[0].seconds is not None
    assert free.applications[0].seconds.value == pytest.approx(20 * gain)
    two = unbound(split, 2).applications[0].slowdown.value
    assert 2 < two < 2 * gain, "half of the memory is remote on two nodes, three quarters on four"


def test_a_split_with_a_share_that_no_curve_has_is_left_out() -> None:
    partial = Curve("a", {2: Estimate(1.5), 4: Estimate(1.0)})
    found = predict([partial, curve("b", 3, 1.5, 1.2, 1)], splits(4, 2))
    assert [split.shown for split in found] == ["2-2"]


def test_what_is_no_split_is_refused_by_name() -> None:
    assert parse_split("1-3", 2, 4) == (1, 3)
    assert parse_split("1-1", 2, 4) == (1, 1), "a part of the machine may stay free"
    for text, parts, units in (("1-2-1", 2, 4), ("two-2", 2, 4), ("-1-3", 2, 4), ("", 2, 4)):
        with pytest.raises(UserError, match=r"--split: .* is not a share for each"):
            parse_split(text, parts, units)
    for text in ("0-4", "3-2"):
        with pytest.raises(UserError, match=f"--split: '{text}' gives . of 4 units"):
            parse_split(text, 2, 4)
    with pytest.raises(UserError, match="3 applications on 2 parts"):
        splits(2, 3)
    with pytest.raises(UserError, match="more than 2000: name one with --split"):
        splits(64, 4)
