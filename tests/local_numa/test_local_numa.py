"""What a user of local-numa gets, from a real Spark."""

import json
import os
import signal
import time
from pathlib import Path

import pytest
from application import APPS, Site, assert_shuffle_read_from_files, beyond, planned
from jsonschema import Draft202012Validator

from support import eventually

pytestmark = pytest.mark.spark

CONTRACT = Path(__file__).resolve().parents[2] / "contract"


def validate(name: str, document: dict) -> None:
    schema = json.loads((CONTRACT / f"{name}.schema.json").read_text())
    Draft202012Validator(schema).validate(document)


def cpus_of(pid: int) -> str:
    status = Path(f"/proc/{pid}/status").read_text()
    return status.split("Cpus_allowed_list:\t")[1].split("\n")[0]


def test_executors_and_their_python_workers_run_where_the_plan_says(site: Site):
    outcome = site.run("placement.py", spark__local__dir=None, spark__hearth__input="1m")
    assert outcome.code == 0, outcome.log[-4000:]
    # The plan is made in the driver, which has its own local directory by then.
    derived = site.document("plan.json")["conf"].get("spark.local.dir", str(site.root / "tmp"))
    scratch = Path(site.document("run.json")["scratch"][0])
    assert scratch.parent == Path(derived)
    assert scratch.name.startswith("hearth-local-numa-") and not scratch.exists()
    planned = {e["cpus"] for e in site.document("plan.json")["executors"]}
    workers = outcome.report["workers"]
    assert {w["cpus"] for w in workers} == planned == {"0", "1"}
    assert {w["policy"] for w in workers} == {"bind:0"}
    placement = site.document("placement.json")
    assert [e["verdict"] for e in placement["executors"]] == ["as planned"] * 2
    for executor in placement["executors"]:
        assert executor["kernel"]["cpus_allowed"] == executor["planned_cpus"]
        mine = {w["cpus"] for w in workers if w["executor_pid"] == executor["pid"]}
        assert mine == {executor["planned_cpus"]}
        assert set(executor["kernel"]["anonymous_bytes"]) == {"0"}
    assert "Placement, from the kernel:" in outcome.log
    for name in ("run", "plan", "placement"):
        validate(name, site.document(f"{name}.json"))
    assert site.document("run.json")["state"] == "finished"
    assert site.leftovers() == []


def test_an_application_goes_on_while_its_executors_start_and_its_first_jobs_get_them_all(
    site: Site,
):
    outcome = site.run(
        "early.py",
        master="local-numa",
        spark__hearth__plan=planned(site, ["0", "1"], task_slots=2),
        spark__executor__extraJavaOptions="-Xint",  # seconds later than its driver
        spark__scheduler__maxRegisteredResourcesWaitingTime="200s",
    )
    report = outcome.report
    assert (report["registered"], report["parallelism"]) == (0, 4)
    assert report["places"] == [[0], [1]], "the first executor does not get what is for both"
    assert report["barrier"] == [4] * 4
    assert "Will retry up to" not in outcome.log, "the stage in barrier mode was not refused first"


def test_an_application_that_ends_before_its_executors_have_started_leaves_nothing(site: Site):
    began = time.monotonic()
    outcome = site.run("brief.py", spark__executor__extraJavaOptions="-Xint")
    assert outcome.code == 0, outcome.log[-4000:]
    assert "Started executor 1" in outcome.log and "Lost executor" not in outcome.log
    assert time.monotonic() - began < 60, "it waits for no executor's 10 s of grace and more"
    assert site.leftovers() == []
    assert site.document("run.json")["state"] == "finished"


@pytest.mark.parametrize(
    ("hosts", "dynamic", "scope"),
    [("node", "false", "node"), ("machine", "true", "package")],
    ids=["default", "opposite"],
)
def test_shuffle_blocks_of_another_executor_are_read_from_its_file_even_after_its_loss(
    site: Site, hosts: str, dynamic: str, scope: str
):
    """And executors are bound to CPUs of their own, or share those of their package."""
    outcome = site.run(
        "shuffle.py",
        spark__hearth__hosts=hosts,
        spark__hearth__binding__scope=scope,
        spark__dynamicAllocation__enabled=dynamic,
        spark__dynamicAllocation__initialExecutors="2",
        spark__dynamicAllocation__minExecutors="2",
        spark__ui__enabled="true",
        spark__ui__port="0",
    )
    assert_shuffle_read_from_files(outcome.report)
    logs = [log.read_text() for log in (site.only_run() / "executors").glob("*/stderr")]
    fetches = [line for log in logs for line in log.splitlines() if " host-local and " in line]
    assert any("and 0 (0.0 B) host-local" not in line for line in fetches)
    seen = [e["kernel"] for e in site.document("placement.json")["executors"] if "kernel" in e]
    places = {"0-1"} if scope == "package" else {"0", "1"}
    assert seen and {kernel["cpus_allowed"] for kernel in seen} <= places
    assert site.leftovers() == []


