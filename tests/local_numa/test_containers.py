"""Executors in Docker containers, from a real Spark and a real engine."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from application import APPS, Outcome, Site, beyond
from test_hand_over import result

from docker_engine import started
from hearth.cli.options import read_line
from hearth.machine.paths import spark_home
from hearth.record.store import list_records
from hearth.spark.saved_configs import keep_compared
from support import ROOT, command, eventually, hearth, require

pytestmark = pytest.mark.spark

FORCED = ("--executors", "2", "--cores", "1", "--memory", "512m")
IMAGE = "hearth-empty:1"


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
    # One that goes meanwhile is no longer listed, and makes the exit code 1.
    listed = subprocess.run([*words, *containers()], capture_output=True, text=True, check=False)
    return dict(line.removeprefix("/").split() for line in listed.stdout.splitlines() if line)


def start(site: Site, *words: str, **conf: str) -> subprocess.Popen[str]:
    return site.start(*words, spark__hearth__launcher="docker", **conf)


def run(site: Site, *words: str, **conf: str) -> Outcome:
    return site.run(*words, spark__hearth__launcher="docker", **conf)


def clients(name: str) -> list[int]:
    """The `docker run` processes of containers whose name ends so."""
    pids = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if command[:2] == ["docker", "run"] and name in command:
            pids.append(int(entry.parent.name))
    return pids


def nothing_is_left(site: Site) -> None:
    eventually("nothing left behind", lambda: site.leftovers() == [], 90)
    eventually("no container left", lambda: containers() == [], 90)


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What lies elsewhere than the driver runs: a home, data that are named, data that are not."""
    root = tmp_path_factory.mktemp("outside")
    for name in ("home/.ssh", "named", "unnamed"):
        (root / name).mkdir(parents=True)
        (root / name / "list.csv").write_text("a\n1\n2\n")
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    monkeypatch.setenv("HOME", str(root / "home"))
    monkeypatch.setenv("TMPDIR", str(root / "home"))
    return root


def test_tasks_in_containers_have_their_cpus_and_files_and_who_is_killed_is_replaced_there(
    contained: Site, outside: Path, engine: str, monkeypatch: pytest.MonkeyPatch
):
    secret = {"spark__authenticate": "true", "spark__authenticate__secret": "hush"}
    served = {"spark__ui__enabled": "true", "spark__ui__port": "0"}
    leased = {"spark__hearth__neighbours": "avoid"}
    hidden = [outside / name for name in ("home/list.csv", "home/.ssh", "unnamed")]
    hidden += [Path(name) for name in ("/etc/shadow", "/etc/ssl/private", "/var/log")]
    hidden.append(Path(engine.removeprefix("unix://") or "/var/run/docker.sock"))
    shown = [outside / "named/list.csv", Path("/usr/bin/env"), Path("/etc/passwd"), contained.root]
    monkeypatch.setenv("PROBES", ":".join(map(str, hidden + shown)))
    monkeypatch.setenv("UNNAMED", str(outside / "unnamed"))
    monkeypatch.setenv("OWN_KEY", "hush")
    leased |= {"spark__executorEnv__WANTED": "yes"}
    (contained.root / "relative.txt").write_text("read")
    rounds = contained.root / "rounds"
    words = (str(outside / "named"), str(rounds))
    process = start(contained, "contained.py", *words, **secret, **served, **leased)
    report = result(process)
    its_workers_are_held_by_its_cpuset(contained, report)
    assert report["lease_holders"] == 3, "the driver and each executor keep it"
    assert_its_tasks_have_what_is_theirs(report, shown)
    assert "list.csv" in report["failure"]
    remedy = f"spark.hearth.docker.mounts={outside / 'unnamed'}"
    assert contained.log.count(remedy) == 1, contained.log[-3000:]
    each_victim_is_replaced_in_its_place_though_the_image_is_gone(contained, rounds)
    process.communicate(timeout=180)
    assert process.returncode == 0
    nothing_is_left(contained)


def assert_its_tasks_have_what_is_theirs(report: dict[str, Any], shown: list[Path]) -> None:
    """CPUs, files to see, to read and to write, variables, rights, each other's shuffle files."""
    # Whatever they ask of the kernel.
    assert [own for own, _ in report["tried"]] == [[0], [1]]
    assert all(after == own for own, after in report["tried"])
    (sight,) = report["sight"]
    assert sight["seen"] == list(map(str, shown))
    assert sight["variables"] == ["HOME", "PATH", "WANTED"]
    assert {json.dumps(w["rights"]) for w in report["workers"]} == {
        '{"CapBnd": "0000000000000000", "NoNewPrivs": "1"}'
    }
    assert sight["found"] == ["beside", "read"], "as in the driver's directory"
    (writes,) = report["writes"]
    refused = "Read-only file system"
    assert writes.pop("named") == "written"
    assert writes.pop("unnamed") == "No such file or directory"
    assert writes == {"tmp": refused, "usr": refused, "root": refused}
    assert report["read"] == ["1", "2"]
    assert report["saved"] == [0, 1, 2, 3]
    assert report["shuffle"]["right"]
    assert report["shuffle"]["shuffleRemoteBytesRead"] == 0  # read from each other's files
    assert report["shuffle"]["shuffleLocalBytesRead"] > 0


