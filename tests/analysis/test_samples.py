"""Samples made by hand, whose rates and shares are known by arithmetic."""

import json
from pathlib import Path
from typing import Any

import pytest
from made_record import CPUS_OF_NODE, make_record, process, write

from hearth.analysis.analysis import analyse
from hearth.analysis.counter_samples import read_counts
from hearth.analysis.locality import cpu_share_by_node, local_share, read_memory, read_threads
from hearth.analysis.samples import last_time_s, read_processes, read_system
from hearth.base.absent import Absent
from hearth.base.codec import to_json
from support import ROOT

NODE_OF_CPU = {"0": "0", "1": "0", "2": "8", "3": "8"}


def test_cumulative_values_become_totals_and_rates(tmp_path: Path) -> None:
    rows = [process(t, 100 + 150 * t, involuntary=10 * t, rss_kb=1024 * t) for t in range(11)]
    file = write(tmp_path / "process.jsonl", rows, '{"t": 11, "pid"')
    use = read_processes(file, step_ms=1000)[7, 1]
    assert use.total("utime") == 1600  # with the 100 ticks from before the first sample
    assert use.total("involuntary") == 100
    assert use.total("write_bytes") is None
    assert use.cpu_ticks_over_time.covered_ms() == pytest.approx([150] * 10)
    assert use.rss_max_kb == 10240
    assert file.warnings == ["process.jsonl: the last line is torn and was skipped"]


def test_counters_that_fall_back_clocks_that_jump_and_gaps_are_told(tmp_path: Path) -> None:
    rows = [process(0, 100), process(1, 200), process(2, 50), process(1.5, 60), process(30, 90)]
    file = write(tmp_path / "process.jsonl", rows)
    use = read_processes(file, step_ms=1000)[7, 1]
    assert use.total("utime") == 100 + 100 + 50 + 40
    assert file.warnings == [
        "process.jsonl: process 7: 1 samples went back in time and were dropped",
        "process.jsonl: process 7: 1 gaps, the longest of 28.0 s",
        "process.jsonl: process 7: 1 counters decreased",
    ]


def test_a_pid_used_again_is_another_process(tmp_path: Path) -> None:
    rows = [process(0, 100), {**process(1, 10), "start_ticks": 2}]
    processes = read_processes(write(tmp_path / "process.jsonl", rows), step_ms=1000)
    assert {key: use.total("utime") for key, use in processes.items()} == {(7, 1): 100, (7, 2): 10}


def test_cpu_time_is_shared_out_to_the_nodes_of_the_cpus(tmp_path: Path) -> None:
    def row(t: int) -> dict[str, Any]:
        busy, idle = [100 * t, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 75 * t, 25 * t, 0, 0, 0]
        counts = {"numa_hit": 10 * t, "numa_miss": 3}
        return {"t": t, "cpu": {"0": busy, "1": idle, "2": idle, "3": idle}, "vmstat": counts}

    use = read_system(write(tmp_path / "system.jsonl", [row(t) for t in range(5)]), NODE_OF_CPU,
                      step_ms=1000)  # fmt: skip
    assert use.share_by_node() == {"0": [0.5] * 4, "8": [0.0] * 4}
    assert use.vmstat_growth() == {"numa_hit": 40, "numa_miss": 0}


def test_the_local_share_is_pages_weighed_with_where_the_threads_ran() -> None:
    pages = {"0": {"anon_kb": 750, "file_kb": 9999}, "8": {"anon_kb": 200, "huge_kb": 50}}
    bound = cpu_share_by_node("2-3", CPUS_OF_NODE, None)
    assert bound == {"8": 1.0}
    assert local_share(pages, bound) == 0.25
    assert local_share(pages, cpu_share_by_node("0-3", CPUS_OF_NODE, None)) is None
    unbound = cpu_share_by_node("0-3", CPUS_OF_NODE, {"0": 30.0, "8": 10.0})
    assert local_share(pages, unbound) == 0.75 * 0.75 + 0.25 * 0.25
    assert local_share({}, bound) is None


def test_the_local_share_of_a_run_is_its_mean_over_time(tmp_path: Path) -> None:
    def row(t: float, local_kb: int) -> dict[str, Any]:
        nodes = {"0": {"anon_kb": local_kb}, "8": {"anon_kb": 100 - local_kb}}
        return {"t": t, "pid": 7, "start_ticks": 1, "nodes": nodes}

    file = write(tmp_path / "memory.jsonl", [row(0, 0), row(1, 100), row(4, 60)])
    memory = read_memory(file, {(7, 1): {"0": 1.0}}, step_ms=1000)[7, 1]
    assert memory.share() == pytest.approx((1 * 1.0 + 3 * 0.6) / 4)
    assert memory.over_time() == [1.0, 0.6, 0.6, 0.6]


