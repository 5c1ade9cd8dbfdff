"""What runs of known times and measures say."""

from typing import Any

import pytest

from hearth.base.codec import to_json
from hearth.studies.characterise.answers import answered
from hearth.studies.compare.result import ComparisonHead, ComparisonSettings, ListedArm
from hearth.studies.compare.verdict import compared
from hearth.studies.engine.loss_classes import loss_class
from support import a_trial

_ABSENT = {"absent": "perf is not installed"}


def answer(key: str, times: dict[str, list[float]], **more: Any) -> dict[str, Any]:
    """The answer, from the seconds of each arm; `more`: measures or streams by arm."""
    measures, further = more.get("measures", {}), more.get("streams", {})
    runs = [
        {"arm": name, "repetition": n, "seconds": s, "measures": measures.get(name, {}),
         **further.get(name, {})}
        for name, seconds in times.items() for n, s in enumerate(seconds)
    ]  # fmt: skip
    runs += more.get("failed", [])
    arms = [*times, *(run["arm"] for run in more.get("failed", []))]
    settings = ComparisonSettings(warmup=0, seed=1, sustained_gb_s=more.get("sustained"))
    head = ComparisonHead(
        "x", "a", "2026-01-01", arms[0], [ListedArm(arm) for arm in arms], settings
    )
    trials = [a_trial(run) for run in runs]
    return dict(to_json(answered(key, compared(head, trials), trials)))


def test_executors_are_told_with_their_interval_and_what_moved() -> None:
    gc = {"1x4": {"gc_share": 0.30}, "2x2": {"gc_share": 0.10}}
    times = {"1x4": [10.0, 10.1, 9.9, 10.2, 10.0], "2x2": [7.0, 7.1, 6.9, 7.0, 7.0]}
    found = answer("executors", times, measures=gc)
    assert found["sentence"].startswith("2x2 has the smallest median, 7.00 s: 2x2 is 30% faster")
    assert "95% interval" in found["sentence"]
    assert found["why"] == ["GC share of task time fell from 30.0% to 10.0% (1x4 to 2x2)"]


def test_three_runs_of_each_are_too_few_to_say_which_measure_moved() -> None:
    # Of equal ways three runs lie apart in one case of ten.
    gc = {"1x4": {"gc_share": 0.30}, "2x2": {"gc_share": 0.10}}
    found = answer("executors", {"1x4": [10.0, 10.1, 9.9], "2x2": [7.0, 7.1, 6.9]}, measures=gc)
    assert found["why"] == []


def test_cores_tell_the_speed_up_of_one_jvm_and_what_their_time_went_to() -> None:
    shares = {"user_share": 0.7, "system_share": 0.05, "idle_share": 0.25}
    times = {"1 core": [12.0], "2 cores": [8.0], "4 cores": [6.0]}
    found = answer("cores", times, measures={"2 cores": shares})
    assert found["sentence"] == (
        "One JVM, to its speed on 1 core (12.00 s): 1.50 times as fast on 2 cores, 2.00 times as "
        "fast on 4 cores."
    )
    assert found["why"] == ["2 cores: user 70.0%, system 5.0%, left idle 25.0%"]


def test_a_way_that_failed_is_named_and_the_others_still_answer() -> None:
    lost = {"arm": "node 8", "repetition": 0, "failure": "ended with 137"}
    found = answer("memory", {"local": [5.0]}, failed=[lost])
    assert found["sentence"].startswith("local has the smallest median, 5.00 s")
    assert found["why"] == ["node 8 failed: ended with 137"]


def test_a_question_of_which_nothing_finished_has_no_answer() -> None:
    lost = {"arm": "1x2", "repetition": 0, "failure": "ended with 1"}
    assert answer("sweep", {}, failed=[lost]) == {
        "sentence": "No run finished, so there is no answer.", "why": ["1x2 failed: ended with 1"],
    }  # fmt: skip


