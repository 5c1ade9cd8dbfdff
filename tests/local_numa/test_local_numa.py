"""What a user of local-numa gets, from a real Spark."""

import os
import re
import signal
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from application import (
    Outcome,
    Site,
    assert_abandoned,
    assert_shuffle_read_from_files,
    beyond,
    end_all,
    planned,
    read_words,
    taken_ports,
    ui_rows,
)

from hearth.machine.paths import java
from support import BOTH_CPUS, PATIENCE_S, eventually, program, validate

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("two_cpus")]


class Many(NamedTuple):
    """An application for many tests: what it printed, and the ports that others had."""

    site: Site
    outcome: Outcome
    report: dict[str, Any]
    taken: dict[str, int]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory, two_cpus: tuple[int, ...]) -> Iterator[Many]:
    """One application for many tests, which fails at its end; its ports are taken by others."""
    site = Site(tmp_path_factory.mktemp("many"))
    (site.root / "marks").mkdir()
    try:
        with taken_ports(3) as (ui, driver, blocks):
            outcome = site.run(
                "many.py",
                str(site.root / "marks"),
                spark__local__dir=None,
                spark__hearth__input="1m",
                spark__ui__enabled="true",
                spark__ui__port=str(ui),
                spark__driver__port=str(driver),
                spark__blockManager__port=str(blocks),
                spark__speculation="true",
                spark__speculation__interval="100ms",
                spark__speculation__minTaskRuntime="1s",
                spark__speculation__quantile="0.5",
                timeout=480,
            )
        taken = {"ui": ui, "driver": driver, "blocks": blocks}
        yield Many(site, outcome, outcome.report, taken)
    finally:
        end_all(site)


def test_executors_and_their_python_workers_run_where_the_plan_says(many: Many):
    site, outcome, report, _ = many
    # The plan is made in the driver, which has its own local directory by then.
    derived = site.document("plan.json")["conf"].get("spark.local.dir", str(site.root / "tmp"))
    scratch = Path(site.document("run.json")["scratch"][0])
    assert scratch.parent == Path(derived)
    told = f"spark.local.dir={derived} of the plan is for executors; the driver, which started"
    assert (told in outcome.log) == ("spark.local.dir" in site.document("plan.json")["conf"])
    assert scratch.name.startswith("hearth-local-numa-") and not scratch.exists()
    planned = {e["cpus"] for e in site.document("plan.json")["executors"]}
    for workers, placement in (
        (report["workers"], report["placement"]),
        (report["workers_after"], site.document("placement.json")["executors"]),
    ):
        assert {w["cpus"] for w in workers} == planned == {"0", "1"}
        assert {w["policy"] for w in workers} == {"bind:0"}
        assert [e["verdict"] for e in placement] == ["as planned"] * 2
        for executor in placement:
            assert executor["kernel"]["cpus_allowed"] == executor["planned_cpus"]
            mine = {w["cpus"] for w in workers if w["executor_pid"] == executor["pid"]}
            assert mine == {executor["planned_cpus"]}
            assert set(executor["kernel"]["anonymous_bytes"]) == {"0"}
    assert "Placement, from the kernel:" in outcome.log
    for name in ("plan", "placement"):
        validate(name, site.document(f"{name}.json"))


def test_with_its_ports_taken_an_application_moves_on_and_its_executors_logs_are_shown(many: Many):
    window, taken = many.report["window"], many.taken
    assert taken["ui"] < int(window["ui"].rsplit(":", 1)[1]) <= taken["ui"] + 16
    assert taken["driver"] < window["driver_port"] <= taken["driver"] + 16
    chosen = [int(address.rsplit(":", 1)[1]) for address in window["block_managers"]]
    assert len(chosen) == 2
    assert all(taken["blocks"] < port <= taken["blocks"] + 16 for port in chosen)
    assert set(window["logs"]) == {"0", "1"}
    for logs in window["logs"].values():
        assert set(logs) == {"stdout", "stderr"}
        assert "Finished task" in logs["stderr"]
    assert all("The executor is a number" in text for text in window["refused"])
    assert not any("root:" in text or "app_id" in text for text in window["refused"])


