"""hearth status: applications on record, running and ended ones apart, a fresh reading."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hearth as hearth_api
from hearth.base.processes import start_ticks
from hearth.cli.main import main
from support import Command


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that stands for a driver and its executor."""
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def record(home: Path, app: str, pid: int, ticks: int | None, **more: Any) -> Path:
    """Writes the record of an application as the driver does."""
    folder = home / "applications" / app
    folder.mkdir(parents=True)
    run = {"schema": "hearth/run/1", "app_id": app, "name": "test", "driver_pid": pid}
    run |= {"driver_start_ticks": ticks, "master": "local-numa[1x1]", "state": "running"}
    run |= {"started_at": "2026-11-21T09:00:00.123456789Z", **more}
    (folder / "run.json").write_text(json.dumps(run))
    return folder


def place(folder: Path, pid: int, cpus: str) -> None:
    """Writes the placement record of one executor, planned for some CPUs."""
    executor = {"executor_id": "1", "place": 0, "host": "here", "pid": pid, "bound": True}
    executor |= {"start_ticks": start_ticks(pid), "planned_cpus": cpus}
    executor |= {"planned_memory_nodes": "0", "verdict": "as planned", "drift": []}
    report = {"schema": "hearth/placement/2", "app_id": folder.name, "executors": [executor]}
    report |= {"taken_at": "2026-11-21T09:00:00Z"}
    (folder / "placement.json").write_text(json.dumps(report))


def test_a_name_is_the_running_applications_where_ended_ones_share_it_and_its_ui_is_shown(
    hearth: Command, tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    ticks = start_ticks(sleeper.pid)
    record(tmp_path / "state", "app-over", 1, 1, state="finished", ui="http://box:4040")
    record(tmp_path / "state", "app-now", sleeper.pid, ticks, ui="http://box:4041")
    done = hearth("status", "test")
    assert done.returncode == 0, done.stderr
    assert "app-now  test  running" in done.stdout and "UI http://box:4041" in done.stdout
    assert "started 2026-11-21 09:00:00 UTC," in done.stdout
    everything = hearth("status", "--all").stdout
    assert "app-over" in everything
    assert "4040" not in everything, "an ended application has no UI"


def test_without_an_application_it_says_so(hearth: Command) -> None:
    done = hearth("status")
    assert done.returncode == 0
    assert done.stdout == "no application is running (--all lists ended ones)\n"


def test_watched_it_is_shown_again_until_ctrl_c(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("hearth.cli.commands.status.time.sleep", sleep)
    monkeypatch.setenv("HEARTH_STATE", str(tmp_path / "state"))
    assert main(["status", "--watch"]) == 130
    assert capsys.readouterr().out.count("no application is running") == 3
    assert slept == [2.0] * 3


def test_a_notebook_shows_what_runs_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sleeper: subprocess.Popen[bytes]
) -> None:
    monkeypatch.setenv("HEARTH_STATE", str(tmp_path / "state"))
    assert list(hearth_api.status()) == []
    folder = record(tmp_path / "state", "app-1", sleeper.pid, start_ticks(sleeper.pid))
    place(folder, sleeper.pid, "4000")
    (running,) = hearth_api.status()
    assert (running.app_id, running.executors, running.driver_pid) == ("app-1", 1, sleeper.pid)
    assert any("may run outside CPUs 4000" in what for what in running.drift)
    assert "<td>app-1</td>" in hearth_api.status()._repr_html_()


def test_a_dead_driver_is_not_running_and_with_all_it_is_gone(
    hearth: Command, tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    ticks = start_ticks(sleeper.pid)
    record(tmp_path / "state", "app-reused-pid", sleeper.pid, (ticks or 0) + 1)
    record(tmp_path / "state", "app-done", 1, 1, state="finished")
    assert "no application is running" in hearth("status").stdout
    shown = hearth("status", "--all").stdout
    assert "app-reused-pid  test  gone" in shown
    assert "app-done  test  finished" in shown


def test_an_ended_application_that_is_named_has_its_last_placement(
    hearth: Command, tmp_path: Path
) -> None:
    folder = record(tmp_path / "state", "app-done", 1, 1, state="finished")
    place(folder, os.getpid(), "4000-4001")
    shown = hearth("status", "app-done").stdout
    assert "placement as of 2026-11-21 09:00:00 UTC:" in shown
    assert "4000-4001" in shown and "as planned" in shown
    (application,) = json.loads(hearth("status", "app-done", "--json").stdout)["applications"]
    assert application["placement"]["executors"][0]["planned_cpus"] == "4000-4001"
    assert "4000-4001" not in hearth("status", "--all").stdout


def test_a_running_application_is_read_afresh_from_the_kernel(
    hearth: Command, tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    folder = record(tmp_path / "state", "app-1", sleeper.pid, start_ticks(sleeper.pid))
    place(folder, sleeper.pid, "4000")
    shown = hearth("status").stdout
    assert "app-1  test  running" in shown
    allowed = sorted(os.sched_getaffinity(sleeper.pid))
    words = " ".join(shown.split())
    assert "executor 1 has 1 of 1 thread that may run outside CPUs 4000: 1 on CPUs" in words
    assert f"{allowed[0]}" in words
    assert f"(sleep {sleeper.pid})" in words
    assert "drift" in shown
    done = hearth("status", "test", "--json")
    (application,) = json.loads(done.stdout)["applications"]
    assert application["placement"]["executors"][0]["kernel"]["cpus_allowed"]


def test_an_executor_that_has_gone_is_shown_as_gone(
    hearth: Command, tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    folder = record(tmp_path / "state", "app-1", sleeper.pid, start_ticks(sleeper.pid))
    executor = subprocess.Popen(["sleep", "600"])
    place(folder, executor.pid, "0")
    executor.kill()
    executor.wait()
    assert hearth("status", "app-1").stdout.rstrip().endswith("gone")


def test_a_damaged_record_is_named_and_the_others_are_shown(
    hearth: Command, tmp_path: Path
) -> None:
    folder = record(tmp_path / "state", "app-1", 1, 1)
    (folder / "run.json").write_text("{")
    record(tmp_path / "state", "app-whole", 1, 1, state="finished")
    done = hearth("status", "--all")
    assert done.returncode == 0
    assert f"'{folder}/run.json' cannot be read: it is cut off; delete its directory" in done.stderr
    assert "app-whole  test  finished" in done.stdout