def test_a_sweep_has_a_cell_and_a_class_for_each_configuration() -> None:
    use = {name: {"cpu_use": share} for name, share in (("2x4", 0.9), ("1x2", 0.4), ("4x2", 0.9))}
    times = {"1x2": [20.0], "2x4": [10.0], "4x2": [10.9]}
    found = answer("sweep", times, measures=use)
    assert [(c["executors"], c["cores"], c["class"]) for c in found["cells"]] == [
        (1, 2, "low CPU use"), (2, 4, "best"), (4, 2, "within 10 % of best"),
    ]  # fmt: skip
    assert "1 of 2 others are within 10 %" in found["sentence"]
    assert found["why"] == [
        "not measured, so no configuration is classified as: high CPI and context switches, "
        "high L3 misses, low memory bandwidth"
    ]


def test_threads_are_judged_by_the_studys_formula() -> None:
    # Half the cores: 10 s; their second threads make it 8 s (1.25x), twice the cores 5 s (2x).
    times = {"one thread": [5.0], "all threads": [4.0], "half the cores": [10.0],
             "half the cores, all threads": [8.0]}  # fmt: skip
    found = answer("smt", {name: 3 * seconds for name, seconds in times.items()})
    assert found["scaling"]["smt_scaling"] == pytest.approx(1.25)
    assert found["scaling"]["dp_scaling"] == pytest.approx(2.0)
    assert found["scaling"]["effectiveness"] == pytest.approx(1.25 * (0.538 + 0.231))
    assert "more threads per core do not pay" in found["sentence"]
    once = answer("smt", times)
    assert "whether more threads per core pay is undecided" in once["sentence"]
    assert "scaling" not in answer("smt", {"one thread": [5.0], "all threads": [4.0]})


def test_a_ladder_of_cores_tells_the_effectiveness_on_two_as_the_study_does_and_on_others() -> None:
    times = {"1x1": [20.0], "1x2": [12.5], "2x1": [10.0], "2x2": [8.0], "4x1": [5.0]}
    found = answer("smt", times)
    assert "On 2 cores all threads scale by 1.25, twice the cores by 2.00" in found["sentence"]
    assert found["scaling"]["effectiveness"] == pytest.approx(1.25 * (0.538 + 0.231))
    assert found["why"][0] == "on 1 core effectiveness 1.23: all threads scale by 1.60"


def test_nodes_are_told_as_speed_ups_of_bound_over_unbound() -> None:
    times = {"1NB 1x4": [10.0], "1B 1x4": [8.0], "2NB 2x4": [6.0], "2B 2x4": [6.0]}
    found = answer("nodes", times)
    assert "1 node: 1.25x, 2 nodes: 1.00x" in found["sentence"]
    times = {"1NB 1x4": [10.0, 11.0, 10.0], "1B 1x4": [8.0, 8.1, 8.2]}
    assert "1 node: 1.27x (95% interval 1.11 to 1.47)" in answer("nodes", times)["sentence"]


def test_of_a_search_the_best_bound_stands_against_the_best_unbound_and_nodes_against_theory() -> (
    None
):
    times = {"1NB 1x4": [12.0], "1B 1x4": [9.0], "1NB 2x2": [10.0], "1B 2x2": [11.0],
             "2NB 2x4": [6.0], "2B 2x4": [7.0], "2NB 4x2": [8.0], "2B 4x2": [5.0]}  # fmt: skip
    found = answer("nodes", times)
    assert found["sentence"] == (
        "Speed-up of bound over unbound, the best of 8 configurations, of 1 pairs: "
        "1 node: 1.11x (1B 1x4 to 1NB 2x2), 2 nodes: 1.20x (2B 4x2 to 2NB 2x4)."
    )
    assert found["why"][:2] == [
        "the best were chosen by the runs that compare them: no interval",
        "2 nodes instead of 1, bound: 1.80x, in theory 2.00x",
    ]


