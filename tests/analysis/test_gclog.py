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
    chosen = [one.pause_ms for one in log.longest if kinds is None or one.kind in kinds]
    return len(chosen), sum(chosen)


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


def test_a_log_tells_the_collector_the_heap_and_the_time() -> None:
    log = read_gc_log(GC / "parallel-17.log")
    assert log.collector == "Parallel"
    assert 0 < log.heap_after_max_mb <= 48
    assert read_gc_log(GC / "zgc-17.log").heap_after_max_mb > 0
    assert log.first_s <= log.longest[0].end_s <= log.longest[-1].end_s


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
