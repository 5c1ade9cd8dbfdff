"""`hearth profile` of an application on a standalone cluster, whose executors are no children."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from profiled_runs import only_record, start_profile

from hearth.analysis.analysis import analyse
from hearth.base.codec import to_json
from hearth.base.processes import is_alive
from hearth.machine import paths
from support import json_lines

pytestmark = pytest.mark.spark

LIMIT_S = 240.0


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """The address of a master on loopback with one worker; nothing of it is left behind."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        log = daemon(started, tmp_path, "master", "master.Master", "--port", "0")
        address = said(log, r"Starting Spark master at (spark://\S+)")
        small = ("--cores", "1", "--memory", "700m", "--work-dir", str(tmp_path / "work"))
        worker = daemon(started, tmp_path, "worker", "worker.Worker", *small, address)
        said(worker, r"Successfully registered with (master)")
        yield address
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)  # a worker's executors are of its group
            process.wait()


def daemon(
    started: list[subprocess.Popen[bytes]], folder: Path, name: str, kind: str, *words: str
) -> Path:
    """Starts Spark's own class in a process group of its own; its log."""
    log = folder / f"{name}.log"
    environment = {**os.environ, "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [str(paths.spark_home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}"]
    with log.open("wb") as output:
        started.append(
            subprocess.Popen(
                [*command, "--host", "127.0.0.1", "--webui-port", "0", *words],
                env=environment, cwd=folder, stdout=output, stderr=output, start_new_session=True,
            )
        )  # fmt: skip
    return log


def said(log: Path, pattern: str) -> str:
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        if match := re.search(pattern, log.read_text(errors="replace")):
            return match[1]
        time.sleep(0.2)
    pytest.fail(f"{log.name} does not say '{pattern}': {log.read_text(errors='replace')[-500:]}")


def test_an_executor_that_a_worker_started_is_sampled_and_its_gc_log_is_on_record(
    master: str, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    small = ("--conf", "spark.executor.memory=512m", "--conf", "spark.cores.max=1")
    process = start_profile(state, "--master", master, *small, "--no-summary", "APP")
    output, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    assert "groups 100\n" in output
    record = only_record(state)
    seen = json_lines(record.directory / "processes.jsonl")
    (driver,) = [row for row in seen if row.get("role") == "driver"]
    (executor,) = [row for row in seen if row.get("role") == "executor"]
    assert executor["executor_id"] == "0"
    assert executor["parent"] != driver["pid"]
    samples = json_lines(record.directory / "samples" / "process.jsonl")
    assert max(row["utime"] for row in samples if row["pid"] == executor["pid"]) > 50
    log = record.directory / "gc" / f"executor-{executor['pid']}.log"
    assert "Pause" in log.read_text()
    (zero,) = [e for e in to_json(analyse(record.directory))["executors"] if e["id"] == "0"]
    assert zero["tasks"] > 0
    assert zero["use"]["cpu_s"]["user"] > 0.5
    assert zero["gc"]["pauses"] > 0
    deadline = time.monotonic() + LIMIT_S
    while is_alive(executor["pid"], executor["start_ticks"]) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not is_alive(executor["pid"], executor["start_ticks"])
