"""The flame graph of an analysis: what is read of flight recordings, and what is said without."""

import os
import shutil
from pathlib import Path

import pytest

from hearth.analysis import flame
from hearth.analysis.document import Flame, Method
from hearth.base.absent import Absent
from hearth.base.errors import UserError
from hearth.record.flame import FILE, FOLDER, Recordings
from hearth.record.schema import Launched
from hearth.record.store import RecordWriter, new_directory
from hearth.spark.profiling import async_profiler

#: As `jfr print` of Java 17 writes it.
SAMPLE = """jdk.ExecutionSample {{
  startTime = 12:00:00.001
  sampledThread = "Executor task launch worker for task 3.0" (javaThreadId = 60)
  state = "STATE_RUNNABLE"
  stackTrace = [
    {inner} line: 12
    org.apache.spark.Task.run(Object, int) line: 141
    java.lang.Thread.run() line: 840
  ]
}}

"""
ROW = '{{"t":1.0,"pid":{pid},"role":"executor","executor_id":"{name}","reason":{reason}}}\n'


def printed(**count_of: int) -> str:
    """What `jfr print` says of samples that end in these methods."""
    return "".join(SAMPLE.format(inner=f"shop.{name}()") * n for name, n in count_of.items())


def record(folder: Path, *rows: str, recordings: tuple[int, ...] = ()) -> Path:
    (folder / FOLDER).mkdir()
    (folder / FILE).write_text("".join(rows))
    for pid in recordings:
        (folder / FOLDER / f"{pid}.jfr").write_bytes(b"FLR")
    return folder


def program(folder: Path, says: str, code: int = 0) -> str:
    """Stands for the JDK's jfr: says this of every file."""
    (folder / "said").write_text(says)
    file = folder / "jfr-of-a-test"
    file.write_text(f"#!/bin/sh\ncat '{folder / 'said'}'\nexit {code}\n")
    file.chmod(0o700)
    return str(file)


def test_samples_of_all_executors_make_one_tree_in_which_each_has_its_own(tmp_path: Path) -> None:
    rows = [ROW.format(pid=pid, name=name, reason="null") for pid, name in ((7, "0"), (8, "1"))]
    record(tmp_path, *rows, recordings=(7, 8))
    read = flame.read_flame(tmp_path, program(tmp_path, printed(parse=3, hash=1)))
    assert isinstance(read, Flame)
    assert read.samples == {"0": 4, "1": 4} and read.absent == {}
    assert read.top == [Method("shop.parse", 6), Method("shop.hash", 2)]
    rows_of = {read.frames[frame]: row for row, frame in enumerate(read.frame)}
    assert read.parent[rows_of["shop.parse"]] == rows_of["org.apache.spark.Task.run"]
    assert read.parent[rows_of["java.lang.Thread.run"]] == -1
    assert read.self_samples["1"][rows_of["shop.parse"]] == 3
    assert sum(read.self_samples["0"]) == 4, "a sample counts once"


def test_generated_classes_of_any_number_are_one_method() -> None:
    lines = "".join(
        SAMPLE.format(inner=f"shop.Job$$Lambda${n}.0x00000008012{n}.1234.apply(Object)")
        for n in (14, 233)
    )
    assert {stack[-1] for stack in flame.stacks(lines.splitlines())} == {"shop.Job$$Lambda.apply"}


def test_calls_too_rare_to_be_drawn_are_counted_in_their_caller(tmp_path: Path) -> None:
    record(tmp_path, ROW.format(pid=7, name="0", reason="null"), recordings=(7,))
    read = flame.read_flame(tmp_path, program(tmp_path, printed(parse=2999, rare=1)))
    assert isinstance(read, Flame)
    assert "shop.rare" not in read.frames and Method("shop.rare", 1) in read.top
    assert sum(read.self_samples["0"]) == 3000


@pytest.mark.parametrize(
    ("reason", "there", "code", "why"),
    [
        ("null", False, 0, "its JVM left no recording: it was killed, or could not write it"),
        ("null", True, 1, "jfr print ended with 1: the recording is cut off or damaged"),
        ('"no jcmd here"', False, 0, "no jcmd here"),
    ],
)
def test_a_jvm_without_samples_is_named_with_the_reason(
    tmp_path: Path, reason: str, there: bool, code: int, why: str
) -> None:
    row = ROW.format(pid=7, name="0", reason=reason)
    record(tmp_path, row, recordings=(7,) if there else ())
    found = flame.read_flame(tmp_path, program(tmp_path, printed(parse=1), code))
    assert found == Absent(f"0: {why}")


