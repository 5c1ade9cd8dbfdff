"""The probes: known workloads with known answers, captured trees, processes that vanish."""

import json
import mmap
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hearth.base.processes import start_ticks
from hearth.record import kernel
from hearth.record.discovery import ObservedProcess, ProcessFinder
from hearth.record.gc_copy import MOST_BYTES, GcLogCopies, local_log_name
from hearth.record.probes import survey
from hearth.record.probes.bandwidth import BandwidthProbe
from hearth.record.probes.base import Probe, Roots, SampledProcess
from hearth.record.probes.counters import CountersProbe
from hearth.record.probes.memory import MemoryProbe
from hearth.record.probes.perf import try_events
from hearth.record.probes.process import ProcessProbe
from hearth.record.probes.system import SystemProbe
from hearth.record.probes.threads import ThreadProbe, kind_of
from hearth.record.sampler import Sampler, Schedule
from hearth.record.schema import Launched
from hearth.record.store import RecordWriter, new_directory
from support import eventually, fake_perf, probed, require

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@contextmanager
def workload(program: str) -> Iterator[SampledProcess]:
    """A Python program that says `ready` when it has done its work, and then waits."""
    code = f"{program}\nprint('ready', flush=True)\nimport sys\nsys.stdin.read()\n"
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        ticks = start_ticks(process.pid)
        assert ticks is not None
        yield SampledProcess(process.pid, ticks, "executor")
    finally:
        process.kill()
        process.communicate()


def one(probe: Probe, target: SampledProcess) -> dict[str, Any]:
    (answer,) = probe.sample([target])
    return answer[1]


def test_user_time_is_the_cpu_seconds_that_a_busy_loop_used() -> None:
    busy = """
import time
while time.process_time() < 0.8: sum(range(1000))
"""
    with workload(busy) as target:
        row = one(ProcessProbe(Roots()), target)
    seconds = (row["utime"] + row["stime"]) / TICKS_PER_S
    assert 0.78 <= seconds < 1.2  # two clock ticks of 10 ms are cut off


def test_a_sleeper_switches_voluntarily_as_often_as_it_sleeps_in_all_its_threads() -> None:
    sleeper = """
import threading, time
def sleep():
    for _ in range(50): time.sleep(0.002)
    slept.wait()
    done.wait()
done, slept = threading.Event(), threading.Barrier(4)
for _ in range(3): threading.Thread(target=sleep, daemon=True).start()
slept.wait()
"""
    with workload(sleeper) as target:
        row = one(ProcessProbe(Roots()), target)
    assert 150 <= row["voluntary"] < 400


def test_a_thread_that_ended_keeps_what_was_last_read_of_it(tmp_path: Path) -> None:
    target = captured_process(tmp_path, 40, threads={40: (5, 1), 41: (10, 2)})
    probe = ProcessProbe(Roots(proc=tmp_path))
    first = one(probe, target)
    assert (first["rss_kb"], first["rss_max_kb"]) == (8, 9)
    assert first["write_bytes"] == 4
    shutil.rmtree(tmp_path / "40" / "task" / "41")
    second = one(probe, target)
    assert (first["voluntary"], first["involuntary"]) == (15, 3)
    assert (second["voluntary"], second["involuntary"]) == (15, 3)