def test_speculation_runs_a_second_attempt_on_another_executor(site: Site):
    outcome = site.run(
        "speculate.py",
        spark__speculation="true",
        spark__speculation__interval="100ms",
        spark__speculation__minTaskRuntime="1s",
        spark__speculation__quantile="0.5",
    )
    report = outcome.report
    assert report["total"] == sum(range(8))
    assert report["second_attempt"]
    assert report["seconds"] < 50


def test_a_killed_executor_is_replaced_in_the_same_place_and_the_job_completes(site: Site):
    process = site.start("pause.py", "4", "6")
    eventually("two executors", lambda: len(site.executors()) == 2, 60)
    eventually("placement", lambda: '"kernel"' in read(site, "placement.json"), 60)
    victim, arguments = min(site.executors().items())
    place = cpus_of(victim)
    os.kill(victim, signal.SIGKILL)
    eventually(
        "a replacement on the same CPUs",
        lambda: any(
            cpus_of(pid) == place and words["--executor-id"] != arguments["--executor-id"]
            for pid, words in site.executors().items()
        ),
        20,
    )
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 0
    assert '{"counted": 6}' in output
    assert "exit 137: killed by SIGKILL" in site.log
    last = {e["executor_id"]: e["verdict"] for e in site.document("placement.json")["executors"]}
    assert arguments["--executor-id"] not in last
    assert list(last.values()) == ["as planned"] * 2
    assert site.leftovers() == []


@pytest.mark.parametrize("moment", ["busy", "starting"])
def test_a_killed_driver_leaves_no_executor_and_no_temporary_directory(site: Site, moment):
    process = site.start("pause.py", "30")
    eventually("two executors", lambda: len(site.executors()) == 2, 60)
    if moment == "busy":
        eventually("tasks", lambda: "Starting task" in site.log, 90)
        # It cannot notice that the driver is gone: whoever else looks after it must end it.
        os.kill(min(site.executors()), signal.SIGSTOP)
    driver = site.document("run.json")["driver_pid"]
    os.kill(driver, signal.SIGKILL)
    process.wait(timeout=60)
    eventually("executors gone", lambda: site.executors() == {}, 30)
    eventually("nothing left behind", lambda: site.leftovers() == [], 30)
    eventually("the run marked", lambda: site.document("run.json")["state"] == "abandoned", 5)


def test_ctrl_c_stops_everything_in_order(site: Site):
    process = site.start("pause.py", "60")
    eventually("tasks", lambda: "Starting task" in site.log, 120)
    # Out of reach of the terminal: the driver alone is interrupted, and ends its executors.
    assert all(os.getsid(pid) == pid for pid in site.executors())
    os.killpg(process.pid, signal.SIGINT)
    process.wait(timeout=60)
    assert process.returncode != 0
    eventually("nothing left behind", lambda: site.leftovers() == [], 30)
    assert site.document("run.json")["state"] == "finished"
    assert "Lost executor" not in site.log
    assert "exit 130" not in site.log


def test_dynamic_allocation_gives_executors_back_and_gets_them_again(site: Site):
    outcome = site.run(
        "elastic.py",
        spark__dynamicAllocation__enabled="true",
        spark__dynamicAllocation__minExecutors="0",
        spark__dynamicAllocation__executorIdleTimeout="2s",
    )
    report = outcome.report
    assert report == {"most": 2, "idle": 0, "counts": [12, 12, 12], "again": 2}
    assert "Lost executor" not in outcome.log
    assert site.leftovers() == []


def test_a_refused_binding_fails_the_launch_and_says_what_is_missing(site: Site):
    plan = beyond(site)
    outcome = site.run("pause.py", "1", master="local-numa", spark__hearth__plan=plan)
    assert outcome.code != 0
    assert "the kernel refused sched_setaffinity for CPUs 4000" in outcome.log
    assert "spark.hearth.binding=preferred" in outcome.log
    assert site.leftovers() == []


GPU = {
    "spark__executor__resource__gpu__amount": "1",
    "spark__executor__resource__gpu__discoveryScript": str(APPS / "one_gpu.sh"),
    "spark__task__resource__gpu__amount": "1",
}


@pytest.mark.parametrize(
    ("master", "conf", "message"),
    [
        ("local-numa[two]", {}, "local-numa[4x12] (4 executors of 12 cores)"),
        ("local-numa[2x1]", GPU, "2 executors of 1 each need 2, and this machine has 1 (0)"),
    ],
)
def test_what_cannot_be_done_ends_the_application_before_an_executor_starts(
    site: Site, master, conf, message
):
    outcome = site.run("pause.py", "1", master=master, **conf)
    assert outcome.code != 0
    assert message in outcome.log
    assert site.leftovers() == []


def test_local_numa_alone_runs_one_jvm_on_a_machine_too_small_to_partition(site: Site):
    outcome = site.run("pause.py", "0.1", master="local-numa")
    assert outcome.report == {"counted": 4}
    assert "Plan: partition native" in outcome.log
    assert "Started executor" not in outcome.log
    assert not (site.root / "state" / "runs").exists()


def read(site, name: str) -> str:
    try:
        return (site.only_run() / name).read_text()
    except (OSError, AssertionError):
        return ""
