"""What a user of local-numa sees when the machine, or a neighbour, is against it."""

import contextlib
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from application import Outcome, Site, read_words

from support import eventually, require

pytestmark = pytest.mark.spark

SQUARES = sum(n * n for n in range(8))
# A file system of a few megabytes, which nobody else sees and which goes with its last process.
FULL_DISK = 'mount -t tmpfs -o size="$0" none local && "$@"; code=$?; ls -A local >left; exit $code'


@contextlib.contextmanager
def taken_ports(count: int) -> Iterator[list[int]]:
    """Ports on which somebody else listens, at every address of this machine."""
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.socket()) for _ in range(count)]
        for listener in listeners:
            listener.bind(("0.0.0.0", 0))
            listener.listen()
        yield [listener.getsockname()[1] for listener in listeners]


def needs_own_mounts() -> None:
    probe = ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /mnt"]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        require("root", "a mount namespace of one's own is refused here")


def failed_in_order(site: Site, outcome: Outcome) -> bool:
    assert outcome.code != 0, outcome.output
    assert site.document("run.json")["state"] == "finished"
    return site.leftovers() == []


#: In the backend, in Spark's scheduler behind that, and before the application's lease.
WRONG = {
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "sometimes",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "sometimes",
    "spark.app.id": "../escaped",
}


@pytest.mark.parametrize(("master", "skipped"), [("local-numa[2x1]", 0), ("local-numa", 1)])
def test_a_context_that_could_not_be_made_holds_nothing_of_the_machine(
    site: Site, monkeypatch: pytest.MonkeyPatch, master: str, skipped: int
):
    (site.root / "leases").mkdir()
    monkeypatch.setenv("HEARTH_LEASES", str(site.root / "leases"))
    wrong = dict(list(WRONG.items())[skipped:])  # one JVM has no such backend
    words = [f"{key}={value}" for key, value in wrong.items()]
    kept = {"spark__hearth__neighbours": "avoid"}
    report = site.run("unmade.py", *words, master=master, **kept).report
    for key, value in wrong.items():
        assert value in report[key]["said"]
        assert report[key]["leases"] == [], key
    assert "spark.app.id: '../escaped' contains '/'" in report["spark.app.id"]["said"]
    assert site.leftovers() == []


@pytest.mark.parametrize(
    ("size", "jars"), [("2m", True), ("16m", False)], ids=["before any task", "in a shuffle"]
)
def test_a_full_disk_ends_the_application_and_says_so(site: Site, size: str, jars: bool):
    needs_own_mounts()
    conf = {} if jars else {"spark__jars": ""}
    within = ("unshare", "-m", "sh", "-c", FULL_DISK, size)
    outcome = site.run("spill.py", "64", within=within, **conf)
    assert "No space left on device" in outcome.log
    if jars:
        assert "the disk under spark.local.dir is full" in outcome.log
    assert (site.root / "left").read_text() == ""
    assert failed_in_order(site, outcome)


def test_with_its_ports_taken_an_application_moves_on_and_its_executors_logs_are_shown(site: Site):
    with taken_ports(3) as (ui, driver, blocks):
        outcome = site.run(
            "shop_window.py",
            spark__ui__enabled="true",
            spark__ui__port=str(ui),
            spark__driver__port=str(driver),
            spark__blockManager__port=str(blocks),
        )
    report = outcome.report
    assert report["sum"] == SQUARES
    assert ui < int(report["ui"].rsplit(":", 1)[1]) <= ui + 16
    assert driver < report["driver_port"] <= driver + 16
    chosen = [int(address.rsplit(":", 1)[1]) for address in report["block_managers"]]
    assert len(chosen) == 2
    assert all(blocks < port <= blocks + 16 for port in chosen)
    assert set(report["logs"]) == {"0", "1"}
    for logs in report["logs"].values():
        assert set(logs) == {"stdout", "stderr"}
        assert "Finished task" in logs["stderr"]
    assert all("The executor is a number" in text for text in report["refused"])
    assert not any("root:" in text or "app_id" in text for text in report["refused"])
    assert site.leftovers() == []


def test_a_taken_port_that_may_not_be_left_ends_the_application_and_is_named(site: Site):
    with taken_ports(1) as (blocks,):
        outcome = site.run(
            "pause.py",
            "1",
            spark__blockManager__port=str(blocks),
            spark__driver__blockManager__port="0",
            spark__port__maxRetries="0",
            spark__executor__maxNumFailures="1",
        )
    assert "spark.blockManager.port" in outcome.log
    assert "Address already in use" in outcome.log
    assert "2 executors were lost, more than the 1 allowed by spark.executor.maxNum" in outcome.log
    assert failed_in_order(site, outcome)


def test_a_crashed_python_worker_costs_its_task_an_attempt_and_no_executor(site: Site):
    outcome = site.run("crash.py")
    assert outcome.report == {"once": sum(range(8)), "executors": 2, "same": True}
    assert "Python worker exited unexpectedly (crashed)" in outcome.log
    assert "Lost executor" not in outcome.log
    assert failed_in_order(site, outcome)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("-XX:+ExitOnOutOfMemoryError", "exit 3: the JVM ended itself on an OutOfMemoryError"),
        ("-Dnothing=special", "exit 52: OutOfMemory"),
    ],
    ids=["exits at once", "by Spark"],
)
def test_an_executor_out_of_memory_is_explained_and_the_application_ends(
    site: Site, option: str, words: str
):
    outcome = site.run(
        "outgrow.py",
        master="local-numa[1x1]",
        spark__task__maxFailures="2",
        spark__executor__memory="512m",
        spark__executor__extraJavaOptions=option,
    )
    assert words in outcome.log
    assert "Job aborted due to stage failure" in outcome.log
    assert failed_in_order(site, outcome)


def test_a_terminated_executor_does_not_count_against_its_tasks(site: Site):
    process = site.start("pause.py", "4", "6", spark__task__maxFailures="1")
    eventually("two executors", lambda: len(site.executors()) == 2, 60)
    victim, words = min(site.executors().items())
    log = site.only_run() / "executors" / words["--executor-id"] / "stderr"
    eventually("a task on it", lambda: "Running task" in log.read_text(), 120)
    os.kill(victim, signal.SIGTERM)
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 0, site.log[-4000:]
    assert '{"counted": 6}' in output
    assert "exit 143: ended by SIGTERM" in site.log
    assert site.leftovers() == []


def test_what_a_driver_killed_with_its_reaper_leaves_is_swept_by_the_next_application(site: Site):
    process = site.start("pause.py", "60")
    eventually("tasks", lambda: "Starting task" in site.log, 120)
    first = site.only_run()
    driver = site.document("run.json")["driver_pid"]
    for pid in (reaper_of(driver), driver):
        os.kill(pid, signal.SIGKILL)
    process.wait(timeout=60)
    eventually("executors gone", lambda: site.executors() == {}, 30)
    left = site.leftovers()
    assert {re.sub("-.*", "", Path(path).name) for path in left} >= {"hearth", "spark", "blockmgr"}
    second = site.run("pause.py", "0.1")
    assert second.report == {"counted": 4}
    assert site.leftovers() == []
    assert '"state" : "abandoned"' in (first / "run.json").read_text()


def reaper_of(driver: int) -> int:
    found = [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit()
        and "hearth-reaper" in read_words(entry / "cmdline")
        and f"PPid:\t{driver}\n" in (entry / "status").read_text()
    ]
    assert len(found) == 1, found
    return found[0]
