"""Communication threads of a real NameNode, DataNode and client of HDFS under hearth's agent."""

import hashlib
import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from hearth.planner.places import affinity_jar, spark_home
from support import ROOT, eventually, require

pytestmark = pytest.mark.spark

SERVERS = "org.apache.hadoop.hdfs.server"
SETTINGS = {
    "dfs.replication": "1",
    "dfs.namenode.http-address": "127.0.0.1:0",
    "dfs.datanode.address": "127.0.0.1:0",
    "dfs.datanode.ipc.address": "127.0.0.1:0",
    "dfs.datanode.http.address": "127.0.0.1:0",
}
LOGGING = """
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %m%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""
#: Beginnings of the names of communication threads, as docs/affinity.md lists them.
TALKING = (
    *("Socket Reader #", "IPC Server hand", "IPC Server Resp", "IPC Server list", "IPC Client ("),
    *(
        "IPC Parameter S",
        "DataXceiver for",
        "PacketResponder",
        "DataStreamer fo",
        "ResponseProcess",
    ),
)


@dataclass(frozen=True)
class Hdfs:
    """A file system of one NameNode and one DataNode; `url` is its address."""

    namenode: int
    datanode: int
    url: str
    directory: Path

    def client(self, *words: str, agent: bool = False) -> list[str]:
        settings = {"fs.defaultFS": self.url, "dfs.replication": "1"}
        return java(self.directory, "org.apache.hadoop.fs.FsShell", settings, agent, words)


def jars() -> str:
    """Hadoop's servers, of the version of the client that Spark ships, and that client."""
    shipped = spark_home() / "jars"
    (client,) = shipped.glob("hadoop-client-api-*.jar")
    version = client.stem.removeprefix("hadoop-client-api-")
    servers = ROOT / ".cache" / "hadoop" / f"hadoop-client-minicluster-{version}.jar"
    if not servers.is_file():
        require("hadoop", f"{servers} is missing: run `tools/setup.sh test`")
    return f"{servers}:{shipped}/*"


def java(
    directory: Path, main: str, settings: Mapping[str, str], agent: bool, words: tuple[str, ...]
) -> list[str]:
    """A JVM with these settings of Hadoop, in `directory`, under the agent or without it."""
    properties = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in settings.items()
    )
    for site in ("core-site.xml", "hdfs-site.xml"):
        (directory / site).write_text(f"<configuration>{properties}</configuration>")
    (directory / "log4j2.properties").write_text(LOGGING)
    home = os.environ.get("JAVA_HOME")
    options = [f"-javaagent:{affinity_jar()}=policy=o2ntc:1,first=0"] if agent else []
    class_path = ["-cp", f"{directory}:{jars()}"]
    return [f"{home}/bin/java" if home else "java", *options, *class_path, main, *words]


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    if len(os.sched_getaffinity(0)) == 1:
        require("cpus", "one CPU only: nothing to bind to")
    root = tmp_path_factory.mktemp("hdfs")
    own = {name: root / name for name in ("namenode", "datanode", "client")}
    for directory in own.values():
        directory.mkdir()
    names = {**SETTINGS, "dfs.namenode.name.dir": str(root / "names")}
    names["fs.defaultFS"] = "hdfs://127.0.0.1:0"
    main = f"{SERVERS}.namenode.NameNode"
    formatting = java(own["namenode"], main, names, False, ("-format", "-nonInteractive"))
    subprocess.run(formatting, check=True, capture_output=True, timeout=120)
    with ExitStack() as running:
        namenode = start(running, java(own["namenode"], main, names, True, ()), root / "nn.log")
        port = await_port(namenode, root / "nn.log")
        data = {**SETTINGS, "dfs.datanode.data.dir": str(root / "data")}
        data["fs.defaultFS"] = f"hdfs://127.0.0.1:{port}"
        main = f"{SERVERS}.datanode.DataNode"
        datanode = start(running, java(own["datanode"], main, data, True, ()), root / "dn.log")
        said = root / "nn.log"
        eventually(
            "the DataNode registers", lambda: "registerDatanode" in said.read_text(), seconds=120
        )
        yield Hdfs(namenode, datanode, data["fs.defaultFS"], own["client"])


def start(running: ExitStack, command: list[str], log: Path) -> int:
    output = running.enter_context(log.open("wb"))
    process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    running.callback(process.wait)
    running.callback(process.kill)
    return process.pid


def await_port(pid: int, log: Path) -> int:
    """The port on which a NameNode answers, from its own log."""

    def found() -> re.Match[str] | None:
        return re.search(r"NameNode RPC up at: \S+:(\d+)", log.read_text(errors="replace"))

    eventually(f"process {pid} listens; see {log}", found, seconds=120)
    match = found()
    assert match is not None
    return int(match[1])


def cpus_by_thread(pid: int) -> dict[str, set[str]]:
    """CPUs allowed of each thread of a process, by the thread's name, from the kernel."""
    found = defaultdict(set)
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            status = (task / "status").read_text(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        name = re.search(r"^Name:\t(.*)$", status, re.MULTILINE)
        cpus = re.search(r"^Cpus_allowed_list:\t(.*)$", status, re.MULTILINE)
        assert name and cpus
        found[name[1]].add(cpus[1])
    return found


def strays(pid: int) -> dict[str, set[str]]:
    """Communication threads that have more than one CPU, and others that have not all."""
    everything = Path("/proc/self/status").read_text()
    all_cpus = re.search(r"^Cpus_allowed_list:\t(.*)$", everything, re.MULTILINE)
    assert all_cpus
    return {
        name: cpus
        for name, cpus in cpus_by_thread(pid).items()
        if any(listed.isdigit() != name.startswith(TALKING) for listed in cpus)
        or (not name.startswith(TALKING) and cpus != {all_cpus[1]})
    }


def has(pid: int, *names: str) -> bool:
    seen = cpus_by_thread(pid)
    return all(any(thread.startswith(name) for thread in seen) for name in names)


def test_the_rpc_threads_of_namenode_and_datanode_have_their_cpu_and_no_other_thread_has(
    hdfs: Hdfs,
) -> None:
    for pid in (hdfs.namenode, hdfs.datanode):
        assert has(pid, "Socket Reader #", "IPC Server list", "IPC Server hand", "IPC Server Resp")
        eventually(f"strays of {pid}: {strays(pid)}", lambda pid=pid: not strays(pid), seconds=5)
    assert has(hdfs.datanode, "IPC Client (", "IPC Parameter S")


def test_the_threads_of_a_transfer_have_theirs_while_it_runs_and_the_file_is_right(
    hdfs: Hdfs,
) -> None:
    content = os.urandom(4 << 20)
    process = subprocess.Popen(
        hdfs.client("-put", "-", "/file", agent=True),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdin is not None
        process.stdin.write(content)
        process.stdin.flush()
        threads = ("DataStreamer fo", "ResponseProcess")
        eventually("the client sends", lambda: has(process.pid, *threads), seconds=60)
        assert has(hdfs.datanode, "DataXceiver for", "PacketResponder")
        for pid in (process.pid, hdfs.datanode):
            eventually(f"strays: {strays(pid)}", lambda pid=pid: not strays(pid), seconds=5)
        process.stdin.close()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
    read = subprocess.run(hdfs.client("-cat", "/file"), capture_output=True, check=True, timeout=60)
    assert hashlib.sha256(read.stdout).digest() == hashlib.sha256(content).digest()