@pytest.mark.parametrize(
    ("used", "words"),
    [(20.0, "20% of the 100.0 GB/s that this machine sustains: the region of constant latency"),
     (60.0, "the region of linear latency"), (90.0, "the region of exponential latency")],
)  # fmt: skip
def test_bandwidth_is_a_share_of_what_the_machine_sustains_in_a_region(
    used: float, words: str
) -> None:
    measures = {"planned": {"bandwidth_gb_s": used}}
    found = answer("bandwidth", {"planned": [5.0]}, measures=measures, sustained=100.0)
    assert words in found["sentence"]


def test_what_the_cores_wait_for_is_where_their_slots_went() -> None:
    measures = {"planned": {"retiring": 0.4, "back_end_bound": 0.5, "instructions_per_cycle": 1.2}}
    found = answer("slots", {"planned": [5.0]}, measures=measures)
    assert found["sentence"] == (
        "Of the cores' slots: retiring 40.0%, back end 50.0%; 1.20 instructions per cycle."
    )
    silent = answer("slots", {"planned": [5.0]}, measures={"planned": {"retiring": _ABSENT}})
    assert silent["sentence"] == "Of the cores' slots: not counted."


def test_bandwidth_that_was_not_measured_is_no_zero() -> None:
    measures = {"planned": {"bandwidth_gb_s": _ABSENT}}
    found = answer("bandwidth", {"planned": [5.0]}, measures=measures, sustained=100.0)
    assert found["sentence"] == "The bandwidth was not measured: perf is not installed."


def test_batch_and_streaming_are_held_side_by_side_by_what_does_not_grow_with_time() -> None:
    measures = {
        "batch": {"gc_share": 0.1, "cpu_s": 100.0, "cpi": 1.5},
        "streaming": {"gc_share": 0.2, "cpu_s": 10.0, "cpi": _ABSENT},
    }
    found = answer("kinds", {"batch": [9.0], "streaming": [0.1]}, measures=measures)
    assert found["sides"] == [
        {"measure": "GC share of task time", "batch": "10.0%", "streaming": "20.0%"}
    ]


def test_rates_tell_the_time_of_a_batch_and_up_to_where_it_kept_up() -> None:
    def stream(median: float, kept_up: bool, delay: dict[str, float]) -> dict[str, Any]:
        streaming = {
            "processing_ms": {"median": median},
            "scheduling_delay_ms": delay,
            "unsent": 0 if kept_up else 7,
            "kept_up": kept_up,
            "events_processed": 9,
        }
        return {"streaming": streaming}

    streams = {"10/s": stream(50.0, True, {}), "10000/s": stream(1500.0, False, {"max": 900.0})}
    found = answer("rates", {"10/s": [0.05], "10000/s": [1.5]}, streams=streams)
    assert "50 ms at 10/s, 1500 ms at 10,000/s" in found["sentence"]
    assert "kept up at 10 events/s" in found["sentence"]
    assert found["streams"][1] == {
        "rate": 10_000, "processing_ms": 1500.0, "delay_ms": 900.0, "unsent": 7, "kept_up": False,
    }  # fmt: skip


BEST = {"cpu_use": 0.9, "cpi": 1.0, "voluntary": 900, "involuntary": 100, "cpu_s": 100.0,
        "l3_misses": 2.0, "bandwidth_gb_s": 80.0}  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "changed", "kind"),
    [
        (10.0, {}, "best"),
        (10.9, {"cpu_use": 0.1}, "within 10 % of best"),
        (20.0, {"cpu_use": 0.5}, "low CPU use"),
        (20.0, {"cpi": 1.5, "voluntary": 2000}, "high CPI and context switches"),
        (20.0, {"cpi": 1.5, "l3_misses": 3.0}, "high L3 misses"),
        (20.0, {"bandwidth_gb_s": 30.0}, "low memory bandwidth"),
        (20.0, {}, "unexplained"),
        (20.0, {"cpi": _ABSENT, "l3_misses": _ABSENT, "voluntary": 2000}, "unexplained"),
    ],
)  # fmt: skip
def test_a_losing_configuration_is_put_into_its_class(
    seconds: float, changed: dict[str, Any], kind: str
) -> None:
    assert loss_class(seconds, {**BEST, **changed}, 10.0, BEST) == kind