def test_sparks_ui_has_a_tab_that_shows_where_the_executors_are(many: Many):
    page = many.report["window"]["tab"]
    rows = ui_rows(page)
    assert "Executors" in page and "Read from the kernel at" in page
    for executor in many.report["placement"]:
        (row,) = [row for row in rows if str(executor["pid"]) in row]
        assert row[1] == executor["executor_id"]
        assert row[5] == executor["planned_cpus"]
        assert row[6] == executor["planned_memory_nodes"]
        assert re.fullmatch(r"100 % of \d+ MB", row[7]), row
        assert row[8] == "as planned"
    assert "This application has no lease" in page
    assert '/executors/"' in page, "Spark's own tabs stand beside it"


def test_a_crashed_python_worker_costs_its_task_an_attempt_and_no_executor(many: Many):
    assert many.report["crashed"] == {"sum": sum(range(8)), "same": True}
    assert "Python worker exited unexpectedly (crashed)" in many.outcome.log
    lost = re.findall(r"Lost executor \d+ \(place", many.outcome.log)
    assert len(lost) == 1, "the one that is killed"


def test_speculation_runs_a_second_attempt_on_another_executor(many: Many):
    assert many.report["speculation"] == {"total": sum(range(8)), "second_attempt": True}


def test_a_killed_executor_is_replaced_in_the_same_place_and_its_shuffle_is_read_from_files(
    many: Many,
):
    site, outcome, report, _ = many
    assert_shuffle_read_from_files(report["shuffle"])
    assert_fetched_from_the_host(site)
    first = {e["executor_id"]: e["planned_cpus"] for e in report["placement"]}
    last = {e["executor_id"]: e for e in site.document("placement.json")["executors"]}
    (killed,) = first.keys() - last.keys()
    (successor,) = last.keys() - first.keys()
    assert last[successor]["kernel"]["cpus_allowed"] == first[killed]
    assert "exit 137: killed by SIGKILL" in outcome.log


def test_a_block_that_is_gone_is_the_loss_of_the_executor_that_wrote_it(many: Many):
    log = many.outcome.log
    address = r"BlockManagerId\((\d+), ([\d.]+),"
    losses = set(re.findall(rf"FetchFailed\({address}", log))
    assert losses, "as the application has removed them"
    assert losses <= set(re.findall(rf"Registering block manager .*{address}", log))


def test_an_application_that_fails_leaves_nothing_behind(many: Many):
    site, outcome = many[:2]
    assert outcome.code != 0
    assert "Job aborted due to stage failure" in outcome.log
    assert site.leftovers() == []
    assert site.document("run.json")["state"] == "finished"


def test_an_application_goes_on_while_its_executors_start_and_its_first_jobs_get_them_all(
    site: Site,
):
    started = site.root / "started"
    outcome = site.run(
        "early.py",
        str(started),
        master="local-numa",
        spark__hearth__plan=planned(site, ["0", "1"], task_slots=2),
        spark__executorEnv__JAVA_HOME=str(late_jdk(site.root / "jdk", started)),
        spark__scheduler__maxRegisteredResourcesWaitingTime="200s",
    )
    report = outcome.report
    assert (report["registered"], report["parallelism"]) == (0, 4)
    assert report["places"] == [[0], [1]], "the first executor does not get what is for both"
    assert report["barrier"] == [4] * 4
    assert "Will retry up to" not in outcome.log, "the stage in barrier mode was not refused first"


def late_jdk(home: Path, mark: Path) -> Path:
    """This JDK, whose JVMs start when there is a file."""
    real = java().parents[1]
    (home / "bin").mkdir(parents=True)
    for entry in real.iterdir():
        if entry.name != "bin":
            (home / entry.name).symlink_to(entry)
    wait = f"while [ ! -e '{mark}' ]; do sleep 0.1; done"
    program(home / "bin" / "java", f'{wait}\nexec {real}/bin/java "$@"')
    return home


