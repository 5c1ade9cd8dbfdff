"""Memory bandwidth, from constructed resctrl trees and perf output: known by arithmetic."""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from made_record import make_record, write

from hearth.analysis.analysis import analyse
from hearth.analysis.bandwidth import read_bandwidth
from hearth.analysis.saturation import recorded_bandwidth
from hearth.base.absent import known
from hearth.base.codec import to_json
from hearth.machine.plan import RecordedBandwidth
from hearth.record.counters import parse_perf_line
from hearth.record.probes import survey
from hearth.record.probes.bandwidth import BandwidthProbe, uncore_events
from hearth.record.probes.base import Roots, SampledProcess
from hearth.record.probes.perf import read_once
from support import Command, fake_perf, probed, program, require, validate

DRIVER = SampledProcess(1, 1, "driver")
GB = 1_000_000_000


def machine(tmp_path: Path, devices: dict[str, list[str]]) -> Roots:
    """Two sockets of two CPUs with a last-level cache each, and these performance counters."""
    for cpu in range(4):
        folder = tmp_path / f"devices/system/cpu/cpu{cpu}"
        cache = folder / "cache/index3"
        cache.mkdir(parents=True)
        (cache / "level").write_text("3\n")
        (cache / "id").write_text(f"{cpu // 2}\n")
        (folder / "topology").mkdir()
        (folder / "topology/physical_package_id").write_text(f"{cpu // 2}\n")
    for device, events in devices.items():
        folder = tmp_path / "bus/event_source/devices" / device / "events"
        folder.mkdir(parents=True)
        for event in events:
            (folder / event).write_text("event=0x04\n")
    return Roots(sys=tmp_path)


IMC = {"uncore_imc_0": ["cas_count_read", "cas_count_write", "clockticks"],
       "uncore_imc_1": ["cas_count_read", "cas_count_write"]}  # fmt: skip


def test_the_controllers_events_are_those_that_the_kernel_names(tmp_path: Path) -> None:
    roots = machine(tmp_path, {**IMC, "uncore_imc_free_running_0": ["dclk"], "cpu": ["cycles"]})
    assert uncore_events(roots.sys) == (
        "uncore_imc_0/cas_count_read/", "uncore_imc_0/cas_count_write/",
        "uncore_imc_1/cas_count_read/", "uncore_imc_1/cas_count_write/",
    )  # fmt: skip
    amd = machine(tmp_path / "amd", {"amd_umc_0": [], "amd_df": []})
    assert uncore_events(amd.sys) == ("umc_cas_cmd.rd", "umc_cas_cmd.wr")
    names = ("PM_MCS01_128B_RD_DISP_PORT01", "PM_MCS01_128B_WR_DISP_PORT23")
    nest = {"nest_mcs01_imc": [*names, f"{names[0]}.scale", "PM_MCS01_64B_RD_DISP_PORT01"],
            "nest_xlink0_imc": ["PM_XLINK_OUT_ODD_CYC"]}  # fmt: skip
    power = machine(tmp_path / "power", nest)
    assert uncore_events(power.sys) == tuple(f"nest_mcs01_imc/{name}/" for name in names)


def test_a_count_by_socket_is_read_from_csv_and_from_json() -> None:
    csv = "     1.001,S1,1,12.50,MiB,uncore_imc_0/cas_count_read/,1001,100.00,,"
    json_line = (
        '{"interval" : 1.001, "socket" : "S1", "aggregate-number" : 1, "counter-value" : "12.50",'
        ' "unit" : "MiB", "event" : "uncore_imc_0/cas_count_read/", "event-runtime" : 1001,'
        ' "pcnt-running" : 100.00}'
    )
    for line in (csv, json_line):
        reading = parse_perf_line(line)
        assert reading is not None
        assert (reading.domain, reading.value, reading.unit) == ("S1", 12.5, "MiB")
        assert reading.event == "uncore_imc_0/cas_count_read/"


def sampled(probe: BandwidthProbe, count: int) -> list[dict[str, Any]]:
    return [row["total_bytes"] for _, row in probed(probe, DRIVER, count)]


def test_perfs_intervals_become_cumulative_bytes_of_each_socket(tmp_path: Path) -> None:
    roots = machine(tmp_path, IMC)
    lines = [
        "1.0,S0,1,10.00,MiB,uncore_imc_0/cas_count_read/,9,100.00,,",
        "1.0,S0,1,5.00,MiB,uncore_imc_1/cas_count_write/,9,100.00,,",
        "1.0,S1,1,1000,,umc_cas_cmd.rd,9,100.00,,",
        "1.0,S1,1,500,,nest_mcs01_imc/PM_MCS01_128B_WR_DISP_PORT01/,9,100.00,,",
    ]
    probe = BandwidthProbe(roots, perf=fake_perf(tmp_path, lines))
    assert probe.supported() is None
    first, second = sampled(probe, 2)
    assert first["S0"] == 0
    assert second == {"S0": 15 << 20, "S1": 96_000}  # a cache line for each transfer
    asked = (tmp_path / "asked").read_text().splitlines()[-1]
    assert "-a --per-socket -e uncore_imc_0/cas_count_read/,uncore_imc_0/cas_count_write/" in asked


