"""Top-down and the study's formulas, from counter files whose answer is known by arithmetic."""

import json
from pathlib import Path
from typing import Any

import pytest
from made_record import make_record, write

from hearth.analysis import metrics
from hearth.analysis.analysis import analyse
from hearth.analysis.counter_samples import Count
from hearth.analysis.document import Analysis
from hearth.base.absent import Absent
from hearth.base.codec import to_json
from hearth.record.counters import parse_perf_line, topdown_metric
from hearth.record.probes.base import Roots, SampledProcess
from hearth.record.probes.counters import CountersProbe
from hearth.record.store import read_record
from hearth.report.html.processor import processor_view
from hearth.studies.engine.measures import measures
from support import fake_perf, probed, program, validate

#: Of one second: 10 % of the cycles for local and 20 % for remote DRAM by Awan's latencies.
IVY_BRIDGE = {
    "cycles": 1_300_000_000.0,
    "instructions": 1_950_000_000.0,
    "mem_load_uops_llc_miss_retired.local_dram": 1_000_000.0,
    "mem_load_uops_llc_miss_retired.remote_dram": 838_709.677,
    "mem_load_uops_retired.l1_miss": 65_000_000.0,
    "mem_load_uops_retired.l2_hit": 26_000_000.0,
}
SLOTS = {"slots": 1000.0, "topdown-retiring": 300.0, "topdown-bad-spec": 100.0,
         "topdown-fe-bound": 150.0, "topdown-mem-bound": 250.0}  # fmt: skip
UOPS = {"cycles": 250.0, "uops_issued.any": 420.0, "uops_retired.retire_slots": 400.0,
        "idq_uops_not_delivered.core": 100.0, "int_misc.recovery_cycles": 5.0,
        "cycle_activity.stalls_mem_any": 60.0, "cycle_activity.stalls_total": 80.0}  # fmt: skip


def counts(events: dict[str, float], share: float = 1.0) -> dict[str, Count]:
    return {event: Count(value, "", 1, share) for event, value in events.items()}


def rows(pid: int, events: dict[str, float], share: float = 1.0) -> list[dict[str, Any]]:
    """Ten seconds of samples of one process, as the probe writes them."""
    of = {"pid": pid, "start_ticks": 1, "interval_s": 1.0, "unit": "", "running_share": share}
    return [
        {"t": float(t), **of, "event": event, "value": value / 10}
        for t in range(10)
        for event, value in events.items()
    ]


def counted_run(directory: Path, samples: list[dict[str, Any]]) -> dict[str, Any]:
    """Its document."""
    return to_json(analysed_run(directory, samples))


def analysed_run(directory: Path, samples: list[dict[str, Any]]) -> Analysis:
    """The analysis of a record of the executors 0 (process 7) and 1 (process 8)."""
    make_record(directory)
    seen = {"t": 0.1, "pid": 8, "start_ticks": 1, "role": "executor", "executor_id": "1",
            "event": "seen", "cpus_allowed": "0-1", "mems_allowed": "0,8"}  # fmt: skip
    with (directory / "processes.jsonl").open("a") as file:
        file.write("\n" + json.dumps(seen) + "\n")
    write(directory / "samples" / "counters.jsonl", samples)
    return analyse(directory)


def values(of: dict[str, Any]) -> dict[str, float]:
    return {name: metric["value"] for name, metric in of.items() if "value" in metric}


def test_the_formulas_of_the_study_stand_in_the_analysis_for_each_executor_and_in_total(
    tmp_path: Path,
) -> None:
    samples = rows(7, IVY_BRIDGE, 0.9) + rows(8, {**IVY_BRIDGE, "cycles": 3_900_000_000.0}, 0.5)
    document = counted_run(tmp_path / "run", samples)
    validate("analysis", document)
    first, second = (document["metrics"]["by_executor"][name] for name in ("0", "1"))
    assert values(first) == pytest.approx({
        "local_dram_bound": 0.1, "remote_dram_bound": 0.2, "l1_miss_impact": 0.3,
        "l2_hit_impact": 0.24, "instructions_per_cycle": 1.5, "remote_loads": 0.45614,
    })  # fmt: skip
    assert second["local_dram_bound"]["value"] == pytest.approx(0.1 / 3, abs=1e-5)
    total = document["metrics"]["total"]
    assert total["local_dram_bound"]["value"] == pytest.approx(2 * 0.13 / 5.2)
    assert total["instructions_per_cycle"]["value"] == pytest.approx(3.9 / 5.2)
    assert (first["local_dram_bound"]["confidence"], first["local_dram_bound"]["source"]) == (
        "high", "Awan 2016, formula 1",
    )  # fmt: skip
    assert total["local_dram_bound"]["least_running_share"] == 0.5
    assert total["local_dram_bound"]["confidence"] == "medium"
    assert first["local_dram_bound"]["events"] == [
        "mem_load_uops_llc_miss_retired.local_dram", "cycles",
    ]  # fmt: skip
    assert first["retiring"]["absent"].startswith("slots: none of its events was tried")


