"""Does HDFS write and read faster with hearth's RPC engine, or a policy for communication threads?

    .venv/bin/python benchmarks/dfsio.py --starts 6 --repeat 3

A NameNode and a DataNode for each arm: `none`, `engine`, `policy` (o2acs), `both`. A run is
TestDFSIO's write and read of `--files` files of `--megabytes` each, in new JVMs (MapReduce's local
runner). The middle of a start of the servers counts once. Told are its throughput (bytes over the
time of all maps together) and its average IO rate (the mean of each file's own rate). Calls are a
small part of it: data goes over HDFS's own TCP. Hadoop's servers and tests are fetched by
`tools/setup.sh test`, TestDFSIO's jar here.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from hadoop_rpc import JUCX
from harness import Benchmark, Turn
from results import Row, arm_table, runs
from rpc_latency import LIMIT_S, LOGGING, PLAIN, SERVERS, awaited, started, write_site

from hearth.machine.paths import affinity_jar, spark_home, wire_jar

PROTOCOLS = ("ClientNamenodeProtocolPB", "DatanodeProtocolPB", "NamenodeProtocolPB")
ENGINE = {
    f"rpc.engine.org.apache.hadoop.hdfs.protocolPB.{name}": "io.hearth.hadoop.WireRpcEngine"
    for name in PROTOCOLS
}
#: Engine or not, policy.
ARMS = {
    PLAIN: (False, ""),
    "engine": (True, ""),
    "policy": (False, "o2acs"),
    "both": (True, "o2acs"),
}
LOOPBACK = {
    "dfs.replication": "1",
    "dfs.namenode.http-address": "127.0.0.1:0",
    "dfs.datanode.address": "127.0.0.1:0",
    "dfs.datanode.ipc.address": "127.0.0.1:0",
    "dfs.datanode.http.address": "127.0.0.1:0",
}
WAYS = ("write", "read")
JOBCLIENT = "org.apache.hadoop:hadoop-mapreduce-client-jobclient"


def main() -> None:
    bench = Benchmark(__doc__, page, arms=list(ARMS), repeat=3, warm_ups=1, starts=6)
    bench.parser.add_argument("--files", type=int, default=2)
    bench.parser.add_argument("--megabytes", type=int, default=64, help="of each file")
    options = bench.parse()
    bench.begin()
    os.environ["UCX_LOG_FILE"] = "stderr"
    for start in bench.starts():
        with tempfile.TemporaryDirectory(prefix="hearth-dfsio-") as scratch, ExitStack() as running:
            root = Path(scratch)
            urls = {arm: running.enter_context(hdfs(root / arm, arm)) for arm in bench.arms}

            def run(turn: Turn, root: Path = root, urls: dict[str, str] = urls) -> Row:
                row = {}
                for way in WAYS:
                    rates = dfsio(root / turn.arm, turn.arm, urls[turn.arm], way, options)
                    row[f"{way}_mb_s"], row[f"{way}_io_rate_mb_s"] = rates
                return row

            bench.measure(run, start)
    bench.report()


def page(rows: list[Row]) -> list[str]:
    """Return the table in Markdown; above 1 is faster."""
    apart = [
        {**row, "case": way, "rate": row[f"{way}_mb_s"], "io_rate": row[f"{way}_io_rate_mb_s"]}
        for way in WAYS
        for row in runs(rows)
    ]
    measures = {"rate": "MB/s", "io_rate": "average IO rate, MB/s"}
    return arm_table(apart, PLAIN, measures, over="start", digits=0)


def java(site: Path, arm: str, settings: dict[str, str], main_class: str, *words: str) -> list[str]:
    """Write an arm's settings to the directory `site`; return the command of its JVM."""
    engine, policy = ARMS[arm]
    write_site(site, {**LOOPBACK, **settings, **(ENGINE if engine else {})})
    (site / "log4j2.properties").write_text(LOGGING)
    (servers,) = SERVERS.glob("hadoop-client-minicluster-*.jar")
    jars = [servers, f"{spark_home()}/jars/*"]
    jars = [wire_jar(), JUCX, *jars] if engine else jars
    agent = [f"-javaagent:{affinity_jar()}=policy={policy}"] if policy else []
    path = ":".join(map(str, [site, test_jar(), *jars]))
    return ["java", "-Xmx512m", *agent, "-cp", path, main_class, *words]


def test_jar() -> Path:
    """TestDFSIO, of the servers' version; fetched once."""
    (servers,) = SERVERS.glob("hadoop-client-minicluster-*.jar")
    version = servers.stem.removeprefix("hadoop-client-minicluster-")
    jar = SERVERS / f"hadoop-mapreduce-client-jobclient-{version}-tests.jar"
    if not jar.is_file():
        wanted = f"{JOBCLIENT}:{version}:test-jar"
        fetch = ["mvn", "-B", "-q", "dependency:copy", f"-Dartifact={wanted}"]
        subprocess.run([*fetch, f"-DoutputDirectory={SERVERS}"], check=True)
    return jar


@contextmanager
def hdfs(home: Path, arm: str) -> Iterator[str]:
    """Run a file system of one NameNode and one DataNode, and yield its address."""
    home.mkdir()
    own = "org.apache.hadoop.hdfs.server"
    names = {"fs.defaultFS": "hdfs://127.0.0.1:0", "dfs.namenode.name.dir": str(home / "names")}
    subprocess.run(
        java(home / "nn", arm, names, f"{own}.namenode.NameNode", "-format", "-nonInteractive"),
        check=True, capture_output=True, timeout=LIMIT_S,
    )  # fmt: skip
    log = home / "nn.log"
    with ExitStack() as running:
        namenode = java(home / "nn", arm, names, f"{own}.namenode.NameNode")
        running.enter_context(started(namenode, log))
        port = awaited(log, r"NameNode RPC up at: \S+:(\d+)")
        url = f"hdfs://127.0.0.1:{port}"
        data = {"fs.defaultFS": url, "dfs.datanode.data.dir": str(home / "data")}
        datanode = java(home / "dn", arm, data, f"{own}.datanode.DataNode")
        running.enter_context(started(datanode, home / "dn.log"))
        awaited(log, r"(registerDatanode)")
        yield url


def dfsio(
    home: Path, arm: str, url: str, what: str, options: argparse.Namespace
) -> tuple[float, float]:
    """TestDFSIO's throughput and average IO rate in MB/s."""
    settings = {
        "fs.defaultFS": url,
        "mapreduce.framework.name": "local",
        "hadoop.tmp.dir": str(home / "tmp"),
        "dfs.client.use.datanode.hostname": "false",
    }
    result = home / f"{what}.txt"
    result.unlink(missing_ok=True)
    words = [f"-{what}", "-nrFiles", str(options.files), "-size", f"{options.megabytes}MB"]
    done = subprocess.run(
        java(home / "client", arm, settings, "org.apache.hadoop.fs.TestDFSIO", *words,
             "-resFile", str(result)),
        capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    said = result.read_text() if result.is_file() else ""
    throughput = re.search(r"Throughput mb/sec:\s+([\d.]+)", said)
    io_rate = re.search(r"Average IO rate mb/sec:\s+([\d.]+)", said)
    if done.returncode or throughput is None or io_rate is None:
        sys.exit(f"dfsio: TestDFSIO of '{arm}' failed; its output ends {done.stderr[-1500:]}")
    return float(throughput[1]), float(io_rate[1])


if __name__ == "__main__":
    main()