def test_what_a_driver_killed_with_its_reaper_leaves_is_swept_by_the_next_however_brief(
    site: Site,
):
    process = site.start("pause.py", "600")
    eventually("tasks", lambda: "Starting task" in site.log)
    first = site.only_run()
    driver = site.document("run.json")["driver_pid"]
    for pid in (reaper_of(driver), driver):
        os.kill(pid, signal.SIGKILL)
    process.wait(timeout=PATIENCE_S)
    eventually("executors gone", lambda: site.executors() == {})
    left = {re.sub("-.*", "", Path(path).name) for path in site.leftovers()}
    assert left >= {"hearth", "spark", "blockmgr"}
    earlier = len(site.log)
    second = site.run("brief.py", spark__executor__extraJavaOptions="-Xint")
    log = second.log[earlier:]
    assert second.code == 0, log[-4000:]
    assert "Started executor 1" in log and "Lost executor" not in log
    stop = seconds_between(log, "SparkContext is stopping", "Successfully stopped SparkContext")
    assert stop < 60, "it waits for no executor's 10 s of grace and more"
    assert site.leftovers() == []
    (own,) = {*first.parent.glob("*/run.json")} - {first / "run.json"}
    assert '"state" : "finished"' in own.read_text()
    assert '"state" : "abandoned"' in (first / "run.json").read_text()


def seconds_between(log: str, first: str, last: str) -> float:
    """Between the log's lines that contain each text."""
    moments = [
        datetime.strptime(" ".join(line.split()[:2]), "%y/%m/%d %H:%M:%S")
        for text in (first, last)
        for line in log.splitlines()
        if text in line
    ]
    return (moments[-1] - moments[0]).total_seconds()


def reaper_of(driver: int) -> int:
    reapers = [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit()
        and "hearth-reaper" in read_words(entry / "cmdline")
        and f"PPid:\t{driver}\n" in (entry / "status").read_text()
    ]
    assert len(reapers) == 1, reapers
    return reapers[0]


def test_executors_of_one_host_and_one_package_read_each_others_files_even_after_a_loss(
    site: Site,
):
    outcome = site.run(
        "shuffle.py",
        spark__hearth__hosts="machine",
        spark__hearth__binding__scope="package",
        spark__dynamicAllocation__enabled="true",
        spark__dynamicAllocation__initialExecutors="2",
        spark__dynamicAllocation__minExecutors="2",
        spark__ui__enabled="true",
        spark__ui__port="0",
    )
    assert_shuffle_read_from_files(outcome.report)
    assert_fetched_from_the_host(site)
    kernels = [e["kernel"] for e in site.document("placement.json")["executors"] if "kernel" in e]
    assert kernels and {kernel["cpus_allowed"] for kernel in kernels} == {BOTH_CPUS}
    assert site.leftovers() == []


def assert_fetched_from_the_host(site: Site) -> None:
    """By the logs of its executors."""
    logs = [log.read_text() for log in (site.only_run() / "executors").glob("*/stderr")]
    fetches = [line for log in logs for line in log.splitlines() if " host-local and " in line]
    assert any("and 0 (0.0 B) host-local" not in line for line in fetches)


def test_a_driver_killed_while_its_executors_start_leaves_none(site: Site):
    process = site.start("pause.py", "600")
    eventually("two executors", lambda: len(site.executors()) == 2)
    os.kill(site.document("run.json")["driver_pid"], signal.SIGKILL)
    process.wait(timeout=PATIENCE_S)
    assert_abandoned(site)


def test_a_terminated_executor_does_not_count_against_its_tasks_and_ctrl_c_stops_all_in_order(
    site: Site,
):
    rounds = site.root / "rounds"
    rounds.touch()
    process = site.start("losses.py", str(rounds), spark__task__maxFailures="1")
    eventually("two executors", lambda: len(site.executors()) == 2)
    victim, words = min(site.executors().items())
    log = site.only_run() / "executors" / words["--executor-id"] / "stderr"
    eventually("a task on it", lambda: "Running task" in log.read_text())
    os.kill(victim, signal.SIGTERM)
    eventually("a line of it", lambda: "exit 143: ended by SIGTERM" in site.log)
    eventually("a successor", lambda: len({*site.executors()} - {victim}) == 2)
    done = len(rounds.read_text().split())
    eventually("more rounds", lambda: len(rounds.read_text().split()) > done + 1)
    assert set(rounds.read_text().split()) == {"8"}, "each has counted all elements"
    # Out of reach of the terminal: the driver alone is interrupted, and ends its executors.
    assert all(os.getsid(pid) == pid for pid in site.executors())
    os.killpg(process.pid, signal.SIGINT)
    process.wait(timeout=PATIENCE_S)
    assert process.returncode != 0
    eventually("nothing left behind", lambda: site.leftovers() == [])
    assert site.document("run.json")["state"] == "finished"
    assert set(re.findall(r"Lost executor (\d+)", site.log)) == {words["--executor-id"]}
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
