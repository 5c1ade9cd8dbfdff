"""CPUs of executors that have nothing to do work for the stage's last tasks, from a real Spark."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from application import Site, assert_abandoned

from hearth.machine import jvm
from support import BOTH_CPUS, PATIENCE_S, TWO_CPUS, eventually

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("two_cpus")]

OWN, ALL = [{str(cpu)} for cpu in TWO_CPUS], {BOTH_CPUS}


def masks(pid: int) -> dict[int, str]:
    """The CPUs of each thread of an executor and of all that it has started."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            session = int((entry / "stat").read_text().rpartition(")")[2].split()[3])
            threads = list((entry / "task").iterdir()) if session == pid else []
            for thread in threads:
                status = (thread / "status").read_text()
                cpus = status.split("Cpus_allowed_list:\t")[1].split("\n")[0]
                found[int(thread.name)] = cpus
        except (OSError, IndexError):
            continue  # it has ended
    return found


def masks_of(site: Site, stray: int = 0) -> dict[int, set[str]]:
    """The different masks of each executor's threads."""
    return {
        pid: {cpus for tid, cpus in masks(pid).items() if tid != stray} for pid in site.executors()
    }


def borrower(site: Site, stray: int = 0) -> int | None:
    wide = [pid for pid, each in masks_of(site, stray).items() if each == ALL]
    return wide[0] if len(wide) == 1 else None


def loans(site: Site) -> list[dict]:
    try:
        return site.document("hand-over.json")["loans"]
    except (OSError, AssertionError):
        return []


def placement(site: Site) -> dict[str, dict]:
    document = jvm.call("placement", "--run", str(site.only_run()))
    return {executor["executor_id"]: executor for executor in document["executors"]}


def in_a_tail(site: Site, name: str) -> tuple[int, int]:
    """The executor that works on with all CPUs, and a thread of it that has bound itself."""
    note = site.root / f"{name}.stray"
    eventually("a task that works on", lambda: note.exists() and note.read_text())
    stray = int(note.read_text())
    eventually("all CPUs for its executor", lambda: borrower(site, stray) is not None)
    return borrower(site, stray) or 0, stray


def result(process: subprocess.Popen[str]) -> dict:
    for line in process.stdout or ():
        if line.startswith("RESULT "):
            return json.loads(line.removeprefix("RESULT "))
    raise AssertionError("the application has ended without a result")


def test_idle_cpus_work_for_a_last_task_and_go_back_and_a_killed_driver_leaves_nothing(site: Site):
    process = site.start("tail.py", str(site.root), spark__hearth__handOver="tail")
    pid, stray = in_a_tail(site, "first")
    (idle,) = set(site.executors()) - {pid}
    assert masks_of(site)[idle] in OWN
    assert {masks(pid)[stray]} in OWN  # by the application itself, and so left alone
    (loan,) = loans(site)
    assert {loan["cpus"]} == masks_of(site)[idle]
    lent = placement(site)[loan["executor_id"]]
    assert (lent["lent_cpus"], lent["drift"]) == (loan["cpus"], [])
    assert f"may use CPUs {loan['cpus']}, which other executors leave idle" in lent["notes"]

    os.kill(idle, signal.SIGKILL)
    eventually("the loan's end", lambda: masks_of(site, stray)[pid] in OWN)
    eventually("another loan, of its replacement", lambda: borrower(site, stray) == pid)
    (site.root / "first").touch()
    told = result(process)
    assert told["alone"] == [0, 1]
    assert sorted(told["together"]) == [[0], [1]]

    pid, _ = in_a_tail(site, "second")
    assert all("until" in loan for loan in loans(site)[:2])
    (site.root / "second.stray").unlink()
    os.kill(pid, signal.SIGKILL)
    in_a_tail(site, "second")  # the same task, anew
    *before, now = loans(site)
    assert all("until" in loan for loan in before) and "until" not in now
    # It cannot notice that the driver is gone: whoever else looks after it must end it.
    os.kill(min(site.executors()), signal.SIGSTOP)
    os.kill(site.document("run.json")["driver_pid"], signal.SIGKILL)
    process.wait(timeout=PATIENCE_S)
    assert_abandoned(site)


def cpusets() -> set[tuple[str, str]]:
    """The CPUs and memory nodes of all containers of executors, as the engine tells."""
    listed = docker("ps", "--quiet", "--filter", "name=hearth-local-numa").split()
    words = "{{.HostConfig.CpusetCpus}} {{.HostConfig.CpusetMems}}"
    lines = docker("inspect", "--format", words, *listed).splitlines() if listed else []
    return {(line.split()[0], line.split()[1]) for line in lines}


def docker(*words: str) -> str:
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=True).stdout


def test_a_containers_cpuset_is_opened_for_a_last_task_and_closed_again(
    site: Site, engine: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("DOCKER_HOST", engine)
    process = site.start(
        "tail.py",
        str(site.root),
        spark__hearth__handOver="tail",
        spark__hearth__launcher="docker",
    )
    in_a_tail(site, "first")
    assert cpusets() in [{(BOTH_CPUS, "0"), (str(cpu), "0")} for cpu in TWO_CPUS]
    (site.root / "first").touch()
    told = result(process)
    assert told["alone"] == [0, 1]
    assert sorted(told["together"]) == [[0], [1]]
    in_a_tail(site, "second")
    (site.root / "second").touch()
    process.wait(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert all("until" in loan for loan in loans(site))
    assert "could not be changed" not in site.log
    placements = [e["verdict"] for e in site.document("placement.json")["executors"]]
    assert placements == ["as planned"] * 2
    assert site.leftovers() == []
