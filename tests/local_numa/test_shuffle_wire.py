"""Shuffle blocks between executors over hearth's wire, in a real Spark."""

import ctypes.util
import json
import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from application import Outcome, Site

from hadoop_servers import yarn_on
from hearth.machine.paths import hearth_jar, spark_home, wire_jar
from support import JUCX, eventually, require

pytestmark = pytest.mark.spark


def need_ucx() -> None:
    if not JUCX.is_file() or ctypes.util.find_library("ucp") is None:
        require("ucx", "jucx or libucx is missing: mvn -f jvm test, apt-get install libucx0")


#: As users have it: races of the wire show with both of the JVM's compilers in executors.
BOTH_COMPILERS = {"spark__executor__extraJavaOptions": "-XX:TieredStopAtLevel=4"}


def counted(site: Site) -> dict[str, Any]:
    """Settings of an application that shuffles over the wire, which counts what it carries."""
    folder = site.root / "metrics"
    folder.mkdir()
    sink = "spark__metrics__conf__executor__sink__csv__"
    return {
        "spark__shuffle__manager": "org.apache.spark.shuffle.wire.WireShuffleManager",
        f"{sink}class": "org.apache.spark.metrics.sink.CsvSink",
        f"{sink}directory": str(folder),
        f"{sink}period": "1",
    }


def run(site: Site, *words: str, **settings: Any) -> Outcome:
    """An application whose executors do not read each other's files."""
    everywhere = {**counted(site), "spark__shuffle__readHostLocalDisk": "false"}
    if "spark__executor__extraClassPath" in settings:  # an archive would be made first
        everywhere["spark__hearth__classDataArchive"] = "false"
    return site.run("wire.py", *words, **{**everywhere, **settings})


def executors_said(site: Site, text: str) -> list[str]:
    logs = (site.only_run() / "executors").glob("*/stderr")
    return [line for log in logs for line in log.read_text().splitlines() if text in line]


def assert_right(outcome: Outcome) -> dict[str, Any]:
    assert outcome.code == 0, outcome.log[-4000:]
    report = outcome.report
    assert report["executors"] == 2
    assert report.get("grouped", True) and report.get("sorted", True) and report["lengths"]
    assert report["remote"] > 10**5
    return report


def test_blocks_come_by_shared_memory_and_a_killed_executor_is_recovered(site: Site) -> None:
    need_ucx()
    outcome = run(
        site,
        "kill",
        **BOTH_COMPILERS,
        spark__executor__extraClassPath=str(JUCX),
        spark__executorEnv__UCX_LOG_LEVEL="error",
        spark__hearth__shuffle__transports="ucx",
        spark__authenticate="true",
        spark__authenticate__secret="a secret of tests",
        spark__io__encryption__enabled="true",
    )
    report = assert_right(outcome)
    assert (report["ucx"], report["tcp"], report["handed_over"]) == (report["remote"], 0, 0)
    assert report["blocks"] > 10
    assert report["right_after_kill"] and report["lost"]
    assert executors_said(site, "come over hearth's wire, by ucx")
    assert site.leftovers() == []


def test_map_outputs_of_a_decommissioned_executor_come_over_the_wire_from_where_they_have_gone(
    site: Site,
) -> None:
    outcome = run(
        site,
        "leave",
        **BOTH_COMPILERS,
        spark__hearth__shuffle__transports="tcp",
        spark__decommission__enabled="true",
        spark__storage__decommission__enabled="true",
        spark__storage__decommission__shuffleBlocks__enabled="true",
        spark__storage__decommission__replicationReattemptInterval="1s",
        spark__dynamicAllocation__enabled="true",
        spark__dynamicAllocation__initialExecutors="2",
        spark__dynamicAllocation__minExecutors="2",
        # Else all reducers may run where all map outputs have gone.
        spark__shuffle__reduceLocality__enabled="false",
    )
    report = assert_right(outcome)
    assert report["right_after_leave"]
    assert report["moved"] > 0, "the successor reads over the wire what has been moved"
    assert report["tasks_after_leave"] == 4, "no map output is made again"
    assert "FetchFailed" not in outcome.log and "Resubmitting" not in outcome.log
    assert site.leftovers() == []


def test_an_executor_without_a_wire_is_read_over_sparks_own_transfer(site: Site) -> None:
    """Two executors of one host cannot have one port: the second has no wire."""
    with socket.create_server(("", 0)) as free:
        port = free.getsockname()[1]
    outcome = run(
        site,
        "brief",
        spark__hearth__hosts="machine",
        spark__hearth__shuffle__transports="tcp",
        spark__hearth__shuffle__port=str(port),
    )
    report = assert_right(outcome)
    # Who has a wire asks one who has none; that one counts nothing.
    assert (report["ucx"], report["tcp"]) == (0, 0) and report["handed_over"] > 0
    (why,) = executors_said(site, "all shuffle blocks come over Spark's own transfer")
    assert "Address already in use" in why and f":{port}" in why
    (peer,) = executors_said(site, "come over Spark's own transfer: ")
    assert "Address already in use" in peer


