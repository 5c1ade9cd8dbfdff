"""`hearth workers` without a cluster: what it prints for other machines, what it refuses."""

import errno
import fcntl
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hearth.base.errors import UserError
from hearth.machine.plan import PlanRequest
from hearth.spark import workers
from support import Command, eventually, program, says

BIG = "2 packages, 4 nodes of 256 GB, 12 cores x 2 threads"
MASTER = "spark://big1:7077"


def test_units_of_systemd_bind_each_place_as_planned(hearth: Command, tmp_path: Path) -> None:
    plan = json.loads(hearth("plan", "--json", "--machine", BIG).stdout)
    text = hearth("workers", "plan", MASTER, "--machine", BIG, "--format", "systemd").stdout
    units = re.split(r"^# /etc/systemd/system/(\S+)\n", text, flags=re.MULTILINE)[1:]
    files = [tmp_path / name for name in units[::2]]
    for file, unit in zip(files, units[1::2], strict=True):
        file.write_text(unit)

    bound = re.findall(r"CPUAffinity=(.*)\nNUMAPolicy=bind\nNUMAMask=(.*)", text)
    assert bound == [(each["cpus"], each["memory_nodes"]) for each in plan["executors"]]
    sizes = re.findall(r"--cores (\d+) --memory (\d+)m .* spark://big1:7077", text)
    assert sizes == [(str(e["task_slots"]), str(e["heap_mb"])) for e in plan["executors"]]
    if systemd := shutil.which("systemd-analyze"):
        checked = subprocess.run(
            [systemd, "verify", *files], capture_output=True, text=True, check=False
        )
        assert (checked.returncode, checked.stderr) == (0, "")


def test_the_script_binds_each_place_by_numactl(hearth: Command) -> None:
    plan = json.loads(hearth("plan", "--json", "--machine", BIG).stdout)
    text = hearth("workers", "plan", MASTER, "--machine", BIG, "--format", "sh").stdout
    bound = re.findall(r"numactl --physcpubind=(\S+) --membind=(\S+) ", text)
    assert bound == [(each["cpus"], each["memory_nodes"]) for each in plan["executors"]]
    subprocess.run(["sh", "-n"], input=text, text=True, check=True)


def test_a_signal_to_the_script_ends_all_workers_and_waits_for_them(
    hearth: Command, tmp_path: Path
) -> None:
    text = hearth("workers", "plan", MASTER, "--machine", BIG, "--format", "sh").stdout
    worker = (
        'trap "sleep 0.3; echo >>ended; exit" TERM\necho >>begun\nwhile sleep 0.1; do :; done\n'
    )
    program(tmp_path / "numactl", 'shift 2\nexec "$@"')
    program(tmp_path / "spark-class", worker)
    own = re.sub(r"\S+/spark-class ", f"{tmp_path}/spark-class ", text)
    path = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    script = subprocess.Popen(["sh", "-c", own], cwd=tmp_path, env=path, start_new_session=True)
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    many = text.count("numactl")
    eventually("all run", lambda: begun.exists() and len(begun.read_text()) == many)
    script.terminate()
    assert script.wait(60) == 0
    assert len(ended.read_text()) == many


def test_one_jvm_for_the_whole_machine_is_one_worker_that_nothing_binds(hearth: Command) -> None:
    small = "1 node of 16 GB, 4 cores"
    text = hearth("workers", "plan", MASTER, "--machine", small, "--format", "systemd").stdout
    assert text.count("[Service]") == 1
    assert "CPUAffinity" not in text


@pytest.fixture
def shuffle_service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """The environment of a machine whose Workers run Spark's external shuffle service."""
    service = {"SPARK_WORKER_OPTS": "-Dspark.shuffle.service.enabled=true"}
    without = {"SPARK_LOCAL_DIRS", "SPARK_DAEMON_JAVA_OPTS", "SPARK_CONF_DIR"}
    inherited = {name: value for name, value in os.environ.items() if name not in without}
    environment = {**inherited, **service, "HEARTH_STATE": str(tmp_path)}
    monkeypatch.setattr(os, "environ", environment)
    return environment


def asked() -> workers.WorkersRequest:
    return workers.request("w", MASTER, PlanRequest(conf={"spark.local.dir": "/plans"}), [])


def test_spark_local_dirs_stands_against_the_directory_of_the_plan(
    shuffle_service: dict[str, str],
) -> None:
    assert "/plans" in json.dumps(asked().plan)
    shuffle_service["SPARK_LOCAL_DIRS"] = "/users"
    assert "/users" in json.dumps(asked().plan) and "/plans" not in json.dumps(asked().plan)


def test_a_shuffle_service_that_would_forget_executors_is_told_with_the_remedy(
    shuffle_service: dict[str, str],
) -> None:
    note = workers.shuffle_service_note(asked())
    assert note is not None
    assert says(note, "spark.shuffle.service.enabled … without SPARK_LOCAL_DIRS … set SPARK_LOCAL")
    shuffle_service["SPARK_LOCAL_DIRS"] = "/users"
    assert workers.shuffle_service_note(asked()) is None
    del shuffle_service["SPARK_LOCAL_DIRS"]
    shuffle_service["SPARK_WORKER_OPTS"] = "-Dspark.shuffle.service.enabled=false"
    assert workers.shuffle_service_note(asked()) is None


def test_a_line_break_in_a_master_is_shown_as_no_line_break(refused: Callable[..., str]) -> None:
    assert r"'spark://a:7077\x0ax' names no" in refused("workers", "start", "spark://a:7077\nx")


def test_why_a_supervisor_ended_is_told_by_the_line_that_says_it(tmp_path: Path) -> None:
    log = tmp_path / "supervisor.log"
    assert workers._reason(log) == ""
    log.write_text(
        "Picked up JAVA_TOOL_OPTIONS: -XX:+Odd\nUnrecognized VM option 'Odd'\n"
        "Error: Could not create the Java Virtual Machine.\n"
        "Error: A fatal exception has occurred. Program will exit.\n"
    )
    assert workers._reason(log) == "Unrecognized VM option 'Odd'"


def test_no_signal_goes_to_what_has_come_to_the_id_of_a_process_that_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor to the caller's own group where a place has no Worker just now."""
    sent: list[object] = []
    monkeypatch.setattr(os, "kill", lambda *words: sent.append(words))
    own = {"pid": os.getpid(), "start_ticks": 1}
    place = {"id": 0, "cpus": "0", "memory_nodes": "0", "cores": 1, "memory_mb": 1, "logs": "/x"}
    places = [workers.Place(**place, restarts=0, **more) for more in ({}, own)]
    about = {"name": "n", "master": MASTER, "state": "running", "machine": "m", "started_at": "x"}
    ended = workers.WorkerSet("hearth/workers/1", **about, **own, places=tuple(places))
    workers.stop(ended)
    for each in places:
        with pytest.raises(UserError):
            workers.restart(ended, each, limit_s=0)
    assert sent == []


def test_a_directory_that_cannot_be_locked_is_named_with_the_remedy(
    shuffle_service: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", none)
    with pytest.raises(UserError) as refused:
        workers.begin(asked(), print, 1)
    assert says(str(refused.value), "HEARTH_STATE: …No locks available…choose a directory")
