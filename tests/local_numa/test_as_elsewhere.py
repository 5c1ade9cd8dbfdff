"""What works under Spark's other cluster managers, on one application under local-numa."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from application import APPS, Site, compiled, end_all

from hearth.machine.paths import hearth_jar

#: Over hearth's wire, were it not for the encryption that is asked for.
ENCRYPTED = {
    "spark.authenticate": "true",
    "spark.authenticate.secret": "a secret of tests",
    "spark.network.crypto.enabled": "true",
    "spark.shuffle.manager": "org.apache.spark.shuffle.wire.WireShuffleManager",
    "spark.shuffle.readHostLocalDisk": "false",
}
Report = dict[str, Any]
pytestmark = pytest.mark.spark


def write_files(folder: Path) -> dict[str, str]:
    """What the application is given, and the settings that name it."""
    checks, _ = compiled(folder, "Checks"), compiled(folder, "Late")
    (folder / "sent").mkdir()
    (folder / "sent" / "late_module.py").write_text("WORD = 'late'\n")
    (folder / "sent" / "notes.txt").write_text("a note\n")
    (folder / "relative.txt").write_text("by a relative path\n")
    (folder / "extra").mkdir()
    (folder / "extra" / "only-on-executors.txt").write_text("here\n")
    return {
        "spark.jars": f"{hearth_jar()},{checks}",
        "spark.files": str(folder / "sent" / "notes.txt"),
        "spark.extraListeners": "Checks$Watcher",
        "spark.plugins": "Checks$Plugin",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "Checks$Registrator",
        "spark.executor.extraClassPath": str(folder / "extra"),
        "spark.executor.resource.gpu.amount": "1",
        "spark.executor.resource.gpu.discoveryScript": str(APPS / "two_gpus.sh"),
        "spark.task.resource.gpu.amount": "1",
        "spark.decommission.enabled": "true",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.hearth.placement.interval": "1s",
        "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
        "spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": "1",
        **ENCRYPTED,
    }


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Report]]:
    """Runs once for all tests."""
    site = Site(tmp_path_factory.mktemp("as-elsewhere"))
    conf = {key.replace(".", "__"): value for key, value in write_files(site.root).items()}
    try:
        outcome = site.run("everything.py", str(site.root), **conf)
        assert outcome.code == 0, outcome.log[-4000:]
        yield site, outcome.report
    finally:
        end_all(site)


def values(tasks: list[dict[str, str]], name: str) -> set[str]:
    return {task[name] for task in tasks}


def by_executor(tasks: list[dict[str, str]], name: str) -> dict[str, set[str]]:
    return {
        e: values([t for t in tasks if t["executor"] == e], name) for e in values(tasks, "executor")
    }


def test_each_executor_knows_itself_by_the_id_and_host_that_the_driver_has(application):
    site, report = application
    hosts = {str(place["id"]): {place["host"]} for place in site.document("plan.json")["executors"]}
    assert by_executor(report["first"], "conf_id") == {"0": {"0"}, "1": {"1"}}
    assert by_executor(report["first"], "host") == hosts


def test_listeners_hear_of_each_executor_its_loss_and_its_successor(application):
    site, report = application
    host = {str(place["id"]): place["host"] for place in site.document("plan.json")["executors"]}
    added = [event for event in report["events"] if event[0] == "added"]
    lost = [event[1:] for event in report["events"] if event[0] == "removed"]
    removed = dict(lost)
    # Columns: id, host, cores, place; 2 follows the decommissioned 1, 3 the killed 0.
    assert sorted(event[1:] for event in added) == [
        [executor, host[place], "1", place]
        for executor, place in (("0", "0"), ("1", "1"), ("2", "1"), ("3", "0"))
    ]
    assert sorted(executor for executor, _ in lost) == ["0", "1"], "each is reported once"
    assert "exit 137: killed by SIGKILL" in removed["0"]
    assert "decommission" in removed["1"].lower()
    assert "Lost executor 0 " in site.log
    assert "Lost executor 1 " not in site.log


def test_the_successors_of_a_decommissioned_and_a_killed_executor_work(application):
    assert values(application[1]["last"], "executor") == {"2", "3"}


def test_a_barrier_stage_runs_one_task_on_each_executor_and_waits_for_one_that_is_coming(
    application,
):
    assert application[1]["barriers"] == [[[2, ["part 0", "part 1"]]] * 2] * 3


def test_files_jars_and_modules_added_before_and_later_reach_tasks_and_successors(application):
    _, report = application
    for tasks in (report["first"], report["last"]):
        assert values(tasks, "notes") == {"a note"}
        assert values(tasks, "late") == {"late"}
    assert {(late, notes) for late, _, notes, *_ in report["python"]} == {("late", "a note")}


def test_tasks_run_in_the_drivers_directory_with_the_modules_beside_the_program(application):
    site, report = application
    pattern = {tuple(answer[1:5]) for answer in report["python"]}
    assert pattern == {("beside", "a note", "by a relative path", str(site.root))}


def test_what_the_application_sends_does_not_land_in_the_drivers_directory(application):
    site, _ = application
    known = {"Checks-classes", "checks.jar", "Late-classes", "late.jar"}
    known |= {"sent", "relative.txt", "extra", "driver.log", "local", "tmp", "state"}
    assert {path.name for path in site.root.iterdir()} == known


def test_the_users_class_path_for_executors_is_theirs(application):
    assert values(application[1]["last"], "class_path") == {"here"}


def test_a_kryo_registrator_of_the_users_jar_serialises_what_is_shuffled(application):
    assert application[1]["kryo"] == ", ".join(f"{n} registrator" for n in range(1, 5))


def test_whoever_asks_for_encryption_gets_sparks_own_transfer_with_one_line(application):
    site, report = application
    logs = [log.read_text() for log in (site.only_run() / "executors").glob("*/stderr")]
    lines = re.findall(".*all shuffle blocks come over Spark's own transfer.*", "\n".join(logs))
    assert len(lines) == 2, "one for each executor that shuffles"
    assert all("spark.network.crypto.enabled asks for encryption" in line for line in lines)
    assert not any("hearth's wire for shuffle blocks listens" in log for log in logs)
    assert report["remote"] > 0, "what a kryo registrator's points came by"


def test_memory_that_a_driver_plugin_adds_is_planned_and_given_to_executors(application):
    site, report = application
    assert values(report["first"], "off_heap_mb") == {"64"}
    assert values(report["first"], "plugin") == {"the driver's plugin"}
    assert {place["off_heap_mb"] for place in site.document("plan.json")["executors"]} == {64}


def test_each_gpu_belongs_to_one_executor_and_its_successor_gets_the_same(application):
    _, report = application
    assert by_executor(report["first"], "gpu") == {"0": {"0"}, "1": {"1"}}
    assert by_executor(report["last"], "gpu") == {"3": {"0"}, "2": {"1"}}
    assert {answer[-1] for answer in report["python"]} == {"0", "1"}


def test_a_thread_that_may_leave_its_executors_place_is_named_while_the_application_runs(
    application,
):
    site, report = application
    (warning,) = re.findall(r"Executor 3 has drifted from place 0: it (.*)", site.log)
    pattern = r"has 1 of \d+ threads that may run outside CPUs 0: 1 on CPUs \S+ \(java (\d+)\)\."
    assert re.match(pattern, warning)[1] == str(report["stray"])
    assert f"`taskset -acp 0 {report['stray']}`" in warning
    assert "Executor 3 is back in its planned place" in site.log


def test_a_stage_whose_tasks_take_other_resources_runs_and_one_for_other_executors_is_refused(
    application,
):
    given, too_many, executors = application[1]["profiles"]
    assert given == [[1, 1], [1, 1]]
    assert "asks for 2 CPUs for a task, and an executor has 1" in too_many[0]
    assert "local-numa has only those of the plan" in executors[0]


def test_python_workers_are_reached_by_unix_sockets_from_a_folder_that_leaves_no_room_for_them(
    application,
):
    site, report = application
    assert report["python"]
    assert report["barriers"]
    sockets = [path for path in site.document("run.json")["scratch"] if len(path) <= 61]
    assert len(sockets) == 1
    assert len(str(site.root / "local")) > 40, "with an executor's own folders, over 61"


def test_nothing_is_left_behind(application):
    run = application[0].document("run.json")
    assert application[0].leftovers() == []
    assert [path for path in run["scratch"] if Path(path).exists()] == []
    assert run["state"] == "finished"
