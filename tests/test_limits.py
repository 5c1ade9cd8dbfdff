"""What a cgroup allows of CPU time and threads is what a plan uses: tried in real cgroups."""

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from hearth.base.ids import parse_ids
from support import Command, command, environment, eventually, require

GROUPS = Path("/sys/fs/cgroup")


def child_of(controller: str, stack: ExitStack) -> tuple[Path, bool]:
    """A new cgroup for a controller, which goes with the stack; whether it is of version 2."""
    unified = (GROUPS / "cgroup.controllers").exists()
    parent = GROUPS if unified else GROUPS / controller
    group = parent / f"hearth-test-{controller}-{os.getpid()}"
    try:
        group.mkdir()
        stack.callback(eventually, "the cgroup is gone", lambda: removed(group))
        if unified:
            (parent / "cgroup.subtree_control").write_text(f"+{controller}")
    except OSError as error:
        stack.close()
        require("cgroups", f"no cgroup can be made: {error}")
    return group, unified


def removed(group: Path) -> bool:
    """A process that has just ended may hold it for a moment."""
    with suppress(OSError):
        group.rmdir()
    return not group.exists()


def quota(group: Path, unified: bool, cpus: float) -> None:
    if unified:
        (group / "cpu.max").write_text(f"{int(cpus * 100_000)} 100000")
    else:
        (group / "cpu.cfs_quota_us").write_text(f"{int(cpus * 100_000)}")


@pytest.fixture
def limited(hearth: Command) -> Iterator[Callable[..., Any]]:
    """Runs `hearth` in a cgroup with a quota of CPUs or a limit of threads."""
    with ExitStack() as stack:
        made = {name: child_of(name, stack) for name in ("cpu", "pids")}

        def run(*words: str, cpus: float | None = None, threads: int | None = None) -> Any:
            joined = []
            if cpus is not None:
                quota(*made["cpu"], cpus)
                joined.append(made["cpu"][0])
            if threads is not None:
                (made["pids"][0] / "pids.max").write_text(f"{threads}")
                joined.append(made["pids"][0])

            def join() -> None:
                for group in joined:
                    (group / "cgroup.procs").write_text("0")

            return hearth(*words, preexec_fn=join)

        yield run


def test_a_plan_in_a_cgroup_with_a_cpu_quota_has_no_more_task_slots_than_it_allows(
    limited: Callable[..., Any],
) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        require("two CPUs", "a quota of one CPU narrows nothing on one")
    plan = json.loads(limited("plan", "--json", cpus=1.5).stdout)
    assert plan["master"] == "local[1]"
    assert "-XX:ActiveProcessorCount=1" in plan["conf"]["spark.driver.extraJavaOptions"]
    reason = next(r for r in plan["reasons"] if r["decision"] == "cpu quota")
    assert reason["value"] == "1.5 CPUs"
    shown = " ".join(limited("plan", cpus=1.5).stdout.split())
    assert "limit cpu quota 1.5 CPUs: no more task slots than the whole CPUs" in shown
    assert "CPU quota the time of 1.5 CPUs" in " ".join(
        limited("topology", cpus=1.5).stdout.split()
    )
    asked = json.loads(limited("plan", "--json", "--executors", "2", cpus=1.5).stdout)
    assert asked["master"] == "local-numa[2x1]"
    said = next(r["because"] for r in asked["reasons"] if r["decision"] == "cpu quota")
    assert said.startswith("--executors makes 2 task slots, and the cgroup's CPU time is worth 1")


def test_a_limit_of_threads_that_executors_exceed_is_said_before_they_start(
    limited: Callable[..., Any],
) -> None:
    words = ("plan", "--executors", "1", "--json")
    plan = json.loads(limited(*words, threads=160).stdout)
    reason = next(r for r in plan["reasons"] if r["decision"] == "threads")
    assert "pids.max allows 160" in reason["because"]
    refused = limited(*words, threads=100)
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1, refused.stderr
    assert "pids.max: 100 does not fit" in refused.stderr
    assert "threads at most 160 (pids.max)" in " ".join(
        limited("topology", threads=160).stdout.split()
    )


@pytest.mark.command
def test_where_sys_is_hidden_the_plan_is_made_from_what_the_process_may_use(tmp_path: Path) -> None:
    unshare = shutil.which("unshare")
    if not unshare or os.geteuid() != 0:
        require("namespaces", "a namespace of mounts takes root and unshare")
    script = f"mount -t tmpfs none /sys && exec {shlex.join(command('plan', '--json'))}"
    ran = subprocess.run(
        [str(unshare), "-m", "sh", "-c", script],
        check=False,
        env=environment(tmp_path / "state"),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    plan = json.loads(ran.stdout)
    cpus = {cpu for executor in plan["executors"] for cpu in parse_ids(executor["cpus"])}
    assert cpus == os.sched_getaffinity(0)