def test_the_counters_of_a_stream_count_from_the_end_of_its_ramp_up(tmp_path: Path) -> None:
    early = rows(7, {"cycles": 100.0, "instructions": 10.0})[:6]
    steady = rows(7, {"cycles": 100.0, "instructions": 80.0})
    late = [{**row, "t": row["t"] + 10} for row in steady]
    analysed_run(tmp_path / "run", early + late)
    record = read_record(tmp_path / "run")
    assert measures(record)["cpi"] == pytest.approx(130 / 83)
    begins_ms = record.head.clock.wall_ns // 1_000_000
    assert measures(record, begins_ms + 10_000)["cpi"] == pytest.approx(100 / 80)


@pytest.mark.parametrize(
    ("prefix", "dram", "level"),
    [
        ("mem_load_uops_retired", "mem_load_uops_l3_miss_retired", "medium"),
        ("mem_load_retired", "mem_load_l3_miss_retired", "medium"),
        ("mem_load_uops_retired", "mem_load_uops_llc_miss_retired", "high"),
    ],
)
def test_every_generations_names_feed_the_same_formula_and_borrowed_latencies_cost_confidence(
    prefix: str, dram: str, level: str
) -> None:
    named = {"cycles": 1_300_000_000.0, f"{prefix}.l1_miss": 65_000_000.0,
             f"{dram}.local_dram": 1_000_000.0}  # fmt: skip
    found = to_json(metrics.derive(counts(named), {}))
    assert found["local_dram_bound"]["value"] == pytest.approx(0.1)
    assert found["l1_miss_impact"]["value"] == pytest.approx(0.3)
    assert found["local_dram_bound"]["confidence"] == level


def test_top_down_comes_from_micro_operations_and_from_powers_stalls_too() -> None:
    uops = values(to_json(metrics.derive(counts(UOPS), {})))
    assert uops == pytest.approx({
        "retiring": 0.4, "bad_speculation": 0.04, "front_end_bound": 0.1, "back_end_bound": 0.46,
        "memory_bound": 0.345, "core_bound": 0.115,
    })  # fmt: skip
    power8 = {"cycles": 100.0, "pm_gct_noslot_cyc": 20.0, "pm_cmplu_stall": 50.0,
              "pm_cmplu_stall_dcache_miss": 30.0}  # fmt: skip
    found = to_json(metrics.derive(counts(power8), {}))
    assert values(found) == pytest.approx(
        {"front_end_bound": 0.2, "back_end_bound": 0.5, "memory_bound": 0.3}
    )
    assert found["back_end_bound"]["unit"] == "share of cycles"
    power10 = {"cycles": 100.0, "pm_disp_stall_cyc": 20.0, "pm_issue_stall": 10.0,
               "pm_exec_stall": 30.0, "pm_cmpl_stall": 5.0}  # fmt: skip
    found = to_json(metrics.derive(counts(power10), {}))
    assert found["back_end_bound"]["value"] == pytest.approx(0.45)


@pytest.mark.parametrize(
    ("share", "level"), [(1.0, "high"), (0.8, "high"), (0.79, "medium"), (0.25, "medium"),
                         (0.24, "low")],
)  # fmt: skip
def test_confidence_follows_from_how_long_the_rarest_event_had_a_counter(
    share: float, level: str
) -> None:
    events = {**counts(SLOTS), "topdown-bad-spec": Count(100.0, "", 1, share)}
    assert to_json(metrics.derive(events, {}))["retiring"]["confidence"] == level


