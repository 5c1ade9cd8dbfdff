"""`hearth workers`: bound Workers in a real standalone cluster, and what becomes of them."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hearth.analysis.analysis import analyse
from hearth.base.codec import to_json
from hearth.base.processes import is_alive, start_ticks
from hearth.machine.paths import spark_home
from hearth.record.store import list_records
from support import confs, driver_settings, eventually, hearth, json_lines

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("two_cpus")]

APP = Path(__file__).parent / "apps" / "where.py"


@dataclass
class Cluster:
    """A master on loopback, and the state of one user."""

    state: Path
    url: str
    #: where Spark's external shuffle service listens, which one of the Workers runs
    service: int

    def hearth(self, *words: str) -> subprocess.CompletedProcess[str]:
        options = (
            f"-Dspark.shuffle.service.enabled=true -Dspark.shuffle.service.port={self.service}"
        )
        more = {"SPARK_WORKER_OPTS": options, "SPARK_CONF_DIR": str(self.state.parent / "conf")}
        return hearth(self.state, "workers", *words, environment=more)

    def started(self, *words: str) -> subprocess.CompletedProcess[str]:
        sizes = ["--executors", "2", "--cores", "1", "--memory", "600m", "--wait", "4m"]
        return self.hearth("start", self.url, "--host", "127.0.0.1", *sizes, *words)

    def sets(self) -> list[dict[str, Any]]:
        return json.loads(self.hearth("status", "--json").stdout)["workers"]

    def set(self) -> dict[str, Any]:
        workers = self.sets()
        assert len(workers) == 1
        return workers[0]

    def places(self) -> list[dict[str, Any]]:
        return self.set()["places"]

    def run(self) -> dict[str, Any]:
        """What a Spark application that is profiled says that its executors are held to."""
        own = {"spark.executor.cores": "1", "spark.executor.memory": "600m"}
        own |= {"spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1"}
        # Both executors, however busy the machine is: its tasks are brief.
        own |= {"spark.cores.max": "2", "spark.scheduler.minRegisteredResourcesRatio": "1"}
        own |= {"spark.scheduler.maxRegisteredResourcesWaitingTime": "240s"}
        # An executor that does not find the service ends.
        own |= {"spark.shuffle.service.enabled": "true"}
        own |= {"spark.shuffle.service.port": str(self.service)}
        own |= {"spark.driver.host": "127.0.0.1", **driver_settings(spark_home(), None)}
        words = ["profile", "--no-summary", "--master", self.url, *confs(own), str(APP), "8"]
        python = {"PYSPARK_PYTHON": sys.executable}
        done = hearth(self.state, *words, environment=python)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    with socket.socket() as free, socket.socket() as other:
        for each in (free, other):
            each.bind(("127.0.0.1", 0))
        port, service = free.getsockname()[1], other.getsockname()[1]
    where = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    program = [str(spark_home() / "bin" / "spark-class"), "org.apache.spark.deploy.master.Master"]
    with (folder / "master.log").open("w") as log:
        master = subprocess.Popen(
            [*program, *where], stdout=log, stderr=log, start_new_session=True
        )
    running = Cluster(folder / "state", f"spark://127.0.0.1:{port}", service)
    (folder / "conf").mkdir()
    gpu = "spark.worker.resource.gpu"
    (folder / "conf" / "spark-defaults.conf").write_text(
        f"{gpu}.amount 1\n{gpu}.discoveryScript {APP.with_name('two_gpus.sh')}\n"
    )
    try:
        yield running
    finally:
        running.hearth("stop", "--drain", "0s")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(master.pid, signal.SIGKILL)
        master.wait()


def test_each_place_has_a_worker_whose_executors_inherit_its_cpus_and_memory_policy(
    cluster: Cluster,
) -> None:
    started = cluster.started()
    assert started.returncode == 0, started.stderr
    assert started.stdout.count("registered") == 2
    assert "without SPARK_LOCAL_DIRS" in started.stderr
    sizes = re.search(r"--executor-cores 1 --executor-memory 600m", started.stdout)
    assert sizes and f"--master {cluster.url}" in started.stdout

    places = cluster.places()
    cpus = sorted(place["cpus"] for place in places)
    assert len(set(cpus)) == 2
    logs = [(Path(place["logs"]) / "stderr").read_text() for place in places]
    gpus = [re.findall(r"\[name: gpu, addresses: (.*)\]", log) for log in logs]
    assert sorted(gpus) == [["0"], ["1"]]
    assert all("-XX:ActiveProcessorCount=1" in log for log in logs)  # Java names JDK_JAVA_OPTIONS
    assert all(place["alive"] and place["bound"] for place in places)
    assert "as planned" in cluster.hearth("status").stdout

    answer = cluster.run()
    assert answer["where"] == [[each, "bind:0"] for each in cpus]
    assert answer["sum"] == 499500
    (record,), problems = list_records(cluster.state)
    assert problems == []
    its_executors_are_on_record(record.directory)


def its_executors_are_on_record(record: Path) -> None:
    """They are no children of the driver."""
    rows = json_lines(record / "processes.jsonl")
    (driver,) = [row for row in rows if row.get("role") == "driver"]
    executors = {row["executor_id"]: row for row in rows if row.get("role") == "executor"}
    assert executors.keys() == {"0", "1"}
    samples = json_lines(record / "samples" / "process.jsonl")
    analysed = {each["id"]: each for each in to_json(analyse(record))["executors"]}
    for name, executor in executors.items():
        assert executor["parent"] != driver["pid"]
        assert max(row["utime"] for row in samples if row["pid"] == executor["pid"]) > 50
        log = record / "gc" / f"executor-{executor['pid']}.log"
        assert "Pause" in log.read_text()
        assert analysed[name]["tasks"] > 0
        assert analysed[name]["use"]["cpu_s"] > 0.5
        assert analysed[name]["gc"]["pauses"] > 0
        ended = (executor["pid"], executor["start_ticks"])
        eventually("its worker has ended it", lambda ended=ended: not is_alive(*ended))


def test_a_second_set_of_that_name_is_refused_and_the_first_one_stays(cluster: Cluster) -> None:
    before = [place["pid"] for place in cluster.places()]
    again = cluster.started()
    assert again.returncode == 2
    assert "run here already" in again.stderr
    assert again.stderr.count("\n") == 1
    assert [place["pid"] for place in cluster.places()] == before


def test_workers_keep_their_cpus_from_other_applications_by_a_lease(cluster: Cluster) -> None:
    leases = json.loads(hearth(cluster.state, "status", "--leases", "--json").stdout)["leases"]
    held = {lease["app_id"]: lease["cpus"] for lease in leases}
    assert any(name.startswith("workers-") for name in held)
    refused = cluster.started("--name", "second")
    assert refused.returncode == 2
    assert "spark.hearth.lease.whenFull" in refused.stderr
    waiting = ("--conf", "spark.hearth.lease.whenFull=wait", "--wait", "8s")
    late = cluster.started("--name", "second", *waiting)
    assert late.returncode == 2
    assert "no worker was started within 8 s, and none will be" in late.stderr
    assert "second" not in [each["name"] for each in cluster.sets()]


def test_a_killed_worker_comes_back_in_its_place_and_work_goes_on(cluster: Cluster) -> None:
    first = cluster.places()[0]
    os.kill(first["pid"], signal.SIGKILL)

    def back() -> bool:
        now = cluster.places()[0]
        return now["alive"] and now["pid"] != first["pid"]

    eventually("the worker is back", back)
    now = cluster.places()[0]
    assert (now["id"], now["cpus"], now["restarts"]) == (first["id"], first["cpus"], 1)
    assert "SIGKILL" in now["last_exit"]
    assert (Path(now["logs"]) / "stderr.1").exists()
    registered = Path(now["logs"]) / "stderr"
    eventually("it is registered", lambda: "Successfully" in registered.read_text())
    assert len(cluster.run()["where"]) == 2


def test_restart_replaces_one_worker_after_the_other(cluster: Cluster) -> None:
    before = {place["pid"] for place in cluster.places()}
    done = cluster.hearth("restart", "--drain", "1s")
    assert done.returncode == 0, done.stderr
    assert not before & {place["pid"] for place in cluster.places()}
    assert all(place["alive"] for place in cluster.places())


def test_a_killed_supervisor_leaves_no_worker_behind_and_can_be_started_again(
    cluster: Cluster,
) -> None:
    workers = cluster.set()
    pids = [place["pid"] for place in workers["places"]]
    os.kill(workers["pid"], signal.SIGKILL)
    eventually("all are gone", lambda: not any(map(_lives, pids)))
    assert not cluster.set()["alive"]
    assert "was killed" in cluster.hearth("status").stdout
    again = cluster.started()
    assert again.returncode == 0, again.stderr
    before = Path(workers["places"][0]["logs"]).parent / "supervisor.log.1"
    assert "Started a worker in place 0" in before.read_text()


def test_stop_ends_supervisor_and_workers_and_gives_the_lease_back(cluster: Cluster) -> None:
    workers = cluster.set()
    pids = [workers["pid"], *(place["pid"] for place in workers["places"])]
    stopped = cluster.hearth("stop", "--drain", "1s")
    assert stopped.returncode == 0, stopped.stderr
    assert "2 workers stopped" in stopped.stdout
    assert not any(map(_lives, pids))
    assert json.loads(hearth(cluster.state, "status", "--leases", "--json").stdout)["leases"] == []
    assert "  stopped" in cluster.hearth("status").stdout
    assert cluster.hearth("stop").returncode == 2


def test_a_master_that_is_not_there_is_named_and_stop_ends_what_goes_on_trying(
    cluster: Cluster,
) -> None:
    sizes = ["--executors", "2", "--cores", "1", "--memory", "600m"]
    nobody = "spark://127.0.0.1:9"
    for patience in ("8s", "2m"):  # a busy machine may not have started a worker in 8 s
        tried = cluster.hearth("start", nobody, *sizes, "--host", "127.0.0.1", "--wait", patience)
        assert tried.returncode == 2
        if "no worker was started" not in tried.stderr:
            break
    assert f"{nobody}: 2 of 2 workers are not registered" in tried.stderr
    assert cluster.hearth("stop", nobody, "--drain", "0s").returncode == 0


def _lives(pid: int) -> bool:
    return start_ticks(pid) is not None