def its_workers_are_held_by_its_cpuset(site: Site, report: dict[str, Any]) -> None:
    workers = report["workers"]
    assert {tuple(w["policy"]) for w in workers} == {("default",)}  # the cpuset binds
    placement = site.document("placement.json")["executors"]
    assert [e["verdict"] for e in placement] == ["as planned"] * 2
    for executor in placement:
        assert executor["kernel"]["mems_allowed"] == executor["planned_memory_nodes"]
        mine = {w["cpus"] for w in workers if w["executor"] == executor["pid"]}
        assert mine == {executor["planned_cpus"]}
    assert site.document("run.json")["launcher"] == "docker"


def each_victim_is_replaced_in_its_place_though_the_image_is_gone(site: Site, rounds: Path) -> None:
    """While the application counts in short tasks, until it is told that that is enough."""
    eventually("a round", rounds.exists, 90)
    docker("rmi", "--force", IMAGE)
    for victim in ("jvm", "container", "client"):
        kill_one(site, victim)
    assert docker("image", "ls", "--quiet", IMAGE) != ""
    lost = r"Lost executor \d+ \(place \d+, process \d+\): exit 137: killed by SIGKILL"
    assert len(re.findall(lost, site.log)) == 3
    rounds.with_name("enough").touch()
    assert set(rounds.read_text().split()) == {"8"}


def kill_one(site: Site, victim: str) -> None:
    """Ends the executor that was started last but one, in one of three ways, and awaits another."""
    eventually("two executors", lambda: len(site.executors()) == 2)
    before = cpusets()
    name, pid = oldest(site)
    if victim == "container":
        docker("rm", "--force", name)
    else:
        (client,) = clients(name)
        if victim == "client":  # its executor cannot end by itself then
            os.kill(pid, signal.SIGSTOP)
        os.kill(client if victim == "client" else pid, signal.SIGKILL)
    eventually("a replacement", lambda: name not in cpusets() and len(cpusets()) == 2)
    assert sorted(cpusets().values()) == sorted(before.values()) == ["0", "1"]


def oldest(site: Site) -> tuple[str, int]:
    """The container of the executor with the smallest id, and its process."""
    ids = {int(words["--executor-id"]): pid for pid, words in site.executors().items()}
    first = min(ids)
    (name,) = [name for name in cpusets() if name.endswith(f"-{first}")]
    return name, ids[first]


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
    process.wait(timeout=60)
    nothing_is_left(contained)
    eventually("marked", lambda: contained.document("run.json")["state"] == "abandoned", 60)


def test_ctrl_c_ends_the_containers_in_order(contained: Site):
    process = start(contained, "pause.py", "60")
    eventually("tasks", lambda: "Starting task" in contained.log, 120)
    os.killpg(process.pid, signal.SIGINT)
    process.wait(timeout=240)
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
            process.communicate(timeout=240)
            eventually("nothing left behind", lambda: site.leftovers() == [], 90)
    assert process.returncode != 0
    assert "Cannot connect to the Docker daemon" in site.log


def test_cpus_that_the_engine_refuses_end_the_application_with_its_words(contained: Site):
    plan = beyond(contained)
    outcome = run(contained, "pause.py", "1", master="local-numa", spark__hearth__plan=plan)
    assert outcome.code != 0
    assert "docker run ended with 125: docker: Error response from daemon: Requested CPUs" in (
        outcome.log
    )
    nothing_is_left(contained)


def test_compare_measures_the_docker_arm_as_the_others_and_submit_uses_it_when_it_is_kept(
    contained: Site,
):
    arms = ("--arms", "docker,bound", "--repeat", "1", "--warmup", "0", "--keep", "--json")
    application = str(APPS / "pause.py")
    done = hearth(contained.root / "state", "compare", *arms, *FORCED, application, "2")
    assert done.returncode == 0, done.stderr[-3000:]
    document = json.loads(done.stdout)
    assert [(arm["name"], len(arm["seconds"])) for arm in document["arms"]] == [
        ("docker", 1),
        ("bound", 1),
    ]
    assert document["verdict"]["choice"] is None  # one run shows nothing, and nothing is kept
    told = {"comparison": document["id"], "sentence": "it was faster", "master": "local-numa[2x1]"}
    line = read_line([application, "2"])
    keep_compared(contained.root / "state", line, {"arm": "docker", "words": ["--docker"], **told})
    runs = contained.root / "state" / "applications"
    documents = [json.loads(file.read_text()) for file in runs.glob("*/run.json")]
    assert sorted(document["launcher"] for document in documents) == ["docker", "process"]
    dry = hearth(contained.root / "state", "submit", "--dry-run", application, "2")
    assert "using 'docker', the winner of comparison" in dry.stderr
    assert "spark.hearth.launcher=docker" in dry.stdout
    assert "local-numa[2x1]" in dry.stdout  # as compared, though the plan here is one JVM
    eventually("no container left", lambda: containers() == [], 90)
    its_executors_are_measured(contained)