def test_a_thread_that_changes_node_is_counted_and_one_that_changes_cpu_is_not(
    tmp_path: Path,
) -> None:
    def row(t: int, cpu: int) -> dict[str, Any]:
        return {"t": t, "pid": 7, "start_ticks": 1, "ran": [[70, cpu, 10 * t, 0]],
                "names": {"70": ["worker", "task"]} if t == 1 else {}}  # fmt: skip

    cpus = [0, 1, 2, 3, 0]
    rows = [row(t + 1, cpu) for t, cpu in enumerate(cpus)]
    threads = read_threads(write(tmp_path / "threads.jsonl", rows), NODE_OF_CPU)
    assert threads.node_transitions == {"task": 2}
    assert threads.columns["cpu"] == cpus
    assert threads.ticks_by_node == {(7, 1): {"0": 30.0, "8": 20.0}}


def test_a_long_trace_keeps_every_so_many_th_reading_from_the_first_to_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hearth.analysis.locality.MOST_TRACE_ROWS", 10)
    rows = [
        {"t": t, "pid": 7, "start_ticks": 1, "ran": [[7 * t + i, 0, 1, 0] for i in range(7)]}
        for t in range(9)
    ]
    threads = read_threads(write(tmp_path / "threads.jsonl", rows), NODE_OF_CPU)
    assert (threads.observations, threads.stride) == (63, 8)
    assert threads.columns["tid"] == list(range(0, 63, 8))
    assert threads.columns["t"] == [number // 7 for number in range(0, 63, 8)]


def test_a_cpu_that_goes_offline_and_idle_time_that_falls_back_do_not_count(tmp_path: Path) -> None:
    def cpu(busy: int, idle: int) -> list[int]:
        return [busy, 0, 0, idle, 0, 0, 0, 0]

    rows = [{"t": 0, "cpu": {"0": cpu(0, 0), "1": cpu(500, 500)}},
            {"t": 1, "cpu": {"0": cpu(30, 70)}},
            {"t": 2, "cpu": {"0": cpu(80, 120), "1": cpu(900, 900)}},
            {"t": 3, "cpu": {"0": cpu(130, 110), "1": cpu(900, 900)}}]  # fmt: skip
    use = read_system(write(tmp_path / "system.jsonl", rows), NODE_OF_CPU, step_ms=1000)
    assert use.share_by_node() == {"0": [0.3, 0.5, 1.0]}


def test_counts_of_intervals_add_up_and_events_without_a_value_stay_absent(tmp_path: Path) -> None:
    def row(event: str, value: float | None, share: float = 1.0) -> dict[str, Any]:
        return {"t": 1, "pid": 7, "start_ticks": 1, "event": event, "value": value, "unit": "",
                "running_share": share, "absent": "not supported"}  # fmt: skip

    rows = [row("cycles", 10), row("cycles", 30, 0.5), row("cycles", None), row("llc", None)]
    counts = read_counts(write(tmp_path / "counters.jsonl", rows)).events[7, 1]
    assert to_json(counts["cycles"].measured()) == {
        "value": 40, "unit": "", "intervals": 2, "least_running_share": 0.5
    }  # fmt: skip
    assert counts["llc"].measured() == Absent("not supported")


def test_the_end_of_a_file_is_found_without_reading_it_all(tmp_path: Path) -> None:
    rows = [process(t, t) for t in range(100)]
    assert last_time_s(write(tmp_path / "p.jsonl", rows, '{"t": 1').path) == 99
    assert last_time_s(write(tmp_path / "p.jsonl", []).path) is None


def test_a_killed_run_with_most_probes_absent_tells_what_is_known(tmp_path: Path) -> None:
    directory = tmp_path / "20261121-090000-app-4711"
    make_record(directory)
    document = to_json(analyse(directory))
    assert document["record"]["state"] == "killed"
    assert document["record"]["wall_s"] == 9.0
    (executor,) = document["executors"]
    assert executor["gc"]["collector"] == "G1" and executor["gc"]["pauses"] == 10
    assert (executor["id"], executor["nodes"], executor["removed_s"]) == ("0", ["8"], 9.5)
    assert executor["use"]["cpu_s"] == 9.0
    assert executor["local_share"] == {"absent": "no NUMA in this kernel"}
    assert "absent" in document["stages"] and "absent" in document["totals"]
    assert document["timeline"]["cpu_by_executor"]["0"][:89] == pytest.approx([1.0] * 89)
    assert [f["id"] for f in document["findings"]] == ["involuntary-switches"]
    assert any("torn" in warning["what"] for warning in document["warnings"])


def test_the_processor_and_the_telling_settings_are_those_of_the_record(
    tmp_path: Path,
) -> None:
    topology = json.loads((ROOT / "contract" / "examples" / "topology.json").read_text())
    conf = {"spark.executor.memory": "4g", "spark.app.name": "shop"}
    for name, without in (("new", ()), ("older", ("processor",))):
        make_record(tmp_path / name, configuration=conf)
        known = {key: value for key, value in topology.items() if key not in without}
        (tmp_path / name / "machine.json").write_text(json.dumps(known))
    new, older = analyse(tmp_path / "new"), analyse(tmp_path / "older")
    assert new.record.settings == {"spark.executor.memory": "4g"}
    assert not isinstance(new.machine, Absent) and not isinstance(older.machine, Absent)
    assert new.machine.processor == "Intel(R) Xeon(R) CPU E5-2697 v2 @ 2.70GHz"
    assert "names none" in str(older.machine.processor)
