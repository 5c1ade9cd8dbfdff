"""What is kept of each run that is not profiled: `status`, `runs`, `report`, the tab, kills."""

import json
import os
import re
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.made_record import make_record
from hearth.base.processes import CpuSeconds, start_ticks
from hearth.cli.options import read_line
from hearth.machine.applications import forget_oldest, read_applications
from hearth.machine.memory_kills import MemoryGroup, memory_groups, memory_kills
from hearth.machine.tree import Tree
from hearth.report.terminal.light import planned
from hearth.spark.command import Launch
from hearth.spark.followed import RunEnd
from hearth.spark.kept_run import forget_profiled, keep_how_it_ended, keep_start
from hearth.spark.submission import Submission
from hearth.spark.submit_args import Option
from hearth.workloads.logs import reason
from planned_machines import a_plan
from support import BOTH_CPUS, Command, command, environment, eventually, require

_JVM = {"task_slots": 4, "heap_mb": 2048}
ONE_JVM = a_plan({"mode": "native", "master": "local[2]", "executors": [_JVM]})
ENDED = RunEnd(True, 0, 42.0, CpuSeconds(30.0, 1.5), peak_mb=700)


def submission(plan: Any = ONE_JVM, **settings: str) -> Submission:
    options = [Option("--conf", "spark.my.password=hush")]
    launch = Launch(Path("spark-submit"), options, ["job.py", "--token", "hush"], {}, [])
    return Submission(launch, settings, "local[2]" if plan else "yarn", plan)


def kept(state: Path, pid: int = 0, plan: Any = ONE_JVM, record: str | None = None) -> RunEnd:
    """Keeps the start of a run whose process is this test or the one given."""
    line, pid = read_line(["job.py", "--token", "hush"]), pid or os.getpid()
    home = keep_start(submission(plan), line, state, pid, record)
    return replace(ENDED, pid=pid, start_ticks=start_ticks(pid) or 0, said=str(home or ""))


def driver_writes(state: Path, app: str, end: RunEnd, master: str = "local[2]") -> None:
    """What a driver does with what was kept of its start."""
    home = state / "applications"
    made = home / f"submit-{end.pid}-{end.start_ticks}"
    if made.exists():
        made.rename(home / app)
    else:
        (home / app).mkdir()
    run = {"schema": "hearth/run/1", "app_id": app, "name": "trivial", "master": master}
    run |= {"driver_pid": end.pid, "driver_start_ticks": end.start_ticks, "state": "finished"}
    run |= {"started_at": "2026-11-21T09:00:07.5Z"}
    work = {"tasks": 20, "failed_tasks": 1, "task_seconds": 50.0, "gc_seconds": 5.0}
    (home / app / "run.json").write_text(
        json.dumps({**run, "work": {**work, "killed_executors": ["3"]}})
    )


@pytest.fixture
def over() -> Iterator[int]:
    """The id of a process that a test may end."""
    process = subprocess.Popen(["sleep", "600"])
    yield process.pid
    process.kill()
    process.wait()


def test_what_is_kept_is_private_and_has_no_secret(tmp_path: Path) -> None:
    kept(tmp_path)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert {file.name for file in files} == {"submit.json", "plan.json"}
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert "hush" not in "".join(file.read_text() for file in files)


def test_a_run_is_in_status_before_its_spark_has_started(hearth: Command, tmp_path: Path) -> None:
    kept(tmp_path / "state")
    shown = hearth("status").stdout
    assert re.search(r"-job-[0-9a-f]{4}  job  starting", shown)
    assert "unbound, one JVM by the plan: 4 task slots, heap" in shown and "memory now" in shown


