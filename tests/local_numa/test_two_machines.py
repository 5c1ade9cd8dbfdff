"""`hearth workers` and the plugin on two machines: what only masters on a network can show.

`make test-versions` runs it: it takes some minutes.
"""

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hearth.machine.paths import hearth_jar, spark_home
from support import confs, eventually, require, validate
from two_machines import URL, WORKER, Machine, two_machines, why_not

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("two_cpus")]

APP = str(Path(__file__).parent / "apps" / "rounds.py")
JARS = spark_home() / "jars"
AT_ONCE = "/dev/null"  # a file that is there
IN_PLACE = ["--executor-cores", "1", "--executor-memory", "600m", "--driver-memory", "500m"]
SERVICE = {"SPARK_WORKER_OPTS": "-Dspark.shuffle.service.enabled=true"}
ALL_FOUR = {
    "spark.cores.max": "4",
    "spark.scheduler.minRegisteredResourcesRatio": "1",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "240s",
}
EVERYWHERE = {f"big{machine}:{cpu}" for machine in (1, 2) for cpu in (0, 1)}
EXECUTOR = " org.apache.spark.executor.CoarseGrainedExecutorBackend "


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[tuple[Machine, Machine]]:
    if os.environ.get("HEARTH_VERSIONS") != "all":
        pytest.skip("make test-versions runs it")
    if reason := why_not():
        require("root", reason)
    with two_machines(tmp_path) as made:
        yield made


Machines = tuple[Machine, ...]


def on(machines: Machines, act: Callable[[Machine], Any]) -> list[Any]:
    with ThreadPoolExecutor() as pool:
        return list(pool.map(act, machines))


def joined(machines: Machines, url: str = URL, **more: str) -> None:
    sizes = ["--executors", "2", "--cores", "1", "--memory", "600m", "--wait", "4m"]
    for done in on(machines, lambda each: each.hearth("workers", "start", url, *sizes, **more)):
        assert done.returncode == 0, done.stderr


def gone(machines: Machines) -> None:
    """Stop all Workers; nothing that they started is left."""
    stop = ("workers", "stop", "--drain", "5s")
    for done in on(machines, lambda each: each.hearth(*stop)):
        assert done.returncode == 0, done.stderr
    for each in machines:
        assert each.running("io.hearth.workers") == []
        assert each.running(WORKER) == []
        assert each.running(EXECUTOR) == []
        held = json.loads(each.hearth("status", "--leases", "--json").stdout)["leases"]
        assert held == []


def workers_of(machine: Machine) -> dict[str, Any]:
    (workers,) = json.loads(machine.hearth("workers", "status", "--json").stdout)["workers"]
    return workers


def places(machine: Machine) -> list[dict[str, Any]]:
    return workers_of(machine)["places"]


def cores_used(master: Machine) -> int:
    alive = (each for each in master.page()["workers"] if each["state"] == "ALIVE")
    return sum(each["coresused"] for each in alive)


def answer(machine: Machine, application: "subprocess.Popen[bytes]") -> dict[str, Any]:
    assert application.wait(400) == 0, machine.said()[-3000:]
    (line,) = re.findall(r"^\{.*\}$", machine.said(), flags=re.MULTILINE)
    return json.loads(line)


def rounds(machine: Machine) -> int:
    return machine.said().count("\nround ")


def goes_on(machine: Machine) -> None:
    before = rounds(machine)
    eventually("the application goes on", lambda: rounds(machine) > before + 1)


def test_an_application_goes_on_while_its_executor_a_worker_and_the_master_are_killed(
    machines: tuple[Machine, Machine],
) -> None:
    big1, big2 = machines
    recovery = {"spark.deploy.recoveryMode": "FILESYSTEM"}
    recovery["spark.deploy.recoveryDirectory"] = str(big1.folder / "recovery")
    master = big1.master(**recovery)
    eventually("it leads", lambda: big1.leads(0))
    joined(machines)
    before = {each.name: places(each) for each in machines}
    stop = big1.folder / "stop"
    application = big2.submit(URL, *IN_PLACE, *confs(ALL_FOUR), APP, str(stop))
    eventually("tasks run", lambda: rounds(big2) > 1)

    os.killpg(master.pid, signal.SIGKILL)
    master.wait()
    big1.master(**recovery)
    eventually("it knows all", lambda: big1.leads(4) and cores_used(big1) == 4)
    goes_on(big2)
    killed = big2.running(EXECUTOR)[0]
    big2.kill(killed)
    eventually("another is there", lambda: len({*big2.running(EXECUTOR)} - {killed}) == 2)
    big1.kill(places(big1)[0]["pid"])
    eventually("another is there", lambda: [p["restarts"] for p in places(big1)] == [1, 0])
    eventually("it is known", lambda: big1.leads(4) and cores_used(big1) == 4)
    goes_on(big2)

    stop.touch()
    assert answer(big2, application)["where"].keys() == EVERYWHERE
    assert [place["pid"] for place in places(big2)] == [p["pid"] for p in before["big2"]]
    assert [place["cpus"] for place in places(big1)] == [p["cpus"] for p in before["big1"]]
    gone(machines)