def test_an_interval_that_was_not_counted_is_unknown_and_not_zero(tmp_path: Path) -> None:
    lines = ["1.0,S0,1,<not counted>,,uncore_imc_0/cas_count_read/,0,0.00,,",
             "1.0,S1,1,10.00,MiB,uncore_imc_0/cas_count_read/,0,100.00,,"]  # fmt: skip
    probe = BandwidthProbe(machine(tmp_path, IMC), perf=fake_perf(tmp_path, lines))
    _, second = sampled(probe, 2)
    assert second == {"S0": None, "S1": 10 << 20}


@pytest.mark.parametrize(
    ("devices", "lines", "said"),
    [
        ({}, [], "neither resctrl"),
        (IMC, ["Error:", "No permission to enable uncore_imc_0"], "perf may not count"),
        (IMC, ["1.0,S0,1,<not supported>,,uncore_imc_0/cas_count_read/,0,0.00,,"], "may not count"),
    ],
)
def test_what_counts_no_bandwidth_says_why(
    tmp_path: Path, devices: dict[str, list[str]], lines: list[str], said: str
) -> None:
    probe = BandwidthProbe(machine(tmp_path, devices), perf=fake_perf(tmp_path, lines))
    assert said in str(probe.supported())


def test_the_survey_tells_the_cpus_of_each_domain(tmp_path: Path) -> None:
    roots = machine(tmp_path, {})
    for domain in ("00", "01"):
        folder = tmp_path / f"fs/resctrl/mon_data/mon_L3_{domain}"
        folder.mkdir(parents=True)
        (folder / "mbm_total_bytes").write_text("7\n")
    (row,) = [row for row in survey(roots) if row.name == "bandwidth"]
    assert (row.status, row.source) == ("on", "resctrl")
    assert row.domains == {"L3:00": "0-1", "L3:01": "2-3"}
    without = BandwidthProbe(machine(tmp_path / "imc", IMC))
    assert without.domains() == {"S0": "0-1", "S1": "2-3"}


