"""Which times are doubted, on runs whose disturbance is known; rates: benchmarks/coverage.py."""

import math
import random
from collections.abc import Callable, Sequence

import pytest

from hearth.base.codec import to_json, typed
from hearth.studies.compare.result import ComparisonHead
from hearth.studies.compare.verdict import compared
from hearth.studies.engine.trial import Trial, Turn
from hearth.studies.engine.validity import TimedRun, validity_warnings

#: Of arm, repetition, place in time and random numbers: the factor on an undisturbed time.
Disturbed = Callable[[str, int, int, random.Random], float]


def times(disturbed: Disturbed, repeat: int = 10, seed: int = 1) -> list[TimedRun]:
    draw = random.Random(seed)
    runs: list[TimedRun] = []
    for repetition in range(repeat):
        for arm in draw.sample(("native", "bound"), 2):
            factor = disturbed(arm, repetition, len(runs), draw) * math.exp(draw.gauss(0, 0.02))
            runs.append(TimedRun(arm, repetition, 10 * factor))
    return runs


def kinds(runs: Sequence[TimedRun]) -> list[str]:
    return [warning.kind for warning in validity_warnings(runs, "native")]


def quiet(arm: str, repetition: int, place: int, draw: random.Random) -> float:
    return 0.8 if arm == "bound" else 1.0


def slow_first(arm: str, repetition: int, place: int, draw: random.Random) -> float:
    return 1.3 if repetition == 0 else 1.0


def drift(arm: str, repetition: int, place: int, draw: random.Random) -> float:
    return 1 + 0.02 * place


def outlier(arm: str, repetition: int, place: int, draw: random.Random) -> float:
    return 1.5 if (arm, repetition) == ("bound", 4) else 1.0


def two_groups(arm: str, repetition: int, place: int, draw: random.Random) -> float:
    return 1.3 if arm == "bound" and repetition % 3 == 1 else 1.0


def own_state(arm: str, repetition: int, place: int, draw: random.Random) -> float:
    return 1 + 0.2 * math.sin(repetition / 2) if arm == "bound" else 1.0


@pytest.mark.parametrize(
    ("disturbed", "kind", "remedy"),
    [
        (slow_first, "slow-first", "warm up longer (--warmup"),
        (drift, "drift", "let it settle and repeat"),
        (outlier, "outlier", "repeat on a quiet machine"),
        (two_groups, "two-groups", "compare the report of one of each"),
        (own_state, "own-state", "or repeat another day"),
    ],
)
def test_a_disturbance_is_named_with_its_remedy(
    disturbed: Disturbed, kind: str, remedy: str
) -> None:
    (warning,) = validity_warnings(times(disturbed), "native")
    assert warning.kind == kind
    assert remedy in warning.sentence


def test_an_outlier_is_named_by_its_arm_and_run() -> None:
    (warning,) = validity_warnings(times(outlier), "native")
    assert warning.sentence.startswith("bound took 1")
    assert "in run 5, its median is " in warning.sentence


def test_undisturbed_runs_are_hardly_ever_doubted() -> None:
    doubted = [seed for seed in range(300) if kinds(times(quiet, 8, seed))]
    assert len(doubted) <= 15, "each of five kinds in 1 % of comparisons"


def test_what_changes_no_time_by_a_few_hundredths_is_not_worth_a_warning() -> None:
    def hardly(arm: str, repetition: int, place: int, draw: random.Random) -> float:
        return math.exp(-draw.gauss(0, 0.02)) * (1.02 if repetition == 0 else 1 + 0.0005 * place)

    assert kinds(times(hardly)) == []


@pytest.mark.parametrize("repeat", range(1, 7))
def test_few_runs_are_doubted_only_where_that_can_be_told(repeat: int) -> None:
    assert kinds(times(quiet, repeat)) == []
    assert kinds([TimedRun("native", n, 1.0) for n in range(repeat)]) == []


def test_the_warnings_stand_in_the_document_of_the_comparison_and_equal_times_give_none() -> None:
    head = {"id": "c", "application": "a", "started": "2026-01-01T00:00:00+00:00",
            "baseline": "native", "arms": [{"name": "native"}, {"name": "bound"}],
            "settings": {"warmup": 0, "seed": 1, "cold": False}}  # fmt: skip

    def document(runs: Sequence[TimedRun]) -> list[dict[str, str]]:
        trials = [Trial(Turn("a", r.arm, r.repetition), seconds=r.seconds) for r in runs]
        found: list[dict[str, str]] = to_json(compared(typed(head, ComparisonHead), trials))[
            "warnings"
        ]
        return found

    (warning,) = document(times(drift))
    assert warning["kind"] == "drift"
    assert document([TimedRun(arm, n, 2.0) for n in range(9) for arm in ("native", "bound")]) == []