def test_a_java_without_the_reader_a_large_file_and_too_much_time_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path, ROW.format(pid=7, name="0", reason="null"), recordings=(7,))
    assert "no 'jfr' to read" in str(flame.read_flame(tmp_path, None))
    monkeypatch.setattr(flame, "_MOST_S", 0.0)
    assert "took 0 s, the limit" in str(flame.read_flame(tmp_path, "/bin/false"))
    os.truncate(tmp_path / FOLDER / "7.jfr", (64 << 20) + 1)
    assert "its recording has 64 MB" in str(flame.read_flame(tmp_path, "/bin/false"))
    (tmp_path / FOLDER / "7.jfr").unlink()
    os.mkfifo(tmp_path / FOLDER / "7.jfr")
    assert "left no recording" in str(flame.read_flame(tmp_path, "/bin/cat"))


def test_without_room_in_shared_memory_nothing_is_recorded_and_the_reason_stands_in_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = shutil._ntuple_diskusage(64 << 20, 63 << 20, 1 << 20)
    monkeypatch.setattr("hearth.record.flame.shutil.disk_usage", lambda _: full)
    writer = RecordWriter.create(new_directory(tmp_path, "job"), "job", Launched())
    recordings = Recordings(writer, Path("/proc"), "/bin/false")
    assert recordings.problem == "/dev/shm has 1 MB free: a recording needs 128"
    recordings.close()
    assert [*Path("/dev/shm").glob(f"hearth-jfr-{os.getpid()}-*")] == []


def test_stacks_that_async_profiler_counted_make_the_same_tree_without_a_jdk(
    tmp_path: Path,
) -> None:
    record(tmp_path, ROW.format(pid=7, name="0", reason="null"))
    (tmp_path / FOLDER / "7.collapsed").write_text(
        "java/lang/Thread.run;shop/Job$$Lambda+0x1f2a.parse;__memmove_avx_unaligned 3\n"
        "java/lang/Thread.run;shop/Job.hash 2\n"
        "CompileBroker::compiler_thread_loop();C2Compiler::compile_method 5\n"
    )
    read = flame.read_flame(tmp_path, None)
    assert isinstance(read, Flame)
    assert (read.sampled_by, read.samples) == ("async-profiler", {"0": 10})
    assert read.top == [
        Method("C2Compiler::compile_method", 5),
        Method("__memmove_avx_unaligned", 3),
        Method("shop.Job.hash", 2),
    ]
    assert "shop.Job$$Lambda.parse" in read.frames


@pytest.mark.parametrize("text", ["java/lang/Thread.run\n", "a;b 1\nc;d x\n", "\0\0\n", " 5\n"])
def test_damaged_stacks_are_named_and_nothing_is_drawn_of_them(tmp_path: Path, text: str) -> None:
    record(tmp_path, ROW.format(pid=7, name="0", reason="null"))
    (tmp_path / FOLDER / "7.collapsed").write_text(text)
    read = flame.read_flame(tmp_path, None)
    assert isinstance(read, Absent)
    assert "0: its stacks cannot be read: " in read.reason


def test_async_profiler_is_found_where_its_home_or_the_path_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("bin", "lib"):
        (tmp_path / folder).mkdir()
    launcher, library = tmp_path / "bin" / "asprof", tmp_path / "lib" / "libasyncProfiler.so"
    launcher.touch(mode=0o755)
    monkeypatch.delenv("ASYNC_PROFILER_HOME", raising=False)
    monkeypatch.setenv("PATH", str(launcher.parent))
    assert async_profiler() is None
    library.touch()
    assert async_profiler() == str(library)
    monkeypatch.setenv("ASYNC_PROFILER_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(
        UserError, match=r"ASYNC_PROFILER_HOME: no lib/libasyncProfiler.so in '.*/nowhere'"
    ):
        async_profiler()
    monkeypatch.setenv("ASYNC_PROFILER_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    assert async_profiler() == str(library)
