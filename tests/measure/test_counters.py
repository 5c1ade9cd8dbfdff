"""perf's output as values; and what the formulas of a study make of numbers."""

import math

import pytest

from hearth.record import counters
from hearth.record.counters import CounterReading, parse_perf_line

CSV = """\
# started on Sat Nov 21 13:00:00 2026

     1.000106792,4000000,,cycles,1000000000,100.00,,
     1.000106792,6000000,,instructions,500000000,50.00,1.50,insn per cycle
     1.000106792,<not counted>,,LLC-load-misses,0,0.00,,
     1.000106792,<not supported>,,node-loads,0,100.00,,
     1.000106792,0.65,msec,task-clock,650031,100.00,0.001,CPUs utilized
     1.0001067"""


def test_perfs_csv_gives_values_shares_and_reasons() -> None:
    readings = [reading for line in CSV.splitlines() if (reading := parse_perf_line(line))]
    assert [(r.event, r.value, r.running_share, r.absent) for r in readings] == [
        ("cycles", 4e6, 1.0, None),
        ("instructions", 6e6, 0.5, None),
        ("LLC-load-misses", None, None, "not counted"),
        ("node-loads", None, None, "not supported"),
        ("task-clock", 0.65, 1.0, None),
    ]
    assert readings[1].metric == ("insn per cycle", 1.5)
    assert readings[0].t == 1.000106792


def test_perfs_json_says_the_same() -> None:
    line = (
        '{"interval" : 2.5, "counter-value" : "123.000000", "unit" : "", "event" : "cycles", '
        '"event-runtime" : 9, "pcnt-running" : 25.00, "metric-value" : 0.4, "metric-unit" : "GHz"}'
    )
    reading = parse_perf_line(line)
    assert reading == CounterReading(2.5, "cycles", 123.0, "", 0.25, None, ("GHz", 0.4))
    absent = parse_perf_line(line.replace("123.000000", "<not counted>"))
    assert absent is not None
    assert (absent.value, absent.absent) == (None, "not counted")
    assert parse_perf_line(line[:40]) is None


def test_a_second_thread_is_worth_less_where_more_cores_gained_less() -> None:
    assert counters.smt_effectiveness(1.4, 2.0) == pytest.approx(1.4 * 0.769)
    assert counters.smt_effectiveness(1.0, 1.0) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("used", "region"),
    [(0, "constant"), (39.9, "constant"), (40, "linear"), (80, "linear"), (80.1, "exponential")],
)
def test_bandwidth_lies_in_the_region_of_the_study(used: float, region: str) -> None:
    assert counters.bandwidth_region(used, 100) == region


def test_a_region_without_sustained_bandwidth_is_refused() -> None:
    for used, sustained in ((1, 0), (math.inf, 5)):
        with pytest.raises(ValueError, match="no sustained bandwidth"):
            counters.bandwidth_region(used, sustained)