def test_an_executor_without_an_event_leaves_the_total_absent_with_its_name_and_never_less(
    tmp_path: Path,
) -> None:
    lame = [row for row in rows(8, IVY_BRIDGE) if not row["event"].endswith("remote_dram")]
    missing = {**rows(8, {"x": 0})[0], "event": "mem_load_uops_llc_miss_retired.remote_dram",
               "value": None, "absent": "not counted"}  # fmt: skip
    document = counted_run(tmp_path / "run", [*rows(7, IVY_BRIDGE), *lame, missing])
    absent = document["metrics"]["total"]["remote_dram_bound"]["absent"]
    assert absent == "mem_load_uops_llc_miss_retired.remote_dram: not counted (executor 1)"
    assert document["metrics"]["total"]["local_dram_bound"]["value"] == pytest.approx(0.1)


#: perf's own metrics as its versions write them: CSV, JSON; Intel, AMD, Arm.
METRIC_LINES = {
    "     1.001,500,,UOPS_RETIRED.RETIRE_SLOTS,1000,62.50,40.0,%  tma_retiring": ("tma_retiring",
                                                                                  0.4),
    "     1.001,,,,,,22.5,%  tma_backend_bound": ("tma_backend_bound", 0.225),
    '{"interval" : 1.001, "metric-value" : "36.5", "metric-unit" : "%  tma_frontend_bound", '
    '"metric-threshold" : "bad"}': ("tma_frontend_bound", 0.365),
    "     1.001,,,,,,31.0,%  backend_bound_by_memory": ("backend_bound_by_memory", 0.31),
    "     1.001,,,,,,12.0,percent of slots  bad_speculation": ("bad_speculation", 0.12),
    "     1.001,,,,,,0.45,Frontend_Bound": ("frontend_bound", 0.45),
}  # fmt: skip


@pytest.mark.parametrize(("line", "metrics_found"), METRIC_LINES.items())
def test_perfs_own_metrics_are_read_as_shares(line: str, metrics_found: tuple[str, float]) -> None:
    reading = parse_perf_line(line)
    assert reading is not None
    metric = topdown_metric(reading)
    assert metric is not None
    assert (metric[0], metric[1]) == (metrics_found[0], pytest.approx(metrics_found[1]))


@pytest.mark.parametrize(
    "line", ["1.0,5,,instructions,1,100.00,1.50,insn per cycle", "1.0,,,,,,nan,%  tma_retiring"]
)
def test_another_metric_or_none_is_not_taken_for_top_down(line: str) -> None:
    reading = parse_perf_line(line)
    assert reading is None or topdown_metric(reading) is None


def metric_rows(pid: int, interval: list[tuple[float, dict[str, float]]]) -> list[dict[str, Any]]:
    """Intervals of (cycles, perf's metrics), as the probe writes them."""
    of = {"pid": pid, "start_ticks": 1, "interval_s": 1.0, "running_share": 0.85}
    found: list[dict[str, Any]] = []
    for t, (cycles, shares) in enumerate(interval):
        found.append({"t": t, **of, "event": "cycles", "value": cycles, "unit": ""})
        found += [{"t": t, **of, "metric": m, "value": v, "unit": ""} for m, v in shares.items()]
    return found


def test_perfs_own_metrics_are_means_weighed_with_the_cycles_of_their_intervals(
    tmp_path: Path,
) -> None:
    first = metric_rows(7, [(3e9, {"tma_retiring": 0.2}), (1e9, {"tma_retiring": 0.6})])
    second = metric_rows(8, [(4e9, {"tma_retiring": 0.5})])
    metrics_found = counted_run(tmp_path / "run", [*first, *second])["metrics"]
    assert metrics_found["by_executor"]["0"]["retiring"]["value"] == pytest.approx(0.3)
    assert metrics_found["total"]["retiring"]["value"] == pytest.approx(0.4)
    assert metrics_found["total"]["retiring"]["events"] == ["tma_retiring"]
    assert metrics_found["total"]["retiring"]["confidence"] == "high"