@pytest.fixture
def hosts() -> Iterator[list[list[str]]]:
    """How a command runs on each of two hosts: network namespaces with a cable between them."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        require("netns", "network namespaces need root and ip (apt-get install iproute2)")
    tag = secrets.token_hex(3)  # other checkouts may run this too
    names = [f"hearth-{tag}-{side}" for side in "ab"]
    cable = [f"h{tag}{side}" for side in "ab"]

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, timeout=20)

    try:
        for name in names:
            ip("netns", "add", name)
        between = ["type", "veth", "peer", "name", cable[1], "netns", names[1]]
        ip("link", "add", cable[0], "netns", names[0], *between)
        for number, (name, end) in enumerate(zip(names, cable, strict=True), 1):
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "addr", "add", f"10.77.0.{number}/24", "dev", end)
            ip("-n", name, "link", "set", end, "up")
        yield [
            ["ip", "netns", "exec", name, "env", f"SPARK_LOCAL_IP=10.77.0.{number}"]
            for number, name in enumerate(names, 1)
        ]
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, timeout=20)


def test_a_standalone_cluster_on_two_hosts_shuffles_over_tcp(
    site: Site, hosts: list[list[str]]
) -> None:
    """They share memory and no network: UCX would reach the peer and not wake it."""
    need_ucx()
    master = "spark://10.77.0.1:7077"
    daemon = ["SPARK_DAEMON_MEMORY=256m", str(spark_home() / "bin" / "spark-class")]
    deploy = "org.apache.spark.deploy"
    place = ["--host", "10.77.0.1", "--port", "7077", "--webui-port", "0"]
    site.launch([*hosts[0], *daemon, f"{deploy}.master.Master", *place])
    eventually("the master starts", lambda: "Starting Spark master at" in site.log)
    for number, host in enumerate(hosts, 1):
        place = ["--host", f"10.77.0.{number}", "-c", "1", "-m", "1g", "--webui-port", "0"]
        place += ["-d", str(site.root / f"work-{number}"), master]
        site.launch([*host, *daemon, f"{deploy}.worker.Worker", *place])
    outcome = run(
        site,
        "brief",
        master=master,
        within=tuple(hosts[0]),
        spark__executor__extraClassPath=f"{hearth_jar()}:{wire_jar()}:{JUCX}",
        spark__executorEnv__UCX_LOG_LEVEL="error",
        spark__executor__memory="512m",
        spark__cores__max="2",  # without it a standalone cluster is waited for by nobody
        spark__scheduler__minRegisteredResourcesRatio="1",
        spark__scheduler__maxRegisteredResourcesWaitingTime="120s",
    )
    report = assert_right(outcome)
    assert (report["tcp"], report["ucx"], report["handed_over"]) == (report["remote"], 0, 0)
    logs = [log.read_text() for log in site.root.glob("work-*/*/*/stderr")]
    assert len(logs) == 2
    why = "by tcp as UCX cannot reach the peer: it is in another network namespace"
    assert all(f"come over hearth's wire, {why}" in log for log in logs)


def test_executors_on_yarn_shuffle_over_the_wire_and_a_killed_one_is_recovered(
    site: Site, hosts: list[list[str]]
) -> None:
    jars = spark_home() / "jars"
    leases = site.root / "leases"
    leases.mkdir()
    with yarn_on(site.root, hosts, ["10.77.0.1", "10.77.0.2"]) as configuration:
        outcome = run(
            site,
            "kill",
            master="yarn",
            within=(*hosts[0], f"HADOOP_CONF_DIR={configuration}"),
            spark__executor__memory="512m",
            spark__executor__instances="2",
            spark__yarn__jars=f"local:{jars}/*",
            spark__yarn__stagingDir=f"file:{site.root}/staging",
            spark__yarn__am__memory="256m",
            spark__hearth__shuffle__transports="tcp",
            spark__plugins="io.hearth.plugin.BindingPlugin",
            spark__executorEnv__HEARTH_LEASES=str(leases),
            spark__scheduler__minRegisteredResourcesRatio="1",
            spark__scheduler__maxRegisteredResourcesWaitingTime="120s",
        )
        report = assert_right(outcome)
        (bindings,) = (site.root / "state" / "bindings").iterdir()
        bound = json.loads(bindings.read_text())["executors"]
        assert {each["state"] for each in bound} == {"bound"}
        assert len({each["cpus"] for each in bound[:2]}) == 2
        assert (report["tcp"], report["ucx"], report["handed_over"]) == (report["remote"], 0, 0)
        assert report["right_after_kill"] and report["lost"]
        logs = [log.read_text() for log in site.root.glob("nodemanager-*/logs/*/*/stderr")]
        assert sum("come over hearth's wire, by tcp" in log for log in logs) >= 2
        eventually("the NodeManagers end the executors", lambda: not site.executors())
    assert site.leftovers() == []
