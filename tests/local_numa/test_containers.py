"""Executors in Docker containers, from a real Spark and a real engine."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from application import APPS, Outcome, Site, beyond

from docker_engine import started
from hearth.measure.record import list_records
from support import eventually, require

pytestmark = pytest.mark.spark

FORCED = ("--executors", "2", "--cores", "1", "--memory", "512m")
ABSENT = "unix:///nowhere/docker.sock"


@pytest.fixture
def contained(site: Site, engine: str, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A site whose applications find the engine."""
    monkeypatch.setenv("DOCKER_HOST", engine)
    return site


def docker(*words: str) -> str:
    done = subprocess.run(["docker", *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def containers() -> list[str]:
    return docker("ps", "--all", "--quiet", "--filter", "name=hearth-").split()


def cpusets() -> dict[str, str]:
    """The CPUs of each container's cpuset, by its name, as the engine tells."""
    words = ["docker", "inspect", "--format", "{{.Name}} {{.HostConfig.CpusetCpus}}"]
    # One that goes meanwhile is no longer told of, and makes the exit code 1.
    told = subprocess.run([*words, *containers()], capture_output=True, text=True, check=False)
    return dict(line.removeprefix("/").split() for line in told.stdout.splitlines() if line)


def start(site: Site, *words: str, **conf: str) -> subprocess.Popen[str]:
    return site.start(*words, spark__hearth__launcher="docker", **conf)


def run(site: Site, *words: str, **conf: str) -> Outcome:
    return site.run(*words, spark__hearth__launcher="docker", **conf)


def clients(name: str) -> list[int]:
    """The `docker run` processes of containers whose name ends so."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if command[:2] == ["docker", "run"] and name in command:
            found.append(int(entry.parent.name))
    return found


def nothing_is_left(site: Site) -> None:
    eventually("nothing left behind", lambda: site.leftovers() == [], 15)
    eventually("no container left", lambda: containers() == [], 15)


def test_executors_and_their_python_workers_are_held_by_the_cpusets_of_their_containers(
    contained: Site,
):
    outcome = run(contained, "placement.py")
    assert outcome.code == 0, outcome.log[-4000:]
    workers = outcome.report["workers"]
    assert {w["cpus"] for w in workers} == {"0", "1"}
    assert {w["policy"] for w in workers} == {"default"}  # no memory policy: the cpuset binds
    placement = contained.document("placement.json")["executors"]
    assert [e["verdict"] for e in placement] == ["as planned"] * 2
    for executor in placement:
        assert executor["kernel"]["mems_allowed"] == executor["planned_memory_nodes"]
        mine = {w["cpus"] for w in workers if w["executor_pid"] == executor["pid"]}
        assert mine == {executor["planned_cpus"]}
    assert contained.document("run.json")["launcher"] == "docker"
    nothing_is_left(contained)


def test_what_leaves_its_cpus_in_a_process_cannot_leave_those_of_a_container(contained: Site):
    outcome = run(contained, "escape.py")
    tried = outcome.report["tried"]
    assert sorted(own for own, _ in tried) == ["0", "1"]
    assert all(after == own for own, after in tried)
    nothing_is_left(contained)


def test_shuffle_blocks_are_read_from_the_files_of_another_container(contained: Site):
    served = {"spark__ui__enabled": "true", "spark__ui__port": "0"}
    report = run(contained, "shuffle.py", **served).report
    assert report["right"]
    assert report["executors"] == 2
    assert report["shuffleRemoteBytesRead"] == 0
    nothing_is_left(contained)


def test_the_secret_that_executors_need_reaches_those_in_containers(contained: Site):
    """By the environment: a command line is for all to read."""
    secret = {"spark__authenticate": "true", "spark__authenticate__secret": "hush"}
    outcome = run(contained, "escape.py", **secret)
    assert outcome.report["tried"], outcome.log[-3000:]
    nothing_is_left(contained)


@pytest.mark.parametrize("victim", ["jvm", "container", "client"])
def test_what_is_killed_is_replaced_in_the_same_place_and_the_job_completes(
    contained: Site, victim: str
):
    process = start(contained, "pause.py", "4", "6")
    eventually("two executors", lambda: len(contained.executors()) == 2, 60)
    eventually("tasks", lambda: "Starting task" in contained.log, 90)
    before = cpusets()
    name = next(n for n in before if n.endswith("-0"))
    if victim == "container":
        docker("rm", "--force", name)
    else:
        (executor,) = first_executor(contained)
        (client,) = clients(name)
        if victim == "client":  # its executor cannot end by itself then
            os.kill(executor, signal.SIGSTOP)
        os.kill(client if victim == "client" else executor, signal.SIGKILL)
    eventually("a replacement", lambda: name not in cpusets() and len(cpusets()) == 2, 30)
    assert sorted(cpusets().values()) == sorted(before.values()) == ["0", "1"]
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 0
    assert '{"counted": 6}' in output
    assert "exit 137: killed by SIGKILL" in contained.log
    nothing_is_left(contained)


def first_executor(site: Site) -> list[int]:
    return [pid for pid, words in site.executors().items() if words["--executor-id"] == "0"]


@pytest.mark.parametrize("moment", ["busy", "starting"])
def test_a_killed_driver_leaves_no_container(contained: Site, moment: str):
    process = start(contained, "pause.py", "30")
    if moment == "starting":
        eventually("a container", lambda: containers() != [], 60)
    else:
        eventually("two executors", lambda: len(contained.executors()) == 2, 60)
        eventually("tasks", lambda: "Starting task" in contained.log, 90)
        # It cannot notice that the driver is gone: whoever else looks after it must end it.
        os.kill(min(contained.executors()), signal.SIGSTOP)
    os.kill(contained.document("run.json")["driver_pid"], signal.SIGKILL)
    process.wait(timeout=20)
    nothing_is_left(contained)
    assert contained.document("run.json")["state"] == "abandoned"


def test_ctrl_c_ends_the_containers_in_order(contained: Site):
    process = start(contained, "pause.py", "60")
    eventually("tasks", lambda: "Starting task" in contained.log, 120)
    os.killpg(process.pid, signal.SIGINT)
    process.wait(timeout=60)
    assert process.returncode != 0
    nothing_is_left(contained)
    assert contained.document("run.json")["state"] == "finished"
    assert "Lost executor" not in contained.log


def test_where_the_engine_dies_the_application_ends_and_no_executor_stays(
    site: Site, engine: str, monkeypatch: pytest.MonkeyPatch
):
    assert engine  # that of the other tests lives on
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        require("docker", "only root with dockerd can start an engine to kill")
    with tempfile.TemporaryDirectory(prefix="hearth-dockerd-") as name:
        folder = Path(name)
        with started(folder) as mortal:
            monkeypatch.setenv("DOCKER_HOST", mortal)
            process = start(site, "pause.py", "60")
            eventually("tasks", lambda: "Starting task" in site.log, 120)
            os.kill(int((folder / "pid").read_text()), signal.SIGKILL)
            process.communicate(timeout=60)
            eventually("nothing left behind", lambda: site.leftovers() == [], 30)
    assert process.returncode != 0
    assert "Cannot connect to the Docker daemon" in site.log


def test_without_an_engine_the_application_ends_and_says_so(
    site: Site, engine: str, monkeypatch: pytest.MonkeyPatch
):
    assert engine != ABSENT
    monkeypatch.setenv("DOCKER_HOST", ABSENT)
    outcome = run(site, "pause.py", "1")
    assert outcome.code != 0
    assert "spark.hearth.launcher: docker cannot be used here: " in outcome.log
    assert "/nowhere/docker.sock" in outcome.log
    assert site.leftovers() == []


def test_without_the_command_the_application_ends_and_says_what_to_install(
    site: Site, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """All programs of this machine but docker."""
    assert engine
    programs = tmp_path / "programs"
    programs.mkdir()
    for folder in reversed(os.environ["PATH"].split(":")):
        for program in Path(folder).glob("*"):
            link = programs / program.name
            if program.name != "docker":
                link.unlink(missing_ok=True)
                link.symlink_to(program)
    monkeypatch.setenv("PATH", str(programs))
    outcome = run(site, "pause.py", "1")
    assert outcome.code != 0
    assert "there is no docker command here: install Docker" in outcome.log
    assert site.leftovers() == []


def test_cpus_that_the_engine_refuses_end_the_application_with_its_words(contained: Site):
    plan = beyond(contained)
    outcome = run(contained, "pause.py", "1", master="local-numa", spark__hearth__plan=plan)
    assert outcome.code != 0
    assert "docker run ended with 125: docker: Error response from daemon: Requested CPUs" in (
        outcome.log
    )
    nothing_is_left(contained)


def hearth(site: Site, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hearth", *words]
    done = subprocess.run(
        command, env=site.environment, cwd=site.root, capture_output=True, text=True, check=False,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def test_a_profile_sees_executors_in_containers_as_it_sees_processes(contained: Site):
    quiet = ("--conf", "spark.ui.enabled=false", "--no-summary")
    hearth(contained, "profile", "--docker", *FORCED, *quiet, str(APPS / "pause.py"), "3")
    (record,), problems = list_records(contained.root / "state")
    assert problems == []
    rows = [json.loads(line) for line in (record.directory / "processes.jsonl").open()]
    executors = {row["pid"]: row for row in rows if row.get("role") == "executor"}
    assert {row["cpus_allowed"] for row in executors.values()} == {"0", "1"}
    logs = {log.name for log in (record.directory / "gc").glob("executor-*.log")}
    assert logs == {f"executor-{pid}.log" for pid in executors}
    sampled = [json.loads(line) for line in (record.directory / "samples/process.jsonl").open()]
    assert executors.keys() <= {row["pid"] for row in sampled}


def test_compare_runs_the_docker_arm_and_submit_uses_it_when_it_is_kept(contained: Site):
    arms = ("--arms", "docker,bound", "--repeat", "1", "--warmup", "0", "--keep", "--json")
    application = str(APPS / "tiny.py")
    done = hearth(contained, "compare", *arms, *FORCED, application)
    document = json.loads(done.stdout)
    assert [(arm["name"], len(arm["seconds"])) for arm in document["arms"]] == [
        ("docker", 1),
        ("bound", 1),
    ]
    assert document["verdict"]["choice"] == "docker"  # the baseline: one run shows nothing
    runs = contained.root / "state" / "runs"
    documents = [json.loads(file.read_text()) for file in runs.glob("*/run.json")]
    assert sorted(document["launcher"] for document in documents) == ["docker", "process"]
    told = hearth(contained, "submit", "--dry-run", application)
    assert "kept choice 'docker'" in told.stderr
    assert "spark.hearth.launcher=docker" in told.stdout
    assert "local-numa[2x1]" in told.stdout  # as compared, though the plan here is one JVM
    eventually("no container left", lambda: containers() == [], 15)


def test_a_killed_comparison_leaves_no_container(contained: Site):
    words = ["compare", "--arms", "docker,bound", "--repeat", "1", "--warmup", "0", *FORCED]
    command = [sys.executable, "-m", "hearth", *words, str(APPS / "pause.py"), "60"]
    with (contained.root / "compare.log").open("w") as log:
        process = subprocess.Popen(
            command, env=contained.environment, cwd=contained.root, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
    contained.started.append(process)
    eventually("two containers", lambda: len(containers()) == 2, 120)
    process.kill()
    process.wait(timeout=20)
    eventually("no container left", lambda: containers() == [], 40)
