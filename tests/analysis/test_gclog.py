"""GC logs recorded from real JVMs, held against what each JVM counted itself."""

import json
import os
from pathlib import Path

import pytest

from hearth.analysis.gclog import GcLog, read_gc_log
from support import ROOT

GC = ROOT / "fixtures" / "gc"

#: For each recording: kinds of pause that each of the JVM's own beans (GarbageCollectorMXBean)
#: counts. None: all of them. Beans of cycles count no pauses.
BEANS = {
    "serial-17": {"Copy": ["Young"], "MarkSweepCompact": ["Full"]},
    "parallel-17": {"PS Scavenge": ["Young"], "PS MarkSweep": ["Full"]},
    "g1-17": {"G1 Young Generation": ["Young"], "G1 Old Generation": ["Full"]},
    "g1-25": {"G1 Young Generation": ["Young"], "G1 Old Generation": ["Full"],
              "G1 Concurrent GC": ["Remark", "Cleanup"]},
    "zgc-17": {"ZGC Pauses": None},
    "zgc-25": {"ZGC Minor Pauses+ZGC Major Pauses": None},
    "shenandoah-17": {"Shenandoah Pauses": None},
}  # fmt: skip


def counted(name: str, bean: str) -> tuple[int, int]:
    """Count and milliseconds of one bean, or of several together."""
    beans = json.loads((GC / f"{name}.json").read_text())["beans"]
    parts = [beans[part] for part in bean.split("+")]
    return sum(part["count"] for part in parts), sum(part["time_ms"] for part in parts)


def logged(log: GcLog, kinds: list[str] | None) -> tuple[int, float]:
    """Count and milliseconds of some kinds of pause."""
    chosen = kinds or list(log.count_by_kind)
    return (
        sum(log.count_by_kind.get(kind, 0) for kind in chosen),
        sum(log.pause_ms_by_kind.get(kind, 0.0) for kind in chosen),
    )


@pytest.mark.parametrize(("name", "bean"), [(n, b) for n, beans in BEANS.items() for b in beans])
def test_pauses_add_up_to_what_the_jvm_itself_counted(name: str, bean: str) -> None:
    log = read_gc_log(GC / f"{name}.log")
    count, pause_ms = logged(log, BEANS[name][bean])
    own_count, own_ms = counted(name, bean)
    assert own_count > 0
    assert count == own_count
    # The beans cut each pause to whole milliseconds or measure a little less than the log.
    assert own_ms - 1 <= pause_ms <= own_ms + count


def test_every_recording_is_tested() -> None:
    assert {file.stem for file in GC.glob("*.log")} == set(BEANS)


@pytest.mark.parametrize("name", ["g1-17", "zgc-17", "zgc-25", "shenandoah-17"])
def test_what_runs_beside_the_application_is_not_a_pause(name: str) -> None:
    log = read_gc_log(GC / f"{name}.log")
    assert log.concurrent_ms > 0
    assert log.pause_ms == pytest.approx(sum(log.pause_ms_by_kind.values()))
    assert "Mark" not in log.count_by_kind


@pytest.mark.parametrize(("name", "beans"), [
    ("zgc-17", ["ZGC Cycles"]), ("zgc-25", ["ZGC Minor Cycles", "ZGC Major Cycles"])
])  # fmt: skip
def test_zgc_cycles_are_those_that_the_jvm_counted(name: str, beans: list[str]) -> None:
    causes = read_gc_log(GC / f"{name}.log").count_by_cause
    assert sum(causes.values()) == sum(counted(name, b)[0] for b in beans)


def test_a_pause_tells_its_cause_heap_and_time() -> None:
    log = read_gc_log(GC / "parallel-17.log")
    assert log.collector == "Parallel"
    assert log.count_by_cause["System.gc()"] >= 1
    full = [pause for pause in log.longest if pause.kind == "Full"]
    assert full and full[0].before_mb > full[0].after_mb > 0
    assert log.heap_after_max_mb <= 48
    assert log.first_s <= log.longest[0].end_s <= log.longest[-1].end_s


def test_safepoints_cover_the_pauses() -> None:
    for name in ("serial-17", "parallel-17", "g1-17"):
        log = read_gc_log(GC / f"{name}.log")
        assert log.safepoints >= log.pauses - 1
        assert log.safepoint_ms >= 0.9 * log.pause_ms


def test_a_log_cut_anywhere_is_read(tmp_path: Path) -> None:
    whole = (GC / "g1-17.log").read_bytes()
    cut = tmp_path / "executor-1.log"
    before = 0
    for size in range(0, len(whole), 500):
        cut.write_bytes(whole[:size])
        log = read_gc_log(cut)
        assert before <= log.pauses
        before = log.pauses
        broken = any("breaks off" in warning for warning in log.warnings)
        assert broken == (size > 0 and whole[size - 1 : size] != b"\n")


def test_a_rotated_log_is_one_log(tmp_path: Path) -> None:
    lines = (GC / "g1-17.log").read_text().splitlines(keepends=True)
    parts = [tmp_path / "a.log.0", tmp_path / "a.log"]
    parts[0].write_text("".join(lines[:100]))
    parts[1].write_text("".join(lines[100:]))
    assert read_gc_log(*parts).pauses == read_gc_log(GC / "g1-17.log").pauses


def test_a_foreign_file_is_a_warning(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.log"
    foreign.write_bytes(bytes(range(256)) * 10 + b"\n")
    assert "no line of a JVM's log" in read_gc_log(foreign).warnings[0]


def test_a_pipe_in_place_of_a_log_is_a_warning(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "executor-1.log")
    warnings = read_gc_log(tmp_path / "executor-1.log").warnings
    assert warnings[0] == "executor-1.log cannot be read: it is not a file"


@pytest.mark.parametrize("name", ["g1-17", "g1-25"])
def test_the_parts_of_a_concurrent_cycle_of_g1_are_not_counted_twice(name: str) -> None:
    log = read_gc_log(GC / f"{name}.log")
    lines = (GC / f"{name}.log").read_text().splitlines()
    cycles = [line.split()[-1] for line in lines if "Concurrent Mark Cycle " in line]
    assert log.concurrent_ms == pytest.approx(sum(float(ms.removesuffix("ms")) for ms in cycles))
