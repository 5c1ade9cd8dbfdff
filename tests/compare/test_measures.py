"""What a comparison takes from an analysis, on one whose numbers are known."""

from typing import Any

import pytest

from hearth.bench.comparison import measures

_ABSENT = {"absent": "it was never sampled"}


def executor(name: str, use: Any, local: Any) -> dict[str, Any]:
    return {"id": name, "use": use, "memory": {"local_share": local}, "gc": _ABSENT}


def use(user: float, voluntary: int | None) -> dict[str, Any]:
    cpu = {"user": user, "system": 1.0}
    return {"cpu_s": cpu, "voluntary": voluntary, "involuntary": 7}


def analysis(executors: list[Any], counters: Any = _ABSENT) -> dict[str, Any]:
    totals = {"time": {"run": 2000, "gc": 500}}
    return {"executors": executors, "totals": totals, "counters": counters}


def test_times_and_switches_are_summed_and_shares_averaged_over_jvms() -> None:
    found = measures(
        analysis([executor("1", use(10.0, 100), 0.9), executor("2", use(20.0, 50), 0.5)])
    )
    assert found["gc_share"] == 0.25
    assert found["cpu_s"] == 32.0
    assert found["voluntary"] == 150
    assert found["involuntary"] == 14
    assert found["remote_share"] == pytest.approx(0.3)


def test_a_jvm_of_which_nothing_is_known_does_not_count_as_zero() -> None:
    found = measures(
        analysis([executor("1", use(10.0, None), 0.9), executor("2", _ABSENT, _ABSENT)])
    )
    assert found["cpu_s"] == 11.0
    assert found["remote_share"] == pytest.approx(0.1)
    assert found["voluntary"] == _ABSENT
    assert measures(analysis([executor("2", _ABSENT, _ABSENT)]))["cpu_s"] == _ABSENT


def test_cycles_per_instruction_are_those_of_all_processes_together() -> None:
    counters = {
        "1": {"cycles": {"value": 300.0}, "instructions": {"value": 100.0}},
        "2": {"cycles": {"value": 100.0}, "instructions": {"value": 100.0}},
    }
    assert measures(analysis([], counters))["cpi"] == 2.0
    assert measures(analysis([]))["cpi"] == _ABSENT
    one = {"1": {"cycles": {"value": 300.0}, "instructions": _ABSENT}}
    assert "absent" in measures(analysis([], one))["cpi"]