def its_executors_are_measured(site: Site) -> None:
    records, problems = list_records(site.root / "state")
    assert problems == []
    assert len(records) == 2
    for record in records:
        rows = [json.loads(line) for line in (record.directory / "processes.jsonl").open()]
        executors = {row["pid"]: row for row in rows if row.get("role") == "executor"}
        assert {row["cpus_allowed"] for row in executors.values()} == {"0", "1"}
        logs = {log.name for log in (record.directory / "gc").glob("executor-*.log")}
        assert logs == {f"executor-{pid}.log" for pid in executors}
        samples = (record.directory / "samples/process.jsonl").open()
        assert executors.keys() <= {json.loads(line)["pid"] for line in samples}


def test_a_killed_comparison_leaves_no_container(contained: Site):
    words = ["compare", "--arms", "docker,bound", "--repeat", "1", "--warmup", "0", *FORCED]
    with (contained.root / "compare.log").open("w") as log:
        process = subprocess.Popen(
            command(*words, str(APPS / "pause.py"), "600"), env=contained.environment,
            cwd=contained.root, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    contained.started.append(process)
    eventually("two containers", lambda: len(containers()) == 2, 120)
    process.kill()
    process.wait(timeout=240)
    eventually("no container left", lambda: containers() == [])


#: Nothing can be written, no user of that number exists, and little may be started.
NARROW = ("--user", "61234:61234", "--read-only", "--cap-drop", "ALL", "--pids-limit", "40")
ROOMY = ("--cpuset-cpus", "0", "--pids-limit", "300", "--tmpfs", "/tmp")


def doctor_in_container(
    engine: str, *words: str, limits: Sequence[str] = ROOMY
) -> subprocess.CompletedProcess[str]:
    """The engine's own limits, and some more, around this machine's programs."""
    subprocess.run(["docker", "import", "-", IMAGE], input=b"", check=True, capture_output=True)
    places = ("/usr", "/bin", "/lib", "/lib64", "/etc", str(ROOT), sys.prefix, sys.base_prefix)
    mounted = sorted({place for place in (*places, str(spark_home())) if Path(place).exists()})
    call = ["docker", "run", "--rm", "--network", "none", "--memory", "2g", *limits]
    call += [word for place in mounted for word in ("--volume", f"{place}:{place}:ro")]
    for name, value in {"HEARTH_STATE": "/tmp/state", "PATH": os.environ["PATH"]}.items():
        call += ["--env", f"{name}={value}"]
    call += [IMAGE, sys.executable, "-m", "hearth", "doctor", *words]
    return subprocess.run(call, capture_output=True, text=True, check=False, timeout=120)


def test_the_doctor_in_a_container_where_nothing_can_be_written_says_so(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", engine)
    done = doctor_in_container(engine, "--json", limits=NARROW)
    assert done.returncode == 1, done.stderr
    findings = {each["name"]: each for each in json.loads(done.stdout)["findings"]}
    assert {"directory-modes", "group-tasks", "state-space"} <= findings.keys()
    assert findings["directory-modes"]["seen"].startswith("/tmp does not exist")
    for each in findings.values():
        assert "sysctl" not in each.get("command", "") or each["how"].startswith("on the host: ")


def test_the_doctor_in_a_container_tells_its_limits_and_what_only_the_host_can_change(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", engine)
    done = doctor_in_container(engine, "--json")
    assert done.returncode == 1, done.stderr
    said = json.loads(done.stdout)
    findings = {each["name"]: each for each in said["findings"]}
    assert findings["group-tasks"]["seen"].startswith("pids.max = 300: room for")
    assert findings["shared-memory"]["seen"] == "/dev/shm: 64 MB"
    assert findings["temporary-noexec"]["severity"] == "harm"
    assert "of the control group's 2 GB" in findings["local-dirs-space"]["seen"]
    sound = {each["name"]: each["seen"] for each in said["sound"]}
    assert sound["refused-binding"] == "Seccomp 2, CAP_SYS_NICE no, plan native"
    assert sound["hidden-limits"] == "control groups are mounted"
    kernels = [each for each in findings.values() if "/proc/sys" in each["evidence"]]
    assert all(each["how"].startswith("on the host: ") for each in kernels)
