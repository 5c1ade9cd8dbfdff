"""What a comparison takes from an analysis, on one whose numbers are known."""

from typing import Any

import pytest

from hearth.studies.engine.measures import measured

_ABSENT = {"absent": "it was never sampled"}


def executor(name: str, use: Any, local: Any) -> dict[str, Any]:
    return {"id": name, "use": use, "memory": {"local_share": local}, "gc": _ABSENT}


def use(user: float, voluntary: int | None) -> dict[str, Any]:
    cpu = {"user": user, "system": 1.0}
    return {"cpu_s": cpu, "voluntary": voluntary, "involuntary": 7}


def analysis(
    executors: list[Any],
    counters: Any = _ABSENT,
    bandwidth: Any = _ABSENT,
    metrics: Any = _ABSENT,
) -> dict[str, Any]:
    totals = {"time": {"run": 2000, "gc": 500}}
    record = {"wall_s": 8.0}
    return {
        "executors": executors, "totals": totals, "counters": counters, "record": record,
        "timeline": {"bandwidth": bandwidth}, "metrics": metrics,
    }  # fmt: skip


def test_times_and_switches_are_summed_and_shares_averaged_over_jvms() -> None:
    both = [executor("1", use(10.0, 100), 0.9), executor("2", use(20.0, 50), 0.5)]
    found = measured(analysis(both), cpus=8)
    assert found["gc_share"] == 0.25
    assert found["cpu_s"] == 32.0
    assert found["cpu_use"] == 32.0 / (8.0 * 8)
    assert found["voluntary"] == 150
    assert found["involuntary"] == 14
    assert found["remote_share"] == pytest.approx(0.3)


def test_use_of_the_cpus_is_absent_where_the_machine_was_not_read() -> None:
    found = measured(analysis([executor("1", use(10.0, 100), 0.9)]), cpus=None)
    assert found["cpu_s"] == 11.0
    assert "how many CPUs" in found["cpu_use"]["absent"]


def test_a_jvm_of_which_nothing_is_known_does_not_count_as_zero() -> None:
    one = executor("1", use(10.0, None), 0.9)
    found = measured(analysis([one, executor("2", _ABSENT, _ABSENT)]), cpus=2)
    assert found["cpu_s"] == 11.0
    assert found["remote_share"] == pytest.approx(0.1)
    assert found["voluntary"] == _ABSENT
    nothing = measured(analysis([executor("2", _ABSENT, _ABSENT)]), cpus=2)
    assert nothing["cpu_s"] == nothing["cpu_use"] == _ABSENT


def test_cycles_per_instruction_are_those_of_all_processes_together() -> None:
    counters = {
        "1": {"cycles": {"value": 300.0}, "instructions": {"value": 100.0}},
        "2": {"cycles": {"value": 100.0}, "instructions": {"value": 100.0}},
    }
    assert measured(analysis([], counters), 2)["cpi"] == 2.0
    assert measured(analysis([]), 2)["cpi"] == _ABSENT
    one = {"1": {"cycles": {"value": 300.0}, "instructions": _ABSENT}}
    assert "absent" in measured(analysis([], one), 2)["cpi"]


def test_l3_misses_are_told_per_thousand_instructions() -> None:
    events = {"LLC-load-misses": {"value": 50.0}, "instructions": {"value": 10_000.0}}
    assert measured(analysis([], {"1": events}), 2)["l3_misses"] == 5.0


def by_node(**gb_s: list[float | None]) -> dict[str, Any]:
    return {"source": "resctrl", "nodes": {node: {"gb_s": rates} for node, rates in gb_s.items()}}


def test_bandwidth_is_the_mean_of_each_node_summed_over_the_machine() -> None:
    both = by_node(**{"0": [10.0, None, 20.0], "8": [5.0, 5.0, 5.0]})
    assert measured(analysis([], bandwidth=both), 2)["bandwidth_gb_s"] == 20.0
    assert measured(analysis([]), 2)["bandwidth_gb_s"] == _ABSENT
    gone = by_node(**{"0": [None, None]})
    assert "absent" in measured(analysis([], bandwidth=gone), 2)["bandwidth_gb_s"]


def test_the_front_ends_share_is_that_of_all_processes_together() -> None:
    only_front_end = {"total": {"front_end_bound": {"value": 0.4}}}
    assert measured(analysis([], metrics=only_front_end), 2)["front_end"] == 0.4
    not_counted = {"total": {"front_end_bound": _ABSENT}}
    assert measured(analysis([], metrics=not_counted), 2)["front_end"] == _ABSENT
    assert measured(analysis([]), 2)["front_end"] == _ABSENT
