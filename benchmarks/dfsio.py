"""TestDFSIO on one machine, with hearth's RPC engine, a policy for communication threads, both, or
neither.

    .venv/bin/python benchmarks/dfsio.py --starts 6 --repeat 3

A NameNode and a DataNode for each arm. A repetition is a write and a read of `--files` files of
`--megabytes` each by every arm, in random (seeded) order, each in a new JVM (MapReduce's local
runner); the first of a start is dropped. All is done with `--starts` starts of the servers: the
middle of a start counts once, and there is an interval from three starts on. Reported are
TestDFSIO's throughput (MB/s: bytes over the time of all maps together) and its average IO rate (the
mean of each file's own rate), their medians and ranges, and the paired ratios to neither. Calls
are a small part of it: data goes over HDFS's own TCP. Raw values go to benchmarks/results/ as each
arm ends. Hadoop's servers and tests are fetched by `tools/setup.sh test`, TestDFSIO's jar here.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

from hadoop_rpc import JUCX
from results import over_starts, shown, spread, table
from rpc_latency import LIMIT_S, LOGGING, PLAIN, ROOT, SERVERS, awaited, started, write_site

from hearth import Ratio
from hearth.machine.paths import affinity_jar, hadoop_jar, spark_home

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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--starts", type=int, default=6, help="of the servers")
    parser.add_argument("--repeat", type=int, default=3, help="of each start")
    parser.add_argument("--files", type=int, default=2)
    parser.add_argument("--megabytes", type=int, default=64, help="of each file")
    parser.add_argument("--seed", type=int, default=1, help="of the order")
    options = parser.parse_args()
    output = ROOT / "benchmarks" / "results" / f"dfsio-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
    rows: list[dict[str, Any]] = []
    os.environ["UCX_LOG_FILE"] = "stderr"
    for start in range(options.starts):
        for row in one_start(options, random.Random(options.seed + start)):
            rows.append({"start": start, **row})
            with output.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
            print(rows[-1], file=sys.stderr, flush=True)
    print("\n".join(page(rows)))
    print(f"raw results: {output}")


def one_start(options: argparse.Namespace, dice: random.Random) -> Iterator[dict[str, Any]]:
    """Yield the repetitions of one start of the servers, the warm-up among them (-1)."""
    with tempfile.TemporaryDirectory(prefix="hearth-dfsio-") as scratch, ExitStack() as running:
        root = Path(scratch)
        urls = {arm: running.enter_context(hdfs(root / arm, arm)) for arm in ARMS}
        for repetition in range(-1, options.repeat):
            for arm in dice.sample(sorted(ARMS), len(ARMS)):
                row: dict[str, Any] = {"repetition": repetition, "arm": arm}
                for what in WAYS:
                    rates = dfsio(root / arm, arm, urls[arm], what, options)
                    row[f"{what}_mb_s"], row[f"{what}_io_rate_mb_s"] = rates
                yield row


def page(rows: list[dict[str, Any]]) -> list[str]:
    """Return the table in Markdown; above 1 is faster."""
    lines = []
    for way, arm in product(WAYS, ARMS):
        cells = [way, f"`{arm}`"]
        for kind in _kinds(rows):
            cells.append(spread(list(rates(rows, arm, way + kind).values()), 0))
            cells.append("1" if arm == PLAIN else shown(ratio(rows, arm, way + kind)))
        lines.append(cells)
    heads = ["", "Arm"]
    for kind in _kinds(rows):
        heads += [f"{'average IO rate, ' * bool(kind)}MB/s, median (range)", f"to `{PLAIN}`"]
    return table(heads, lines)


def _kinds(rows: list[dict[str, Any]]) -> list[str]:
    """Throughput, and the average IO rate where the results have it."""
    has_rate = all(f"{way}_io_rate_mb_s" in row for way in WAYS for row in rows)
    return ["", "_io_rate"] if has_rate else [""]


def rates(rows: list[dict[str, Any]], arm: str, what: str) -> dict[tuple[int, int], float]:
    """By start and repetition, without warm-ups."""
    return {
        (row.get("start", 0), row["repetition"]): row[f"{what}_mb_s"]
        for row in rows
        if row["arm"] == arm and row["repetition"] >= 0
    }


def ratio(rows: list[dict[str, Any]], arm: str, what: str) -> Ratio:
    """Over starts; results before there were several are of one."""
    base = rates(rows, PLAIN, what)
    return over_starts((at[0], mine, base[at]) for at, mine in rates(rows, arm, what).items())


def java(site: Path, arm: str, settings: dict[str, str], main_class: str, *words: str) -> list[str]:
    """Write an arm's settings to the directory `site`; return the command of its JVM."""
    engine, policy = ARMS[arm]
    write_site(site, {**LOOPBACK, **settings, **(ENGINE if engine else {})})
    (site / "log4j2.properties").write_text(LOGGING)
    (servers,) = SERVERS.glob("hadoop-client-minicluster-*.jar")
    jars = [servers, f"{spark_home()}/jars/*"]
    jars = [hadoop_jar(), JUCX, *jars] if engine else jars
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