def test_an_ended_run_is_listed_reported_and_deleted(
    hearth: Command, tmp_path: Path, over: int
) -> None:
    state = tmp_path / "state"
    end = kept(state, over)
    driver_writes(state, "local-1", end)
    os.kill(over, signal.SIGKILL)
    os.waitpid(over, 0)
    assert keep_how_it_ended(end, None) == []
    (row,) = json.loads(hearth("runs", "--json").stdout)["runs"]
    assert (row["state"], row["wall_s"], row["profiled"]) == ("finished", 42.0, False)
    shown = hearth("report", "last").stdout
    assert f"{row['id']}  trivial: finished in 42.0 s, exit code 0" in shown
    assert "20 (1 failed), run time 50.0 s, 10% of it garbage collection" in shown
    assert "700 MB at its peak" in shown and "executor 3" in shown
    assert shown.endswith("\n  hearth profile job.py --token '*********(redacted)'\n")
    assert json.loads(hearth("report", "last", "--json").stdout)["end"]["wall_s"] == 42.0
    refused = hearth("report", "local-1", "--html", "x.html")
    assert refused.returncode == 2 and "was not profiled" in refused.stderr
    (state / "records").mkdir()
    make_record(state / "records" / "20200101-000000-app-0001")  # an earlier run, with its record
    for line in ("lab predict --from", f"report --json {row['id']}"):
        refused = hearth(*line.split(), "last")
        assert f"'{row['id']}' was not profiled: run 'hearth profile job.py" in refused.stderr
    assert hearth("runs", "delete", "--yes", row["id"][-4:]).stdout.endswith("deleted 1\n")
    assert read_applications(state) == ([], [])


def test_a_profiled_run_is_listed_once_and_a_second_context_is_no_second_run(
    hearth: Command, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    end = kept(state, record="20261121-090000-job-3fa9")
    driver_writes(state, "local-1", end)
    driver_writes(state, "local-2", end)
    assert len(read_applications(state)[0]) == 2
    assert json.loads(hearth("runs", "--json").stdout)["runs"] == []
    forget_profiled(submission(), state, "20261121-090000-job-3fa9")
    (left,) = read_applications(state)[0]
    assert left.app_id == "local-2", "its record has all that was kept of the first"


def test_a_killed_driver_is_not_said_to_run(tmp_path: Path, over: int) -> None:
    kept(tmp_path, over)
    (running,) = read_applications(tmp_path)[0]
    assert (running.state, running.alive) == ("starting", True)
    os.kill(over, signal.SIGKILL)
    os.waitpid(over, 0)
    assert running.state == "gone"


def test_the_oldest_go_beyond_a_number_and_what_runs_stays(tmp_path: Path) -> None:
    home = tmp_path / "applications"
    end = kept(tmp_path)
    for number in range(4):
        driver_writes(tmp_path, f"local-{number}", replace(end, pid=1, start_ticks=1))
    forget_oldest(home, 2)
    left = sorted(path.name for path in home.iterdir())
    assert left == ["local-2", "local-3", f"submit-{end.pid}-{end.start_ticks}"]


def test_a_program_that_sets_the_master_itself_is_told_that_the_plan_did_not_run(
    tmp_path: Path,
) -> None:
    end = kept(tmp_path)
    driver_writes(tmp_path, "local-1", end, master="local[1]")
    said = "it ran on local[1], which the program sets itself, and not by the plan"
    assert keep_how_it_ended(end, None) == [said]
    (application,) = read_applications(tmp_path)[0]
    assert planned(application).endswith("(local[2]); the program set local[1] itself")


def test_a_command_that_is_passed_on_is_kept_without_a_plan(tmp_path: Path) -> None:
    kept(tmp_path, plan=None)
    (application,) = read_applications(tmp_path)[0]
    assert planned(application) == "none of hearth's: the master is yarn"


def test_where_nothing_can_be_kept_there_is_one_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "applications").write_text("a file")
    assert kept(tmp_path).said == ""
    assert capsys.readouterr().err.count("\n") == 1


