"""Top-down below level 1, POWER's events and the kernel's sample, from files of `perf stat -j` and
/proc whose answer is known by arithmetic, as far as the questions that show them."""

import json
from pathlib import Path
from typing import Any

import pytest
from made_record import make_record, write

from hearth.analysis.analysis import analyse
from hearth.analysis.document import Analysis
from hearth.base.codec import to_json
from hearth.record.counters import PERF_METRICS, peak_bandwidth
from hearth.record.probes.base import Roots, SampledProcess
from hearth.record.probes.counters import CountersProbe
from hearth.studies.characterise.answers import answered
from hearth.studies.compare.result import ComparisonHead, ComparisonSettings, ListedArm
from hearth.studies.compare.verdict import compared
from hearth.studies.engine.measures import measured
from support import a_trial, fake_perf, probed, program, validate

ARM = "memory share of the back end's stalls"
#: A second of an Ivy Bridge, 1,000 cycles, so that a count is a share in thousandths.
IVY_BRIDGE = {
    "cycles": 1000, "instructions": 1500,
    "mem_load_uops_llc_miss_retired.local_dram": 1, "mem_load_uops_llc_miss_retired.remote_dram": 3,
    "mem_load_uops_retired.l1_miss": 10, "mem_load_uops_retired.l2_hit": 5,
}  # fmt: skip
OF_PERF = {"tma_fetch_latency": 0.15, "tma_dram_bound": 0.05}
OF_IVY_BRIDGE = {
    "front_end_latency": 0.15, "dram_bound": 0.05, "local_dram_bound": 0.13,
    "remote_dram_bound": 0.93, "l1_miss_impact": 0.06, "l2_hit_impact": 0.06,
    "instructions_per_cycle": 1.5, "remote_loads": 0.75,
}  # fmt: skip
SAPPHIRE_RAPIDS = {
    "slots": 1000, "topdown-retiring": 300, "topdown-bad-spec": 100, "topdown-fe-bound": 150,
    "topdown-be-bound": 450, "topdown-mem-bound": 250,
}  # fmt: skip
OF_SAPPHIRE_RAPIDS = {
    "retiring": 0.3, "bad_speculation": 0.1, "front_end_bound": 0.15, "back_end_bound": 0.45,
    "memory_bound": 0.25, "core_bound": 0.2,
}  # fmt: skip
#: A chip's own memory answers 6 of 10, another chip of the node 3, another node 1.
POWER8 = {
    "cycles": 1000, "instructions": 500, "pm_data_from_lmem": 600, "pm_data_from_rmem": 300,
    "pm_data_from_dmem": 100,
}  # fmt: skip
OF_POWER8 = {"remote_loads": 0.4, "instructions_per_cycle": 0.5}


def perf_json(events: dict[str, float], of_perf: dict[str, float]) -> list[str]:
    """An interval as `perf stat -I 1000 -j` writes it; its own metrics in per cent."""
    running = {"interval": 1.0, "event-runtime": 9, "pcnt-running": 100.0}
    lines = [{**running, "counter-value": f"{value:.6f}", "unit": "", "event": event}
             for event, value in events.items()]  # fmt: skip
    lines += [{"interval": 1.0, "metric-value": str(100 * value), "metric-unit": f"%  {name}"}
              for name, value in of_perf.items()]  # fmt: skip
    return [json.dumps(line) for line in lines]


def recorded(tmp_path: Path, events: dict[str, float], of_perf: dict[str, float]) -> Analysis:
    """The analysis of a run of which a perf that says this is the only witness."""
    tmp_path.mkdir(exist_ok=True)
    perf = fake_perf(tmp_path, perf_json(events, of_perf), "sleep 30")
    probe = CountersProbe(Roots(), perf=perf)
    probe.use(list(events), "TopdownL1,TopdownL2,TopdownL3,TopdownL4")
    found = probed(probe, SampledProcess(7, 1, "executor"), len(events) + len(of_perf))
    make_record(tmp_path / "run")
    write(tmp_path / "run/samples/counters.jsonl", [{"t": 1.0, **row} for _, row in found])
    return analyse(tmp_path / "run")


def shares(analysis: Analysis) -> dict[str, float]:
    total = to_json(analysis.metrics)["total"]
    return {name: one["value"] for name, one in total.items() if "value" in one}


@pytest.mark.parametrize(
    ("events", "of_perf", "expected"),
    [
        (IVY_BRIDGE, OF_PERF, OF_IVY_BRIDGE),
        (SAPPHIRE_RAPIDS, {}, OF_SAPPHIRE_RAPIDS),
        (POWER8, {}, OF_POWER8),
    ],
    ids=["Ivy Bridge", "Sapphire Rapids", "POWER8"],
)
def test_levels_2_to_4_table_v_and_the_formulas_are_what_a_file_of_perf_says(
    tmp_path: Path,
    events: dict[str, float],
    of_perf: dict[str, float],
    expected: dict[str, float],
) -> None:
    analysis = recorded(tmp_path, events, of_perf)
    validate("analysis", json.loads(json.dumps(to_json(analysis))))
    assert shares(analysis) == pytest.approx(expected)


