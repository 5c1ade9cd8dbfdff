"""`hearth workers` without a cluster: what it asks for, notes and refuses."""

import errno
import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hearth.base.errors import UserError
from hearth.machine.plan import PlanRequest
from hearth.spark import workers
from support import says

MASTER = "spark://big1:7077"


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