GROUPS = {
    "proc/self/cgroup": "0::/job/step\n",
    "proc/self/mountinfo": "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
    "sys/fs/cgroup/job/step/memory.events": "oom 0\noom_kill 3\noom_group_kill 0\n",
    "sys/fs/cgroup/job/step/memory.events.local": "oom 0\n",
    "sys/fs/cgroup/job/step/memory.max": "max\n",
    "sys/fs/cgroup/job/memory.events": "oom 2\noom_kill 3\noom_group_kill 0\n",
    "sys/fs/cgroup/job/memory.events.local": "oom 2\n",
    "sys/fs/cgroup/job/memory.max": "3758096384\n",
}
OLDER = {
    "proc/self/cgroup": "4:memory:/docker/ab\n0::/\n",
    "proc/self/mountinfo": "30 20 0:26 /docker/ab /sys/fs/cgroup/memory rw - cgroup x rw,memory\n",
    "sys/fs/cgroup/memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "3758096384\n",
    "sys/fs/cgroup/memory/memory.failcnt": "7\n",
}
MACHINE = {"proc/self/cgroup": "0::/\n", "proc/vmstat": "pgfault 1\noom_kill 2\n"}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (GROUPS, "ended 3 processes for memory: limit 3.5 GB of '/sys/fs/cgroup/job'; raise"),
        (OLDER, "ended 1 process for memory: limit 3.5 GB of '/sys/fs/cgroup/memory'; raise"),
        (MACHINE, "ended 2 processes for memory: the machine had none left; give Spark less"),
    ],
)
def test_the_limit_is_that_of_the_group_that_met_it(
    tmp_path: Path, files: dict[str, str], said: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    after = memory_groups(Tree(tmp_path))
    before = [MemoryGroup(one.folder, one.limit_bytes, 0, 0) for one in after]
    kills = memory_kills(before, after, since_us=1 << 62)
    assert kills is not None and said in kills.sentence
    assert memory_kills(after, after, 0) is None


def test_a_trial_that_the_kernel_ended_fails_with_that_reason() -> None:
    said = "the kernel ended 1 process for memory (java): limit 3.5 GB of '/x'; raise the limit"
    assert reason(["java.io.EOFException", f"hearth: {said}", "hearth: record 1"]) == said


def test_the_kernel_is_asked_for_what_it_ended_and_by_which_limit(tmp_path: Path) -> None:
    group = _limited_group("64M")
    script = "import subprocess, sys\nfrom hearth.spark.kept_run import MemoryWatch\n"
    script += "watch = MemoryWatch()\n"
    script += "subprocess.run([sys.executable, '-c', 'bytearray(200 << 20)'])\n"
    script += "print(watch.kills().sentence)\n"
    try:
        words = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]
        done = subprocess.run(
            [*words, command()[0], "-c", script], capture_output=True, text=True, check=False
        )
        eventually("the group is empty", lambda: not (group / "cgroup.procs").read_text())
    finally:
        group.rmdir()
    assert "the kernel ended 1 process for memory" in done.stdout, done.stderr
    assert f"limit 64 MB of '{group}'; raise the limit" in done.stdout


def _limited_group(limit: str) -> Path:
    """A control group of this test's own with a limit of memory."""
    own = memory_groups()[0].folder
    group = Path("/", own, f"hearth-test-{os.getpid()}")
    try:
        group.mkdir()
    except OSError as refused:
        require("cgroup", f"no control group with a limit can be made here: {refused}")
    file = group / "memory.max"
    file = file if file.exists() else group / "memory.limit_in_bytes"
    try:
        file.write_text(limit)
    except OSError as refused:
        group.rmdir()
        require("cgroup", f"no limit can be set here: {refused}")
    return group


_WAITS = """
import time
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("waits").getOrCreate()
print(spark.sparkContext.parallelize(range(8), 4).sum(), flush=True)
time.sleep(300)
"""


@pytest.mark.spark
def test_one_jvm_is_in_status_and_has_its_tab_and_is_not_said_to_run_after_kill_9(
    hearth: Command, tmp_path: Path
) -> None:
    (tmp_path / "waits.py").write_text(_WAITS)
    theirs = "spark.plugins=io.hearth.plugin.BindingPlugin"
    words = command("submit", "--conf", theirs, "waits.py")
    run = subprocess.Popen(
        ["taskset", "--cpu-list", BOTH_CPUS, *words],
        env=environment(tmp_path / "state"), cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert run.stdout is not None and run.stdout.readline() == "28\n"
        (running,) = read_applications(tmp_path / "state")[0]
        assert running.state == "running" and not running.is_bound
        shown = hearth("status").stdout
        assert "waits  running" in shown and "unbound, one JVM by the plan: 2 task slots" in shown
        with urllib.request.urlopen(f"{running.record['ui']}/hearth/", timeout=60) as page:
            tab = page.read().decode()
        assert "Work so far" in tab and "The plan is one JVM, which is not bound." in tab
        os.kill(running.process[0], signal.SIGKILL)
        said = run.communicate(timeout=60)[1]
    finally:
        run.kill()
    assert run.returncode == 137 and "exit code 137" in said
    assert hearth("status").stdout.startswith("no application is running")
    assert "waits: failed after" in hearth("report", "last").stdout