def test_bandwidth_is_the_growth_of_the_machines_counters(tmp_path: Path) -> None:
    totals = [7 * GB, 9 * GB, 9 * GB + GB // 2, 100, GB + 100, None, 3 * GB, 4 * GB]
    rows = [{"t": t, "total_bytes": {"L3:00": b}} for t, b in enumerate(totals)]
    domains = read_bandwidth(write(tmp_path / "bandwidth.jsonl", rows), step_ms=1000)
    # A counter that fell back, and one that was not counted, leave their intervals unknown.
    assert domains["L3:00"].gb_s(8) == [2.0, 0.5, None, 1.0, None, None, 1.0, None]


#: Node 0 sustains 50 GB/s and has two caches; of node 8 nothing was measured.
HEAD: dict[str, Any] = {
    "probes": [{
        "name": "bandwidth", "status": "on", "reason": None, "source": "resctrl",
        "domains": {"L3:00": "0", "L3:01": "1", "L3:02": "2-3"},
    }],
    "sustained_bandwidth": {"nodes": {"0": {"best_gb_s": 50.0, "median_gb_s": 48.0}}},
}  # fmt: skip
BOTH = {"nodes": {"0": {"best_gb_s": 50.0}, "8": {"best_gb_s": 30.0}}}


def counted_run(directory: Path, **more: Any) -> dict[str, Any]:
    """Three seconds each with 10, 30 and 45 GB/s on node 0, half of it from either cache."""
    make_record(directory, **{**HEAD, **more})
    total, rows = 0, []
    for t in range(10):
        totals = {"L3:00": total // 2, "L3:01": total // 2, "L3:02": 20 * GB * t}
        rows.append({"t": t, "total_bytes": totals})
        total += (10, 30, 45)[min(t // 3, 2)] * GB
    write(directory / "samples" / "bandwidth.jsonl", rows)
    return to_json(analyse(directory))


def test_use_is_told_by_node_as_a_share_of_what_the_node_sustains_with_the_studys_regions(
    tmp_path: Path,
) -> None:
    document = counted_run(tmp_path / "run")
    validate("analysis", document)
    bandwidth = document["timeline"]["bandwidth"]
    assert (bandwidth["source"], set(bandwidth["nodes"])) == ("resctrl", {"0", "8"})
    step, node = document["timeline"]["step_s"], bandwidth["nodes"]["0"]
    at = [int(second / step) for second in (1.5, 4.5, 7.5)]
    assert [node["gb_s"][i] for i in at] == pytest.approx([10, 30, 45])
    assert [node["share"][i] for i in at] == pytest.approx([0.2, 0.6, 0.9])
    assert node["sustained_gb_s"] == 50.0
    assert node["seconds"] == pytest.approx({"constant": 3.0, "linear": 3.0, "exponential": 3.0})
    (finding,) = [f for f in document["findings"] if f["id"] == "memory-bandwidth-0"]
    assert "33%" in finding["sentence"]


def test_a_run_alone_tells_what_a_second_of_cpu_time_moves_and_what_a_node_sustains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted_run(tmp_path / "run", sustained_bandwidth=BOTH)
    run, found = analyse(tmp_path / "run"), recorded_bandwidth(analyse(tmp_path / "run"))
    assert isinstance(found, RecordedBandwidth) and found.node_gb_s == 40
    cpu_s = sum(use.cpu_s or 0 for use in known(one.use for one in run.executors))
    assert found.task_gb_s == pytest.approx((255 / 9 + 20) * run.record.wall_s / cpu_s, rel=0.01)
    monkeypatch.setattr("hearth.analysis.saturation.other_load", lambda _: 0.2)
    assert "other programs" in str(recorded_bandwidth(run))


def test_a_plan_keeps_to_a_record_or_says_why_it_changes_nothing(
    hearth: Command, tmp_path: Path
) -> None:
    (home := tmp_path / "state" / "records").mkdir(parents=True)
    counted_run(home / "20261121-090000-app-00aa", sustained_bandwidth=BOTH)
    machine = ["--machine", "4 nodes of 128 GB, 6 cores x 8 threads"]
    described = hearth("topology", *machine, "--json").stdout
    (home / "20261121-090000-app-00aa/machine.json").write_text(described)
    plan = json.loads(hearth("plan", "--from", "last", *machine, "--json").stdout)
    validate("plan", plan)
    (threads,) = [one for one in plan["reasons"] if one["decision"] == "threads per core"]
    assert threads["value"] == "1" and "in the recorded run" in threads["because"]
    other = hearth("plan", "--from", "last", "--machine", "4 nodes of 128 GB, 6 cores")
    assert other.returncode == 2 and "'last' ran on another machine" in other.stderr
    counted_run(home / "20261121-090001-app-00aa")
    said = hearth("plan", "--from", "last", *machine).stderr
    assert said.startswith("hearth: --from: it changes nothing: the sustained bandwidth of '8'")


def test_a_node_of_which_one_cache_is_unknown_has_no_sum(tmp_path: Path) -> None:
    make_record(tmp_path / "run", **HEAD)
    known = {"L3:00": 0, "L3:01": 0}
    last = dict.fromkeys(known, 9 * GB)
    later = {"L3:00": 5 * GB}
    rows = [{"t": t, "total_bytes": d} for t, d in ((0, known), (1, last), (2, later), (3, later))]
    write(tmp_path / "run" / "samples" / "bandwidth.jsonl", rows)
    node = to_json(analyse(tmp_path / "run"))["timeline"]["bandwidth"]["nodes"]["0"]
    assert node["gb_s"][5] == pytest.approx(18.0)
    assert node["gb_s"][25] is None


def test_without_a_sustained_rate_there_are_gb_s_and_a_reason_and_no_share(tmp_path: Path) -> None:
    node = counted_run(tmp_path / "run")["timeline"]["bandwidth"]["nodes"]["8"]
    known = [rate for rate in node["gb_s"] if rate is not None]
    assert known == pytest.approx([20.0] * len(known))
    assert node["share"] == {"absent": "the sustained bandwidth of '8' was not measured"}


def test_a_domain_that_spans_two_nodes_is_held_against_both(tmp_path: Path) -> None:
    socket = {"probes": [{**HEAD["probes"][0], "source": "uncore", "domains": {"S0": "0-3"}}]}
    make_record(tmp_path / "run", **socket, sustained_bandwidth=BOTH)
    rows = [{"t": t, "total_bytes": {"S0": 40 * GB * t}} for t in range(10)]
    write(tmp_path / "run" / "samples" / "bandwidth.jsonl", rows)
    (name,) = (nodes := to_json(analyse(tmp_path / "run"))["timeline"]["bandwidth"]["nodes"])
    assert (name, nodes[name]["share"][20]) == ("0,8", 0.5)


def test_this_machine_counts_its_bandwidth_or_says_why_not() -> None:
    (row,) = [row for row in survey(Roots()) if row.name == "bandwidth"]
    if row.status == "absent":
        assert len(row.reason) > 30
        return
    assert row.domains
    probe = BandwidthProbe(Roots())
    first, last = sampled(probe, 2)
    assert set(first) == set(last), sys.platform


def test_a_perf_that_does_not_answer_in_time_counts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = program(tmp_path / "perf", "exec sleep 30")
    monkeypatch.setattr("hearth.record.probes.perf._TRY_LIMIT_S", 0.2)
    assert read_once(str(slow), ["-e", "cycles"]) == []


def test_a_real_perfs_count_by_socket_is_read() -> None:
    perf = shutil.which("perf")
    if perf is None:
        require("perf", "perf is not installed")
    readings = read_once(str(perf), ["-a", "--per-socket", "-e", "cpu-clock"])
    if not any(reading.value for reading in readings):
        require("perf", "perf may not count the whole machine here")
    assert all(re.fullmatch(r"S\d+", reading.domain or "") for reading in readings)
    assert {reading.unit for reading in readings} == {"msec"}