def test_an_application_goes_on_elsewhere_when_a_supervisor_is_killed_and_a_machine_is_gone(
    machines: tuple[Machine, Machine],
) -> None:
    big1, big2 = machines
    limit = {"spark.worker.timeout": "12"}
    big1.master(**limit)
    eventually("it leads", lambda: big1.leads(0))
    patient = {"SPARK_WORKER_OPTS": "-Dspark.worker.timeout=12"}
    joined(machines, **patient)
    soon = {"spark.network.timeout": "15s", "spark.network.timeoutInterval": "5s"}
    soon |= {"spark.executor.heartbeatInterval": "3s"}
    soon |= {"spark.shuffle.io.maxRetries": "1", "spark.shuffle.io.retryWait": "1s"}
    stop = big1.folder / "stop"
    application = big1.submit(URL, *IN_PLACE, *confs({**ALL_FOUR, **soon}), APP, str(stop))
    eventually("tasks run", lambda: rounds(big1) > 1)

    big2.kill(workers_of(big2)["pid"])
    eventually("its workers are dropped", lambda: big1.leads(2))
    eventually("nothing is left there", lambda: not big2.running("java"))
    goes_on(big1)
    joined((big2,), **patient)
    eventually("they have executors again", lambda: cores_used(big1) == 4)
    goes_on(big1)

    big2.vanish()
    eventually("its workers are dropped", lambda: big1.leads(2))
    goes_on(big1)
    stop.touch()
    assert answer(big1, application)["where"].keys() == EVERYWHERE
    gone((big1,))


def test_a_driver_in_a_place_goes_on_when_the_standby_master_takes_over(
    machines: tuple[Machine, Machine],
) -> None:
    big1, big2 = machines
    keeper = big1.folder / "zookeeper.cfg"
    keeper.write_text(
        f"tickTime=2000\ndataDir={big1.folder}/zookeeper\nclientPort=2181\n"
        "clientPortAddress=10.9.0.1\nadmin.enableServer=false\n"
    )
    java = Path(os.environ.get("JAVA_HOME", "/usr")) / "bin" / "java"
    main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
    big1.begin("zookeeper.log", str(java), "-Xmx200m", "-cp", f"{JARS}/*", main, str(keeper))
    shared = {"spark.deploy.recoveryMode": "ZOOKEEPER"}
    shared["spark.deploy.zookeeper.url"] = "big1:2181"
    first = big1.master(**shared)
    eventually("the first leads", lambda: big1.leads(0))
    big2.master(**shared)
    eventually("the second stands by", lambda: big2.page().get("status") == "STANDBY")
    url = "spark://big1:7077,big2:7077"
    joined(machines, url)

    go_on = big1.folder / "go-on"
    # Spark refuses Python programs in cluster mode; its own class that runs one is a program too.
    driver = ["--deploy-mode", "cluster", "--class", "org.apache.spark.deploy.PythonRunner"]
    (jar,) = JARS.glob("spark-core_*.jar")
    sent = big2.submit(url, *IN_PLACE, *driver, str(jar), APP, "", AT_ONCE, str(go_on))
    assert sent.wait(200) == 0, big2.said()[-3000:]
    pattern = "big*/state/workers/*/place-*/*/driver-*/stdout"

    def output() -> str:
        return "".join(file.read_text() for file in big1.folder.parent.glob(pattern))

    eventually("tasks run", lambda: "waiting" in output())
    for each in machines:
        assert each.hearth("workers", "status").stdout.count("as planned") == 2
    os.killpg(first.pid, signal.SIGKILL)
    eventually("the second leads all workers", lambda: big2.leads(4))
    go_on.touch()  # a driver that ends while none leads is an error to the next
    eventually("the driver's work is done", lambda: '"again"' in output())
    eventually("it is finished", lambda: big2.page()["completeddrivers"])
    assert big2.page()["completeddrivers"][0]["state"] == "FINISHED"
    assert all(place["restarts"] == 0 for each in machines for place in places(each))
    gone(machines)


