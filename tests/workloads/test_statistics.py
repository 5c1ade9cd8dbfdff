"""The statistics of comparisons, on numbers whose answer is known by arithmetic."""

import math
from typing import Any

import numpy as np
import pytest
from results import ratio_of_totals
from scipy import stats

from hearth.studies.engine.statistics import (
    LOOKS,
    against,
    each_confidence,
    intervals,
    needed,
    paired_ratio,
    reached,
    uses_ranks,
)


def test_a_side_that_always_takes_twice_as_long_has_ratio_two_and_no_doubt() -> None:
    ratio = paired_ratio([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    assert ratio.value == pytest.approx(2.0)
    assert ratio.interval == pytest.approx((2.0, 2.0))
    assert ratio.is_certain


def test_of_few_pairs_the_interval_is_students_on_the_logarithms_of_their_ratios() -> None:
    values, base = [1.1, 0.9, 1.3, 1.0, 1.2], [1.0, 1.1, 0.9, 1.0, 1.2]
    logs = np.log(np.array(values) / np.array(base))
    known = stats.ttest_1samp(logs, 0).confidence_interval(0.95)
    ratio = paired_ratio(values, base)
    assert ratio.interval == pytest.approx((math.exp(known.low), math.exp(known.high)))
    assert ratio.value == pytest.approx(math.exp(logs.mean()))


def test_three_equal_pairs_with_one_slow_run_show_nothing() -> None:
    # A bootstrap of three pairs called such an arm slower: [1.01, 1.3] is all it can draw.
    ratio = paired_ratio([1.01, 1.02, 1.3], [1.0, 1.0, 1.0])
    assert against(ratio) == "undecided"


@pytest.mark.parametrize("confidence", [0.9, 0.95])
@pytest.mark.parametrize("pairs", [10, 13, 20])
def test_of_more_pairs_the_interval_is_where_the_signed_rank_test_turns(
    pairs: int, confidence: float
) -> None:
    logs = np.random.default_rng(pairs).standard_t(2, pairs) + 0.4
    middle, low, high = intervals(logs, confidence)
    assert low < middle < high

    def chance(shift: Any) -> float:
        return float(stats.wilcoxon(logs - shift, method="exact").pvalue)

    # Levels of ranks are steps: an end lies between the two steps around the error.
    step = 0.02 * (high - low)
    for end, outwards in ((low, -step), (high, step)):
        assert chance(end + 8 * outwards) <= 1 - confidence <= chance(end - 8 * outwards)


def test_one_run_that_was_disturbed_hardly_moves_ranks() -> None:
    base = [1.0 + 0.01 * n for n in range(12)]
    quiet = [0.9 * second * (1 + 0.003 * (n % 5)) for n, second in enumerate(base)]
    disturbed = [*quiet[:-1], 5 * quiet[-1]]
    (_, high), (_, worse) = (paired_ratio(v, base).interval or (0, 0) for v in (quiet, disturbed))
    assert against(paired_ratio(disturbed, base)) == "faster"
    assert worse < high + 0.01


def test_ranks_are_used_where_their_steps_are_fine_enough_for_the_confidence() -> None:
    first = {c: next(n for n in range(3, 40) if uses_ranks(n, c)) for c in (0.95, 0.975, 0.99)}
    assert first == {0.95: 9, 0.975: 10, 0.99: 11}


def test_several_arms_share_the_error_and_looks_spend_it() -> None:
    assert each_confidence(0.95, 1) == 0.95
    assert each_confidence(0.95, 5) == pytest.approx(0.99)
    # Pocock's constant for five equal looks is 2.413 (Jennison and Turnbull 2000, table 2.1).
    error = 1 - each_confidence(0.95, 1, (1, 2, 3, 4, 5))
    assert stats.norm.isf(error / 2) == pytest.approx(2.413, abs=0.003)
    assert each_confidence(0.95, 2, LOOKS) > each_confidence(0.95, 1, LOOKS) > 0.98


def test_of_a_comparison_that_stops_by_its_result_the_pairs_up_to_a_look_count() -> None:
    assert [reached(LOOKS, pairs) for pairs in (4, 5, 6, 29, 31)] == [0, 5, 5, 20, 30]
    assert reached((), 6) == 6


def test_how_many_pairs_are_needed_goes_with_the_square_of_the_interval() -> None:
    assert needed((1 / 1.1, 1.1), 8, 0.05) == 31
    assert needed((0.99, 1.01), 5, 0.05) == 3


def test_a_ratio_of_totals_weighs_long_pairs_more_and_has_no_doubt_where_all_are_alike() -> None:
    assert ratio_of_totals([2.0, 20.0, 4.0], [1.0, 10.0, 2.0]).interval == (2.0, 2.0)
    ratio = ratio_of_totals([2.0, 10.0, 2.0], [1.0, 10.0, 2.0])
    assert ratio.value == pytest.approx(14 / 13)
    assert ratio.interval is not None and ratio.interval[0] < 1 < ratio.interval[1]
    assert ratio_of_totals([2.0, 2.0], [1.0, 1.0]).interval is None


def test_what_disturbs_both_sides_of_a_pair_does_not_widen_the_interval() -> None:
    # The machine was three times slower in the last pairs; the ratio never changed.
    base = [1.0, 1.0, 1.0, 3.0, 3.0]
    assert paired_ratio([0.5 * second for second in base], base).interval == pytest.approx(
        (0.5, 0.5)
    )


def test_times_of_a_damaged_file_have_a_ratio_too() -> None:
    ratio = paired_ratio([1e-300, 1e300, 1.0], [1.0, 1e-300, 1.0])
    assert ratio.interval is not None and all(map(math.isfinite, ratio.interval))


def test_an_interval_on_both_sides_of_one_decides_nothing() -> None:
    ratio = paired_ratio([0.9, 1.2, 1.0, 1.1], [1.0, 1.0, 1.0, 1.0])
    assert ratio.interval is not None
    assert ratio.interval[0] < 1.0 < ratio.interval[1]
    assert not ratio.is_certain


def test_two_pairs_have_a_ratio_and_no_interval() -> None:
    assert paired_ratio([3.0, 3.0], [2.0, 2.0]).interval is None
    assert not paired_ratio([3.0, 3.0], [2.0, 2.0]).is_certain


@pytest.mark.parametrize(
    ("values", "base"), [([1.0], [1.0, 2.0]), ([], []), ([1.0], [0.0]), ([1.0, 2.0], [1.0, -1.0])]
)
def test_what_are_no_pairs_is_refused(values: list[float], base: list[float]) -> None:
    with pytest.raises(ValueError, match=r"not pairs|says nothing"):
        paired_ratio(values, base)