@pytest.mark.parametrize("vendor", [0, -1], ids=["Intel", "AMD"])
def test_perfs_own_metrics_of_every_level_are_taken_as_they_are(
    tmp_path: Path, vendor: int
) -> None:
    named = {name: names[vendor] for name, names in PERF_METRICS.items()
             if name not in ("smt_contention", ARM)}  # fmt: skip
    if vendor:
        named = {name: one for name, one in named.items() if not one.startswith("tma_")}
    told = {one: (place + 1) / 100 for place, one in enumerate(named.values())}
    analysis = recorded(tmp_path, {"cycles": 1000}, told)
    assert shares(analysis) == pytest.approx({name: told[one] for name, one in named.items()})
    total = to_json(analysis.metrics)["total"]
    units = {name: total[name]["unit"] for name in ("dram_bound", "memory_bound") if name in named}
    of_cycles = {"dram_bound": "share of cycles"} if "dram_bound" in named else {}
    assert units == {"memory_bound": "share of slots", **of_cycles}


def test_runs_of_a_study_count_levels_3_and_4_and_others_do_not(tmp_path: Path) -> None:
    perf = program(
        tmp_path / "perf",
        "case \"$*\" in *-M*TopdownL4*) echo '1.0,,,,,,40.0,%  tma_retiring' >&2;;"
        " *-M*) echo '1.0,,,,,,40.0,%  tma_retiring' >&2;; *) echo 1.0,5,,cycles,9,100.00,, >&2;;"
        " esac",
    )
    deep = CountersProbe(Roots(), perf=str(perf), deep=True)
    assert deep.metric_group == "TopdownL1,TopdownL2,TopdownL3,TopdownL4"
    assert CountersProbe(Roots(), perf=str(perf)).metric_group == "TopdownL1,TopdownL2"


def asked(key: str, ways: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The answer to a question from runs of 10 s with these measures."""
    first = next(iter(ways))
    head = ComparisonHead("x", "a", "2026-01-01", first, [ListedArm(name) for name in ways],
                          ComparisonSettings(warmup=0, seed=1))  # fmt: skip
    stream = {"processing_ms": {"median": 1.0}, "scheduling_delay_ms": {}, "unsent": 0,
              "kept_up": True, "events_processed": 9}  # fmt: skip
    trials = []
    for name, of in ways.items():
        known = {name: value for name, value in of.items() if isinstance(value, int | float)}
        line = {"arm": name, "repetition": 0, "seconds": 10.0, "measures": known}
        line |= {"streaming": stream} if key == "rates" else {}
        trials.append(a_trial(line))
    return dict(to_json(answered(key, compared(head, trials), trials)))


@pytest.mark.parametrize("key", ["kinds", "rates", "memory", "smt", "prefetchers"])
def test_the_studys_questions_show_what_was_counted_of_each_way(tmp_path: Path, key: str) -> None:
    names = ("100/s", "1000/s") if key == "rates" else ("one", "other")
    ways = {
        name: measured(recorded(tmp_path / name.partition("/")[0], events, of_perf), 2)
        for name, events, of_perf in zip(names, (IVY_BRIDGE, POWER8), (OF_PERF, {}), strict=True)
    }
    told = {row["measure"]: row["ways"] for row in asked(key, ways)["counted"]}
    assert told["share of slots: front-end latency"] == {names[0]: "15.0%"}
    assert told["share of cycles: DRAM"] == {names[0]: "5.0%"}
    assert told["share of cycles: remote DRAM (formula 2)"] == {names[0]: "93.0%"}
    assert told["loads from memory that another node answered"] == {
        names[0]: "75.0%", names[1]: "40.0%",
    }  # fmt: skip


def test_without_counters_the_kernels_hint_faults_are_a_sample_and_named_as_one(
    tmp_path: Path,
) -> None:
    make_record(tmp_path / "run", probes=[{"name": "counters", "status": "absent",
                                           "reason": "perf is not installed"}])  # fmt: skip
    grown = [{"t": float(t), "cpu": {"0": [t * 100, 0, 0, 0, 0, 0, 0, 0]},
              "vmstat": {"numa_hint_faults": 5 + 4 * t, "numa_hint_faults_local": 1 + t}}
             for t in range(3)]  # fmt: skip
    write(tmp_path / "run/samples/system.jsonl", grown)
    found = measured(analyse(tmp_path / "run"), 1)
    assert found["remote_hint_faults"] == pytest.approx(0.75)
    (row,) = asked("memory", {"local": found, "remote": found})["counted"]
    assert row["ways"] == {"local": "75.0%", "remote": "75.0%"}
    assert "sampled by the kernel's NUMA balancing on the whole machine" in row["measure"]


def test_counters_are_preferred_to_the_kernels_sample(tmp_path: Path) -> None:
    assert "remote_hint_faults" not in measured(recorded(tmp_path, POWER8, {}), 1)


def test_the_peak_of_a_socket_is_the_studys_and_slower_memory_is_told_by_its_formula() -> None:
    assert peak_bandwidth(1866, 4) == pytest.approx(59.7, abs=0.02)
    with pytest.raises(ValueError, match="channels"):
        peak_bandwidth(1866, 0)
