"""What a comparison takes from an analysis, on one whose numbers are known."""

from dataclasses import replace

import pytest

from hearth.analysis.document import (
    Analysis,
    Bandwidth,
    Counted,
    Executor,
    Metric,
    Metrics,
    NodeBandwidth,
    Use,
)
from hearth.base.absent import Absent, Measured
from hearth.record.schema import End
from hearth.studies.engine.measures import measured, whole_cpu
from pages import constructed

_ABSENT = Absent("it was never sampled")
_WHOLE = constructed.analysis()


def executor(name: str, use: Measured[Use], local: float | None) -> Executor:
    share = _ABSENT if local is None else local
    return replace(_WHOLE.executors[0], id=name, use=use, local_share=share)


def use(user: float, voluntary: int | None) -> Use:
    known = _WHOLE.executors[0].use
    assert not isinstance(known, Absent)
    return replace(known, cpu_s=user + 1.0, voluntary=voluntary, involuntary=7, rss_max_mb=1536)


def analysis(
    executors: list[Executor],
    counters: Measured[dict[str, dict[str, Measured[Counted]]]] = _ABSENT,
    bandwidth: Measured[Bandwidth] = _ABSENT,
    metrics: Measured[Metrics] = _ABSENT,
) -> Analysis:
    totals = _WHOLE.totals
    assert not isinstance(totals, Absent)
    return replace(
        _WHOLE,
        executors=executors,
        totals=replace(totals, time=replace(totals.time, duration=2000, gc=500)),
        counters=counters,
        record=replace(_WHOLE.record, wall_s=8.0),
        timeline=replace(_WHOLE.timeline, bandwidth=bandwidth),
        metrics=metrics,
    )


def counted(**values: float) -> dict[str, Measured[Counted]]:
    return {name.replace("_", "-"): Counted(value, "", 1, 1.0) for name, value in values.items()}


def test_times_and_switches_are_summed_and_shares_averaged_over_jvms() -> None:
    both = [executor("1", use(10.0, 100), 0.9), executor("2", use(20.0, 50), 0.5)]
    found = measured(analysis(both), cpus=8)
    assert found["gc_share"] == 0.25
    assert found["cpu_s"] == 32.0
    assert found["cpu_use"] == 32.0 / (8.0 * 8)
    assert found["voluntary"] == 150
    assert found["involuntary"] == 14
    assert found["remote_share"] == pytest.approx(0.3)
    assert found["memory_gb"] == 3.0


def test_page_faults_are_summed_over_jvms_and_tlb_misses_are_told_per_thousand_instructions() -> (
    None
):
    faulting = replace(use(1.0, 1), minor_faults=500.0, major_faults=3.0)
    both = [executor("1", faulting, 0.9), executor("2", faulting, 0.9)]
    events = {**counted(instructions=10_000.0), **counted(dTLB_load_misses=20.0)}
    found = measured(analysis(both, {"1": events}), cpus=2)
    assert (found["minor_faults"], found["major_faults"]) == (1000.0, 6.0)
    assert found["tlb_misses"] == 2.0
    assert measured(analysis(both), 2)["tlb_misses"] == _ABSENT
    assert measured(analysis(both), 2)["remote_loads"] == _ABSENT


def test_the_time_of_the_cpus_that_may_be_used_is_user_system_or_idle() -> None:
    found = whole_cpu(End("finished", 10.0, 12.0, 3.0), cpus=2)
    shares = [found[f"{name}_share"] for name in ("user", "system", "idle")]
    assert shares == pytest.approx([0.6, 0.15, 0.25])
    assert "user_share" not in whole_cpu(End("finished", 10.0, 12.0, 3.0), cpus=None)
    assert isinstance(whole_cpu(None, 2)["cpu_user_s"], Absent)


def test_use_of_the_cpus_is_absent_where_the_machine_was_not_read() -> None:
    found = measured(analysis([executor("1", use(10.0, 100), 0.9)]), cpus=None)
    assert found["cpu_s"] == 11.0
    assert "how many CPUs" in str(found["cpu_use"])


def test_a_jvm_of_which_nothing_is_known_does_not_count_as_zero() -> None:
    one = executor("1", use(10.0, None), 0.9)
    found = measured(analysis([one, executor("2", _ABSENT, None)]), cpus=2)
    assert found["cpu_s"] == 11.0
    assert found["remote_share"] == pytest.approx(0.1)
    assert found["voluntary"] == _ABSENT
    nothing = measured(analysis([executor("2", _ABSENT, None)]), cpus=2)
    assert nothing["cpu_s"] == nothing["cpu_use"] == _ABSENT


def test_cycles_per_instruction_are_those_of_all_processes_together() -> None:
    counters = {
        "1": counted(cycles=300.0, instructions=100.0),
        "2": counted(cycles=100.0, instructions=100.0),
    }
    assert measured(analysis([], counters), 2)["cpi"] == 2.0
    assert measured(analysis([]), 2)["cpi"] == _ABSENT
    one = {"1": {**counted(cycles=300.0), "instructions": _ABSENT}}
    assert isinstance(measured(analysis([], one), 2)["cpi"], Absent)


def test_l3_misses_are_told_per_thousand_instructions() -> None:
    events = {**counted(instructions=10_000.0), **counted(LLC_load_misses=50.0)}
    assert measured(analysis([], {"1": events}), 2)["l3_misses"] == 5.0


def by_node(**gb_s: list[float | None]) -> Bandwidth:
    nodes = {node: NodeBandwidth(rates, _ABSENT, _ABSENT, _ABSENT) for node, rates in gb_s.items()}
    return Bandwidth("resctrl", nodes)


def test_bandwidth_is_the_mean_of_each_node_summed_over_the_machine() -> None:
    both = by_node(**{"0": [10.0, None, 20.0], "8": [5.0, 5.0, 5.0]})
    assert measured(analysis([], bandwidth=both), 2)["bandwidth_gb_s"] == 20.0
    assert measured(analysis([]), 2)["bandwidth_gb_s"] == _ABSENT
    gone = by_node(**{"0": [None, None]})
    assert isinstance(measured(analysis([], bandwidth=gone), 2)["bandwidth_gb_s"], Absent)


def test_the_front_ends_share_is_that_of_all_processes_together() -> None:
    only_front_end = Metrics(
        {"front_end_bound": Metric(0.4, "share", [], None, "high", "a / b", "a paper")}, {}
    )
    assert measured(analysis([], metrics=only_front_end), 2)["front_end"] == 0.4
    not_counted = Metrics({"front_end_bound": _ABSENT}, {})
    assert measured(analysis([], metrics=not_counted), 2)["front_end"] == _ABSENT
    assert measured(analysis([]), 2)["front_end"] == _ABSENT
