"""The statistics of comparisons, on numbers whose answer is known by arithmetic."""

import pytest

from hearth.bench.statistics import Spread, paired_ratio


def test_the_spread_is_the_median_and_the_two_ends() -> None:
    assert Spread.of([3.0, 1.0, 2.0, 10.0]) == Spread(2.5, 1.0, 10.0, 4)


def test_no_spread_is_made_up_of_nothing() -> None:
    with pytest.raises(ValueError, match="no value was measured"):
        Spread.of([])


def test_a_side_that_always_takes_twice_as_long_has_ratio_two_and_no_doubt() -> None:
    ratio = paired_ratio([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    assert ratio.value == 2.0
    assert ratio.interval == (2.0, 2.0)
    assert ratio.is_certain


def test_the_interval_is_that_of_all_draws_of_pairs() -> None:
    # Of 27 draws of three pairs, 7 hold the slow one at least twice: their median is 4, else 1.
    ratio = paired_ratio([1.0, 1.0, 4.0], [1.0, 1.0, 1.0])
    assert ratio.value == 1.0
    assert ratio.interval == (1.0, 4.0)
    assert not ratio.is_certain


def test_what_disturbs_both_sides_of_a_pair_does_not_widen_the_interval() -> None:
    # The machine was three times slower in the last pairs; the ratio never changed.
    base = [1.0, 1.0, 1.0, 3.0, 3.0]
    assert paired_ratio([0.5 * second for second in base], base).interval == (0.5, 0.5)


def test_an_interval_on_both_sides_of_one_decides_nothing() -> None:
    ratio = paired_ratio([0.9, 1.2, 1.0, 1.1], [1.0, 1.0, 1.0, 1.0])
    assert ratio.interval is not None
    assert ratio.interval[0] < 1.0 < ratio.interval[1]
    assert not ratio.is_certain


def test_two_pairs_have_a_ratio_and_no_interval() -> None:
    assert paired_ratio([3.0, 3.0], [2.0, 2.0]).interval is None
    assert not paired_ratio([3.0, 3.0], [2.0, 2.0]).is_certain


def test_the_same_values_give_the_same_interval_again() -> None:
    values, base = [1.1, 0.9, 1.3, 1.0, 1.2], [1.0, 1.1, 0.9, 1.0, 1.2]
    assert paired_ratio(values, base) == paired_ratio(values, base)


@pytest.mark.parametrize(
    ("values", "base"), [([1.0], [1.0, 2.0]), ([], []), ([1.0], [0.0]), ([1.0, 2.0], [1.0, -1.0])]
)
def test_what_are_no_pairs_is_refused(values: list[float], base: list[float]) -> None:
    with pytest.raises(ValueError, match=r"no pairs|says nothing"):
        paired_ratio(values, base)
