"""Real servers and clients of HDFS, and YARN's servers, each a JVM of its own."""

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from hearth.machine.paths import spark_home
from support import ROOT, eventually, require

FIRST_COMPILER = "-XX:TieredStopAtLevel=1"
SERVERS = "org.apache.hadoop.hdfs.server"
SETTINGS = {
    "dfs.replication": "1",
    "dfs.namenode.http-address": "127.0.0.1:0",
    "dfs.datanode.address": "127.0.0.1:0",
    "dfs.datanode.ipc.address": "127.0.0.1:0",
    "dfs.datanode.http.address": "127.0.0.1:0",
}
YARN = "org.apache.hadoop.yarn.server"
YARN_SETTINGS = {
    "yarn.resourcemanager.scheduler.class": f"{YARN}.resourcemanager.scheduler.fifo.FifoScheduler",
    "yarn.scheduler.minimum-allocation-mb": "256",
    "yarn.nodemanager.resource.memory-mb": "2048",
    "yarn.nodemanager.resource.cpu-vcores": "2",
    "yarn.nodemanager.vmem-check-enabled": "false",
    "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
    "yarn.nodemanager.env-whitelist": "JAVA_HOME,PATH",
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


@dataclass(frozen=True)
class Extra:
    """What is not Hadoop's own: options of the JVM, jars before Hadoop's, settings."""

    options: Sequence[str] = ()
    jars: Sequence[Path] = ()
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Hdfs:
    """A file system of a NameNode and a DataNode (process ids); `url` is its address.

    datanode: 0 where there is none, and no place for a block.
    """

    namenode: int
    datanode: int
    url: str
    directory: Path
    namenode_log: Path

    def client(self, *words: str, extra: Extra = Extra()) -> list[str]:
        """Hadoop's shell; the second compiler would cost it more than it earns."""
        settings = {"fs.defaultFS": self.url, "dfs.replication": "1"}
        brief = replace(extra, options=[*extra.options, FIRST_COMPILER])
        return java(self.directory, "org.apache.hadoop.fs.FsShell", settings, brief, words)


def jars() -> str:
    """Hadoop's servers, of the version of the client that Spark ships, and that client."""
    shipped = spark_home() / "jars"
    (client,) = shipped.glob("hadoop-client-api-*.jar")
    version = client.stem.removeprefix("hadoop-client-api-")
    servers = ROOT / ".cache" / "hadoop-servers" / f"hadoop-client-minicluster-{version}.jar"
    if not servers.is_file():
        require("hadoop", f"{servers} is missing: run `tools/setup.sh test`")
    return f"{servers}:{shipped}/*"


def java(
    directory: Path, main: str, settings: Mapping[str, str], extra: Extra, words: Sequence[str]
) -> list[str]:
    """A JVM with these settings of Hadoop, in `directory`."""
    properties = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in {**settings, **extra.settings}.items()
    )
    for site in ("core-site.xml", "hdfs-site.xml", "yarn-site.xml"):
        (directory / site).write_text(f"<configuration>{properties}</configuration>")
    (directory / "log4j2.properties").write_text(LOGGING)
    home = os.environ.get("JAVA_HOME")
    class_path = ":".join([str(directory), *map(str, extra.jars), jars()])
    command = f"{home}/bin/java" if home else "java"
    return [command, *extra.options, "-cp", class_path, main, *words]


@contextmanager
def hdfs_in(root: Path, extra: Extra, *, stores: bool = True) -> Iterator[Hdfs]:
    """A file system below `root`, whose servers are run with `extra`.

    stores: whether there is a DataNode.
    """
    own = {name: root / name for name in ("namenode", "datanode", "client")}
    for directory in own.values():
        directory.mkdir()
    names = {**SETTINGS, "dfs.namenode.name.dir": str(root / "names")}
    names["fs.defaultFS"] = "hdfs://127.0.0.1:0"
    main = f"{SERVERS}.namenode.NameNode"
    quick = Extra([FIRST_COMPILER])
    formatting = java(own["namenode"], main, names, quick, ("-format", "-nonInteractive"))
    format_names(root / "names", formatting)
    said = root / "nn.log"
    with ExitStack() as running:
        namenode = start(running, java(own["namenode"], main, names, extra, ()), said)
        port = await_port(namenode, said)
        data = {**SETTINGS, "dfs.datanode.data.dir": str(root / "data")}
        data["fs.defaultFS"] = f"hdfs://127.0.0.1:{port}"
        main, datanode = f"{SERVERS}.datanode.DataNode", 0
        if stores:
            command = java(own["datanode"], main, data, extra, ())
            datanode = start(running, command, root / "dn.log")
            registered = "registerDatanode"
            eventually("the DataNode registers", lambda: registered in said.read_text(), 120)
        yield Hdfs(namenode, datanode, data["fs.defaultFS"], own["client"], said)


def format_names(names: Path, formatting: list[str]) -> None:
    """An empty file system for a NameNode: made by a JVM of Hadoop's once, then copied."""
    formatted = ROOT / ".cache" / "hadoop-servers" / "names"
    if formatted.is_dir():
        shutil.copytree(formatted, names)
        return
    subprocess.run(formatting, check=True, capture_output=True, timeout=120)
    draft = formatted.with_name(f"names.{os.getpid()}")
    shutil.copytree(names, draft)
    with contextlib.suppress(OSError):  # another worker has been quicker
        draft.rename(formatted)
    shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def yarn_on(root: Path, hosts: Sequence[Sequence[str]], addresses: Sequence[str]) -> Iterator[Path]:
    """A ResourceManager on the first host, a NodeManager on each; yields their settings' folder.

    hosts: how a command runs on each; addresses: theirs.
    """
    shared = {**YARN_SETTINGS, "yarn.resourcemanager.hostname": addresses[0]}
    certificates = sorted((ROOT / ".cache" / "hadoop-servers").glob("bc*.jar"))
    if len(certificates) < 3:  # bcprov, bcutil, bcpkix
        require("hadoop", "Bouncy Castle is missing: run `tools/setup.sh test`")
    light = Extra(["-Xmx256m", FIRST_COMPILER], certificates)
    with ExitStack() as running:
        own = root / "resourcemanager"
        own.mkdir()
        said = root / "resourcemanager.log"
        main = f"{YARN}.resourcemanager.ResourceManager"
        start(running, [*hosts[0], *java(own, main, shared, light, ())], said)
        main = f"{YARN}.nodemanager.NodeManager"
        for number, (host, address) in enumerate(zip(hosts, addresses, strict=True)):
            place = root / f"nodemanager-{number}"
            place.mkdir()
            settings = {
                **shared,
                "yarn.nodemanager.hostname": address,
                "yarn.nodemanager.local-dirs": str(place / "local"),
                "yarn.nodemanager.log-dirs": str(place / "logs"),
            }
            command = [*host, *java(place, main, settings, light, ())]
            start(running, command, place.with_suffix(".log"))
        registered = "NodeManager from node"
        eventually(
            f"{len(hosts)} NodeManagers register; see {said}",
            lambda: said.read_text(errors="replace").count(registered) == len(hosts),
            seconds=120,
        )
        yield own


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

    eventually(f"process {pid} listens; see {log}", found)
    match = found()
    assert match is not None
    return int(match[1])