def at_rest(pid: int) -> bool:
    """Whether no thread of a process ran in a tenth of a second."""

    def ran() -> list[str]:
        return [file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/schedstat")]

    before = ran()
    time.sleep(0.1)
    return ran() == before


def test_switches_of_a_thread_that_runs_again_are_added_at_the_next_sample() -> None:
    """A thread that has not run since the last sample is not read again; one that has run is."""
    sleeper = """
import sys, threading, time
def sleep():
    go.wait()
    for _ in range(100): time.sleep(0.002)
    slept.set()
    threading.Event().wait()
go, slept = threading.Event(), threading.Event()
threading.Thread(target=sleep, daemon=True).start()
print('ready', flush=True)
sys.stdin.readline()
go.set()
slept.wait()
print('ran', flush=True)
sys.stdin.read()
"""
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", sleeper], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == b"ready\n"
        target = SampledProcess(process.pid, start_ticks(process.pid) or 0, "executor")
        eventually("both threads wait", lambda: at_rest(process.pid))
        probe = ProcessProbe(Roots())
        first, still = one(probe, target), one(probe, target)
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"ran\n"
        ran = one(probe, target)
    finally:
        process.kill()
        process.communicate()
    assert still["voluntary"] == first["voluntary"]
    assert 100 <= ran["voluntary"] - first["voluntary"] <= 300  # its hundred sleeps


def test_pages_that_a_process_touches_are_its_anonymous_memory_on_some_node() -> None:
    probe = MemoryProbe(Roots())
    reason = probe.supported()
    if reason is not None:
        require("numa", reason)
    touch = f"""
import mmap
held = mmap.mmap(-1, {64 << 20}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, {64 << 20}, {mmap.PAGESIZE}): held[at] = 1
"""
    with workload("pass") as target:
        before = one(probe, target)
    with workload(touch) as target:
        after = one(probe, target)
        process = one(ProcessProbe(Roots()), target)
    grown = anonymous_kb(after) - anonymous_kb(before)
    assert grown == pytest.approx(64 << 10, rel=0.03)  # one interpreter has a page more or less
    assert process["minflt"] > 0


def anonymous_kb(row: dict[str, Any]) -> int:
    return sum(node["anon_kb"] for node in row["nodes"].values())


def test_the_cpu_on_which_a_pinned_thread_runs_is_told_with_its_name() -> None:
    cpu = max(os.sched_getaffinity(0))
    pinned = f"""
import os, time
os.sched_setaffinity(0, {{{cpu}}})
open('/proc/self/comm', 'w').write('Executor task launch worker for task 1')
while time.process_time() < 0.2: pass
"""
    with workload(pinned) as target:
        row = one(ThreadProbe(Roots()), target)
    assert row["names"][str(target.pid)] == ["Executor task l", "task"]
    assert [ran[:2] for ran in row["ran"]] == [[target.pid, cpu]]


def test_a_thread_whose_schedstat_stands_still_is_not_read_again(tmp_path: Path) -> None:
    target = captured_process(tmp_path, 40)
    probe, task = ThreadProbe(Roots(proc=tmp_path)), tmp_path / "40" / "task" / "40"
    assert one(probe, target)["ran"] == [[40, 39, 14, 15]]
    stat = (task / "stat").read_text().replace("(a (b) c)", "(GC Thread#0)")
    (task / "stat").write_text(stat.replace(" 14 15 ", " 24 15 "))
    assert (one(probe, target)["ran"], one(probe, target)["names"]) == ([], {})
    (task / "schedstat").write_text("5000 2000 4\n")
    again = one(probe, target)
    assert again["ran"] == [[40, 39, 24, 15]]
    assert again["names"] == {"40": ["GC Thread#0", "gc"]}


@pytest.mark.parametrize(
    ("comm", "kind"),
    [
        ("Executor task l", "task"),
        ("Executor task i", "task"),
        ("shuffle-client-", "communication"),
        ("rpc-server-4-1", "communication"),
        ("GC Thread#0", "gc"),
        ("G1 Conc#0", "gc"),
        ("ZWorkerYoung#0", "gc"),
        ("C2 CompilerThre", "compiler"),
        ("VM Thread", "vm"),
        ("java", "other"),
    ],
)
def test_a_threads_kind_is_known_from_the_name_that_the_kernel_cut(comm: str, kind: str) -> None:
    assert len(comm) <= 15
    assert kind_of(comm) == kind


def test_busy_ticks_of_the_machine_grow_by_what_a_busy_loop_used() -> None:
    probe = SystemProbe(Roots())
    target = SampledProcess(1, 1, "driver")
    before, began = one(probe, target), time.process_time()
    user = kernel.CPU_FIELDS.index("user")

    def grown_s(after: dict[str, Any]) -> float:
        ticks = sum(after["cpu"][cpu][user] - before["cpu"][cpu][user] for cpu in after["cpu"])
        return ticks / TICKS_PER_S

    # A hypervisor that takes the processor away makes the kernel miss ticks, so that a loop of
    # one second may be booked as a third of one: it goes on until half a second is booked.
    after = before
    while grown_s(after) < 0.5 and time.process_time() - began < 10:
        burnt = time.process_time()
        while time.process_time() - burnt < 0.5:
            pass
        after = one(probe, target)
    assert grown_s(after) >= 0.5


def test_a_captured_machine_is_read_as_it_was(tmp_path: Path) -> None:
    roots = Roots(proc=tmp_path / "proc")
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text(
        "cpu  3 0 3 30 0 0 0 0 0 0\ncpu0 1 0 2 10 0 0 0 5 0 0\ncpu9 2 0 1 20 7 0 0 0 0 0\n"
        "ctxt 99\nbtime 1\nprocs_running 4\nprocs_blocked 1\n"
    )
    (tmp_path / "proc/vmstat").write_text("nr_free_pages 5\nnuma_pages_migrated 77\nnuma_hit 3\n")
    row = one(SystemProbe(roots), SampledProcess(1, 1, "driver"))
    assert row["cpu"] == {"0": [1, 0, 2, 10, 0, 0, 0, 5], "9": [2, 0, 1, 20, 7, 0, 0, 0]}
    assert row["vmstat"] == {"numa_pages_migrated": 77, "numa_hit": 3}


def test_pages_of_a_captured_process_are_told_apart_by_node_and_kind(tmp_path: Path) -> None:
    target = captured_process(tmp_path, 77)
    (tmp_path / "77/numa_maps").write_text(
        "7f00 bind:1 anon=300 dirty=300 N0=100 N8=200 kernelpagesize_kB=4\n"
        "7f10 bind:1 file=/usr/lib/libjvm.so anon=2 mapped=12 N0=12 kernelpagesize_kB=4\n"
        "7f20 default huge anon=3 dirty=3 N8=3 kernelpagesize_kB=2048\n"
        "7f30 default\n"
    )
    row = one(MemoryProbe(Roots(proc=tmp_path)), target)
    assert row["nodes"]["0"] == {"anon_kb": 400, "file_kb": 48, "huge_kb": 0}
    assert row["nodes"]["8"] == {"anon_kb": 800, "file_kb": 0, "huge_kb": 6144}
    assert row["policies"] == {"bind:1": 2, "default": 2}


@pytest.mark.parametrize("kind", [ProcessProbe, MemoryProbe, ThreadProbe])
def test_a_process_that_vanished_is_passed_over(kind: type[Probe]) -> None:
    gone = subprocess.Popen([sys.executable, "-c", "pass"])
    ticks = start_ticks(gone.pid) or 1
    gone.wait()
    with workload("pass") as alive:
        rows = [
            row
            for _, row in kind(Roots()).sample([SampledProcess(gone.pid, ticks, "executor"), alive])
        ]
    assert [row["pid"] for row in rows] == [alive.pid]


def test_another_process_with_the_same_id_is_not_taken_for_the_one_that_ended() -> None:
    with workload("pass") as target:
        earlier = SampledProcess(target.pid, target.start_ticks - 1, "executor")
        assert list(ProcessProbe(Roots()).sample([earlier])) == []
        assert list(MemoryProbe(Roots()).sample([earlier])) == []


def test_resctrl_counts_by_cache_and_an_unavailable_counter_is_left_out(tmp_path: Path) -> None:
    for domain, total in (("00", "1000"), ("01", "Unavailable")):
        folder = tmp_path / f"fs/resctrl/mon_data/mon_L3_{domain}"
        folder.mkdir(parents=True)
        (folder / "mbm_total_bytes").write_text(f"{total}\n")
    probe = BandwidthProbe(Roots(sys=tmp_path))
    assert probe.supported() is None
    row = one(probe, SampledProcess(1, 1, "driver"))
    assert row["total_bytes"] == {"L3:00": 1000}


def test_each_probe_tells_that_it_works_or_why_not() -> None:
    rows = {row.name: row for row in survey(Roots())}
    assert list(rows) == ["system", "process", "memory", "threads", "bandwidth", "counters"]
    for row in rows.values():
        assert (row.status == "absent") == bool(row.reason)
        assert row.more["cost"]


def test_without_perf_the_counters_are_absent_with_what_to_install() -> None:
    probe = CountersProbe(Roots(), perf=None)
    probe._perf = None
    assert "perf is not installed" in str(probe.supported())


def test_an_event_that_is_not_counted_is_told_as_absent_and_never_as_zero(tmp_path: Path) -> None:
    lines = [
        "0.1,5000,,cycles,100,80.00,,",
        "0.1,<not supported>,,LLC-loads,0,100.00,,",
        "0.1,9,,branches:u,100,100.00,,",
    ]
    tried = try_events(fake_perf(tmp_path, lines), ["cycles", "LLC-loads", "branches"])
    assert tried.counted == ("cycles", "branches")
    assert tried.absent == {"LLC-loads": "not supported"}


def test_what_perf_says_of_a_process_becomes_rows_with_their_interval(tmp_path: Path) -> None:
    lines = [
        "1.0,5000,,cycles,900,45.00,,",
        "2.1,<not counted>,,cycles,0,0.00,,",
    ]
    probe = CountersProbe(Roots(), perf=fake_perf(tmp_path, lines, "sleep 30"))
    probe.use(["cycles"])
    with workload("pass") as target:
        cycles = [row for _, row in probed(probe, target, 2)]
    assert [(row["value"], row["running_share"]) for row in cycles] == [
        (5000.0, 0.45),
        (None, None),
    ]
    assert cycles[1]["interval_s"] == 1.1
    assert cycles[1]["absent"] == "not counted"


class CostlyProbe(MemoryProbe):
    """Stands for a heap whose page tables take long to walk."""


def test_a_costly_probe_is_asked_less_often_and_a_cheap_one_at_its_period() -> None:
    schedule = Schedule(CostlyProbe(Roots()), 10.0)
    assert schedule.after(cost_s=0.3, now=100.0)
    assert schedule.period_s == pytest.approx(0.3 / CostlyProbe.budget_share)
    assert schedule.due == pytest.approx(100.0 + schedule.period_s)
    for _ in range(100):
        schedule.after(cost_s=0.001, now=0.0)
    assert schedule.period_s == 10.0


def test_an_executor_that_is_no_child_of_the_driver_is_found_by_its_records_tag(
    tmp_path: Path,
) -> None:
    java = "/usr/bin/java"
    captured_process(tmp_path, 10, words=[java, "org.apache.spark.deploy.SparkSubmit", "a.py"])
    captured_process(tmp_path, 11, parent=10, words=["/usr/bin/python3", "a.py"])
    backend = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
    own = [java, "-Xlog:gc*:file=hearth-gc-REC1-%p.log", backend, "--executor-id", "3"]
    captured_process(tmp_path, 20, words=own)
    captured_process(tmp_path, 21, parent=20, words=["python3", "-m", "pyspark.daemon"])
    captured_process(tmp_path, 22, words=["docker", "run", "image", *own])
    captured_process(tmp_path, 30, words=[java, "-Xlog:file=REC2", backend, "--executor-id", "3"])
    finder = ProcessFinder(tmp_path, driver=10, tag="REC1")
    seen = {row["pid"]: (row["role"], row["executor_id"]) for row in finder.scan()}
    assert seen == {
        10: ("driver", "driver"),
        11: ("python", "driver"),
        20: ("executor", "3"),
        21: ("python", "3"),
    }
    script = ["bash", "bin/spark-class", "org.apache.spark.deploy.SparkSubmit", "a.py"]
    (tmp_path / "10" / "cmdline").write_bytes("\0".join(script).encode())
    assert [(row["pid"], row["role"]) for row in finder.scan()] == [(10, "other")]
    shutil.rmtree(tmp_path / "20")
    assert [(row["pid"], row["event"]) for row in finder.scan()] == [(20, "gone")]


def test_a_child_that_an_executor_has_just_forked_is_no_executor(tmp_path: Path) -> None:
    words = ["/usr/bin/java", "-Xlog:file=REC1", "a.CoarseGrainedExecutorBackend"]
    captured_process(tmp_path, 10, words=["bash", "bin/spark-class"])
    captured_process(tmp_path, 20, parent=10, words=words)
    captured_process(tmp_path, 21, parent=20, words=words)
    finder = ProcessFinder(tmp_path, driver=10, tag="REC1")
    assert [row["role"] for row in finder.scan()] == ["other", "executor", "other"]
    (tmp_path / "21" / "cmdline").write_text("python3\0-m\0pyspark.daemon\0")
    assert [(row["pid"], row["role"]) for row in finder.scan()] == [(21, "python")]


def test_what_ran_before_the_driver_is_no_process_of_the_application(tmp_path: Path) -> None:
    """So that thousands of them are looked at once and not five times."""
    executor = ["/usr/bin/java", "-Xlog:file=REC1", "a.CoarseGrainedExecutorBackend"]
    captured_process(tmp_path, 10, words=["bash", "bin/spark-class"], start=50)
    captured_process(tmp_path, 20, words=executor, start=49)
    captured_process(tmp_path, 21, words=executor, start=50)
    finder = ProcessFinder(tmp_path, driver=10, tag="REC1")
    assert [row["pid"] for _ in range(2) for row in finder.scan()] == [10, 21]


def test_a_process_of_another_user_is_not_sampled_whatever_its_command_line_says(
    tmp_path: Path,
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make another user's process")
    words = ["/tmp/java", "-Xlog:file=REC1", "a.CoarseGrainedExecutorBackend"]
    captured_process(tmp_path, 10, words=["bash", "bin/spark-class"])
    captured_process(tmp_path, 20, words=words)
    captured_process(tmp_path, 21, parent=10, words=words)  # what the driver started
    for stranger in ("20", "21"):
        os.chown(tmp_path / stranger, 12345, 12345)
    finder = ProcessFinder(tmp_path, driver=10, tag="REC1")
    assert [row["pid"] for row in finder.scan()] == [10, 21]
    assert finder.strangers == {20}


def test_the_memory_of_a_driver_is_sampled_as_soon_as_its_shell_has_become_a_jvm(
    tmp_path: Path,
) -> None:
    jvm = f"read x; exec -a java {sys.executable} -c 'input()' org.apache.spark.deploy.SparkSubmit"
    driver = subprocess.Popen(["bash", "-c", jvm], stdin=subprocess.PIPE, text=True)
    assert driver.stdin is not None
    probes = [row for row in survey(Roots()) if row.name == "memory"]
    head = Launched(probes=probes, master="x")
    writer = RecordWriter.create(new_directory(tmp_path, "job"), "job", head)
    sampler = Sampler(writer, driver.pid, Roots())
    samples = writer.directory / "samples" / "memory.jsonl"

    def sampled() -> bool:
        sampler.step()
        return samples.is_file()

    try:
        assert not sampled()
        driver.stdin.write("\n")
        driver.stdin.flush()
        eventually("its memory is sampled", sampled, MemoryProbe.least_period_s / 2)
    finally:
        driver.kill()
        driver.communicate()
        sampler.close()


@pytest.mark.parametrize("kind", ["fifo", "link", "directory", "sparse"])
def test_a_gc_log_that_is_none_neither_stops_the_sampler_nor_fills_the_disk(
    tmp_path: Path, kind: str
) -> None:
    proc, record = tmp_path / "proc", tmp_path / "REC1"
    executor = captured_process(proc, 20)
    (proc / "20" / "status").write_text("Name:\tjava\nNSpid:\t20\n")
    (record / "gc").mkdir(parents=True)
    log = proc / "20" / "cwd" / local_log_name("REC1", "20")
    log.parent.mkdir()
    if kind == "fifo":
        os.mkfifo(log)
    elif kind == "link":
        log.symlink_to("/etc/passwd")
    elif kind == "directory":
        log.mkdir()
    else:
        with log.open("wb") as sparse:
            sparse.truncate(3 << 30)
    lost: list[OSError] = []
    warned: list[str] = []
    copies = GcLogCopies(proc, record, lost.append, lambda what, _: warned.append(what))
    for _ in range(2):
        copies.follow([ObservedProcess(executor, 1, "1", "java")])
    copies.follow([])
    kept = sum(file.stat().st_size for file in (record / "gc").iterdir())
    assert kept == (MOST_BYTES if kind == "sparse" else 0)
    assert len(warned) == (1 if kind == "sparse" else 0)
    assert not lost


def captured_process(
    proc: Path,
    pid: int,
    parent: int = 1,
    start: int = 22,
    words: list[str] | None = None,
    threads: dict[int, tuple[int, int]] | None = None,
) -> SampledProcess:
    """A process's files below a captured /proc; threads: voluntary and involuntary switches."""
    folder = proc / str(pid)
    fields = [start if field == 22 else field for field in range(5, 53)]
    stat = f"{pid} (a (b) c) S {parent} {' '.join(map(str, fields))}"
    status = "Name:\tx\nVmRSS:\t8 kB\nVmHWM:\t9 kB\nRssAnon:\t4 kB\nRssFile:\t4 kB\n"
    for tid, (voluntary, involuntary) in (threads or {pid: (1, 1)}).items():
        task = folder / "task" / str(tid)
        task.mkdir(parents=True)
        switches = f"voluntary_ctxt_switches:\t{voluntary}\n"
        (task / "status").write_text(f"{switches}nonvoluntary_ctxt_switches:\t{involuntary}\n")
        (task / "schedstat").write_text("1000 2000 3\n")
        (task / "stat").write_text(stat)
    (folder / "stat").write_text(stat)
    (folder / "status").write_text(status)
    (folder / "io").write_text("rchar: 1\nwchar: 2\nread_bytes: 3\nwrite_bytes: 4\n")
    (folder / "cmdline").write_bytes("\0".join(words or ["x"]).encode() + b"\0")
    return SampledProcess(pid, 22, "executor")


SAMPLER = """
import sys
from pathlib import Path
from hearth.record import sampler
sys.exit(sampler.main(Path(sys.argv[1]), int(sys.argv[2])))
"""


def test_the_sampler_ends_what_the_driver_left_when_its_owner_is_gone(tmp_path: Path) -> None:
    child = "import subprocess, sys, time\n"
    child += "print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(120)']).pid)\n"
    child += "sys.stdout.flush(); time.sleep(120)"
    driver = subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    grandchild = int(driver.stdout.readline())
    ticks = start_ticks(grandchild)
    probes = [row for row in survey(Roots()) if row.name == "process"]
    head = Launched(probes=probes, master="x")
    writer = RecordWriter.create(tmp_path / "records" / f"r-{driver.pid}-{ticks}", "x", head)
    sampler = subprocess.Popen(
        [sys.executable, "-c", SAMPLER, str(writer.directory), str(driver.pid)],
        stdin=subprocess.PIPE,
    )
    samples = writer.directory / "samples" / "process.jsonl"
    eventually("a sample is kept", samples.is_file)
    assert sampler.stdin is not None
    sampler.stdin.close()  # as when the owner was killed
    driver.kill()  # as the kernel does to the driver then
    driver.wait()
    assert sampler.wait(30) == 0
    assert start_ticks(grandchild) != ticks
    pids = {json.loads(line)["pid"] for line in samples.read_text().splitlines()}
    assert pids <= {driver.pid, grandchild}


def test_a_driver_whose_launcher_takes_long_is_found_when_it_becomes_a_jvm(tmp_path: Path) -> None:
    """bin/spark-class is a shell that runs a JVM first: seconds, on a busy or a slow machine."""
    shell = ["bash", "bin/spark-class", "org.apache.spark.deploy.SparkSubmit"]
    captured_process(tmp_path, 10, words=shell)
    finder = ProcessFinder(tmp_path, driver=10, tag="REC1")
    assert [row["role"] for _ in range(20) for row in finder.scan()] == ["other"]
    java = ["/usr/bin/java", "-cp", "jars/*", "org.apache.spark.deploy.SparkSubmit"]
    (tmp_path / "10" / "cmdline").write_text("\0".join(java) + "\0")
    assert [row["role"] for row in finder.scan()] == ["driver"]
    assert [target.role for target in finder.targets] == ["driver"]