def test_on_arm_the_back_end_is_divided_by_the_share_of_its_stalls(tmp_path: Path) -> None:
    shares = {"backend_bound": 0.6, "backend_mem_bound": 0.75, "frontend_bound": 0.1}
    metrics_found = counted_run(tmp_path / "run", metric_rows(7, [(1e9, shares)]))["metrics"][
        "total"
    ]
    assert metrics_found["memory_bound"]["value"] == pytest.approx(0.45)
    assert metrics_found["core_bound"]["value"] == pytest.approx(0.15)


def test_without_counters_the_metrics_are_absent_for_the_counters_reason(tmp_path: Path) -> None:
    reason = {"name": "counters", "status": "absent", "reason": "perf is not installed"}
    make_record(tmp_path / "run", probes=[reason])
    metrics = analyse(tmp_path / "run").metrics
    assert metrics == Absent("perf is not installed")
    view = processor_view(metrics)
    assert view["absent"] == [("top-down and the study's formulas", "perf is not installed")]


#: A perf that knows Ivy Bridge's events, or those of a processor that counts slots, and no more.
KNOWS = {
    "ivy": ("mem_load_uops_llc_miss_retired", "idq_uops_not_delivered.core,int_misc", "ldm_pend"),
    "slots": ("{slots,topdown-retiring,topdown-bad-spec,topdown-fe-bound,topdown-be-bound}",),
}


def choosy_perf(folder: Path, knows: tuple[str, ...], metrics: str = "no such group") -> str:
    """Answers each event that it is asked for with 1000 where it knows the list, else refuses."""
    known = "|".join(f"*{word}*" for word in (*knows, "cycles,instructions", "context-switches"))
    script = (
        f'case "$*" in *-M*) [ "$6" = "{metrics}" ] && '
        'echo "1.0,,,,,,40.0,%  tma_retiring" >&2; exit;; esac\n'
        f'case "$6" in {known}) ;; *) echo "event syntax error" >&2; exit 1;; esac\n'
        'for event in $(echo "$6" | tr -d "{}" | tr , " "); do\n'
        '  echo "1.0,1000,,$event,9,100.00,," >&2\ndone'
    )
    return str(program(folder / "perf", script))


@pytest.mark.parametrize(
    ("knows", "counted", "not_counted"),
    [
        ("ivy", ["mem_load_uops_llc_miss_retired.local_dram", "int_misc.recovery_cycles"], "slots"),
        ("slots", ["slots", "topdown-be-bound"], "uops_issued.any"),
    ],
)
def test_the_first_generation_of_events_that_perf_knows_is_counted(
    tmp_path: Path, knows: str, counted: list[str], not_counted: str
) -> None:
    probe = CountersProbe(Roots(), perf=choosy_perf(tmp_path, KNOWS[knows]))
    assert probe.supported() is None
    assert set(counted) <= set(probe.hardware.counted)
    assert not_counted not in probe.hardware.counted
    assert probe.metric_group is None


def test_perfs_own_metrics_are_preferred_to_events_for_top_down(tmp_path: Path) -> None:
    perf = choosy_perf(tmp_path, KNOWS["slots"], metrics="TopdownL1,TopdownL2")
    probe = CountersProbe(Roots(), perf=perf)
    assert probe.supported() is None
    assert probe.metric_group == "TopdownL1,TopdownL2"
    assert "slots" not in probe.hardware.counted
    assert "cycles" in probe.hardware.counted


def test_a_stream_with_metrics_counts_cycles_once_and_keeps_the_metrics_share(
    tmp_path: Path,
) -> None:
    lines = [
        "1.0,1000,,cycles,9,100.00,,",
        "1.0,1000,,cycles,9,70.00,,",
        "1.0,300,,UOPS_RETIRED.SLOTS,9,70.00,30.0,%  tma_retiring",
        "1.0,,,,,,20.0,%  tma_backend_bound",
    ]
    probe = CountersProbe(Roots(), perf=fake_perf(tmp_path, lines, "sleep 30"))
    probe.use(["cycles"], "TopdownL1")
    found = [row for _, row in probed(probe, SampledProcess(1, 1, "driver"), 4)]
    assert [row["value"] for row in found if row.get("event") == "cycles"] == [1000.0]
    metrics_found = {
        row["metric"]: (row["value"], row["running_share"]) for row in found if "metric" in row
    }
    assert metrics_found == {
        "tma_retiring": (pytest.approx(0.3), 0.7),
        "tma_backend_bound": (pytest.approx(0.2), 0.7),
    }