def test_shuffle_files_of_every_place_outlive_their_executors(
    machines: tuple[Machine, Machine],
) -> None:
    big1, _ = machines
    big1.master()
    eventually("it leads", lambda: big1.leads(0))
    joined(machines, **SERVICE)
    dynamic = {"enabled": "true", "executorIdleTimeout": "3s", "minExecutors": "0"}
    conf = {f"spark.dynamicAllocation.{key}": value for key, value in dynamic.items()}
    conf |= {"spark.shuffle.service.enabled": "true", "spark.dynamicAllocation.maxExecutors": "4"}
    stop, go_on = big1.folder / "stop", big1.folder / "go-on"
    application = big1.submit(URL, *IN_PLACE, *confs(conf), APP, str(stop), str(go_on))
    eventually("all executors are there", lambda: cores_used(big1) == 4)
    goes_on(big1)
    stop.touch()
    eventually("the first half is done", lambda: "waiting" in big1.said())
    eventually("no executor is left", lambda: cores_used(big1) == 0)
    go_on.touch()
    assert answer(big1, application)["again"] == {"counted": 8, "maps": 0}
    assert all(place["restarts"] == 0 for each in machines for place in places(each))
    gone(machines)


def test_executors_fill_a_worker_of_sparks_own_and_the_plugin_binds_each(
    machines: tuple[Machine, Machine],
) -> None:
    """Nothing else binds them; the Workers' sizes are as docs/clusters.md has them."""
    big1, _ = machines
    big1.master()
    eventually("it leads", lambda: big1.leads(0))
    for each in machines:
        offer = {"SPARK_WORKER_CORES": "2", "SPARK_WORKER_MEMORY": "1200m"}
        work = str(each.folder / "work")
        words = [each.spark("spark-class"), WORKER, URL]
        each.begin("worker.log", *words, **offer, SPARK_WORKER_DIR=work)
    eventually("it has both workers", lambda: big1.leads(2))
    plugin = {"spark.plugins": "io.hearth.plugin.BindingPlugin", "spark.jars": str(hearth_jar())}
    application = big1.submit(URL, *IN_PLACE, *confs({**ALL_FOUR, **plugin}), APP, AT_ONCE)
    eventually("all cores are used", lambda: cores_used(big1) == 4)
    offers = [(each["cores"], each["memory"]) for each in big1.page()["workers"]]
    assert offers == [(2, 1200)] * 2
    assert answer(big1, application)["where"].keys() == EVERYWHERE
    (report,) = (big1.folder / "state" / "bindings").iterdir()
    document = json.loads(report.read_text())
    validate("binding", document)
    assert [each["state"] for each in document["executors"]] == ["bound"] * 4
    for each in machines:
        eventually("no executor is left", lambda each=each: not each.running(EXECUTOR))
        assert json.loads(each.hearth("status", "--leases", "--json").stdout)["leases"] == []


def test_machines_with_different_versions_of_hearth_have_one_application(
    machines: tuple[Machine, Machine],
) -> None:
    other = os.environ.get("HEARTH_OTHER")  # the folder that holds the package of another version
    if not other:
        require("another version", "HEARTH_OTHER does not name the folder of its package 'hearth'")
    big1, big2 = machines
    big2.own["PYTHONPATH"] = str(other)
    big1.master()
    eventually("it leads", lambda: big1.leads(0))
    joined(machines)
    assert big2.running(f"{other}/hearth/jars") and not big2.running(str(hearth_jar()))
    assert big1.running(str(hearth_jar()))
    assert big2.hearth("workers", "status").stdout.count("as planned") == 2
    application = big1.submit(URL, *IN_PLACE, *confs(ALL_FOUR), APP, AT_ONCE)
    assert answer(big1, application)["where"].keys() == EVERYWHERE
    again = big2.hearth("workers", "restart", "--drain", "1s")
    assert again.returncode == 0, again.stderr
    gone(machines)
