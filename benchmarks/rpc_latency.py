"""Do Hadoop's RPC calls take less time where a policy binds its communication threads?

    .venv/bin/python benchmarks/rpc_latency.py --starts 6 --repeat 4 --beside 2
    .venv/bin/python benchmarks/rpc_latency.py --repeat 20 --arms o2acs,o2nts:4,jvm:core,jvm:socket

A NameNode for each arm; a run is a new client JVM, beside `--beside` processes that do nothing but
compute. The middle of a start of the NameNodes counts once. Server and client are under hearth's
agent alike. In the arms `jvm:threads`, `jvm:core` and `jvm:socket` whole JVMs are bound instead, by
taskset: to CPUs 0 to 3, one core, one socket. A client makes twice `--calls` calls of getFileStatus,
one after the other, and drops the first half, as Lu et al. (2017) did with theirs. Hadoop's servers
are fetched by `tools/setup.sh test`.
"""  # noqa: E501

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from harness import ROOT, Benchmark, Turn
from results import Row, arm_table, whole

from hearth import UserError
from hearth.base.ids import parse_ids
from hearth.machine.paths import affinity_jar, spark_home

SERVERS = ROOT / ".cache" / "hadoop-servers"
PLAIN = "none"
#: Arms of whole JVMs: the file of sysfs that names the CPUs of each; else the first four.
WHOLE = {"jvm:threads": "", "jvm:core": "core_cpus_list", "jvm:socket": "package_cpus_list"}
LIMIT_S = 120
LOGGING = """
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""


def main() -> None:
    arms = (PLAIN, "o2acs", "o2ntc:1")
    bench = Benchmark(__doc__, page, arms=arms, repeat=4, starts=6, any_arm=True)
    add = bench.parser.add_argument
    add("--calls", type=int, default=10_000, help="that count, of each client")
    add("--beside", type=int, default=0, help="processes that compute meanwhile")
    options = bench.parse()
    bench.arms = list(dict.fromkeys([PLAIN, *bench.arms]))
    bench.begin()
    for start in bench.starts():
        with tempfile.TemporaryDirectory(prefix="hearth-rpc-") as scratch, ExitStack() as running:
            root = Path(scratch)
            compile_program("RpcLatency", root)
            ports = {arm: running.enter_context(namenode(root, arm))[1] for arm in bench.arms}
            for _ in range(options.beside):
                words = [sys.executable, "-c", "while True: pass"]
                running.enter_context(started(words, root / "load"))

            def run(turn: Turn, root: Path = root, ports: dict[str, int] = ports) -> Row:
                p50, p99, mean = call(root, turn.arm, ports[turn.arm], options.calls)
                return {"p50_us": p50, "p99_us": p99, "mean_us": mean}

            bench.measure(run, start)
    bench.report()


def page(rows: list[Row]) -> list[str]:
    """Return the table in Markdown, of the repetitions in which every arm was measured."""
    measures = {"p50_us": "p50 us", "p99_us": "p99 us", "mean_us": "mean us"}
    return arm_table(whole(rows), PLAIN, measures, over="start", digits=0)


def compile_program(name: str, root: Path) -> None:
    """Compile a Java program of this folder into `root`."""
    source = ROOT / "benchmarks" / f"{name}.java"
    words = ["javac", "-cp", f"{spark_home()}/jars/*", "-d", str(root), str(source)]
    subprocess.run(words, check=True)


def java(root: Path, arm: str, site: Path, main_class: str, *words: str) -> list[str]:
    """Return a JVM's command under the arm's policy, or without; raise UserError without Hadoop."""
    servers = sorted(SERVERS.glob("hadoop-client-minicluster-*.jar"))
    if not servers:
        raise UserError(f"{SERVERS} holds no servers of Hadoop: run `tools/setup.sh test`")
    own = arm == PLAIN or arm in WHOLE
    agent = [] if own else [f"-javaagent:{affinity_jar()}=policy={arm}"]
    class_path = f"{site}:{root}:{servers[-1]}:{spark_home()}/jars/*"
    command = ["java", "-Xmx512m", *agent, "-cp", class_path, main_class, *words]
    return ["taskset", "-c", cpus_of(arm), *command] if arm in WHOLE else command


def cpus_of(arm: str) -> str:
    """Return the CPUs of an arm that binds whole JVMs: of those allowed, by the first of them."""
    allowed = sorted(os.sched_getaffinity(0))
    if not WHOLE[arm]:
        return ",".join(map(str, allowed[:4]))
    file = Path(f"/sys/devices/system/cpu/cpu{allowed[0]}/topology/{WHOLE[arm]}")
    return ",".join(map(str, sorted(set(allowed) & set(parse_ids(file.read_text().strip())))))


def write_site(directory: Path, settings: dict[str, str]) -> None:
    directory.mkdir(exist_ok=True)
    properties = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in settings.items()
    )
    for site in ("core-site.xml", "hdfs-site.xml"):
        (directory / site).write_text(f"<configuration>{properties}</configuration>")


@contextmanager
def started(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


@contextmanager
def namenode(root: Path, arm: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run a NameNode; yield its process and its port."""
    home = root / f"namenode-{arm.replace(':', '-')}"
    settings = {
        "fs.defaultFS": "hdfs://127.0.0.1:0",
        "dfs.namenode.name.dir": str(home / "names"),
        "dfs.namenode.http-address": "127.0.0.1:0",
    }
    write_site(home, settings)
    (home / "log4j2.properties").write_text(LOGGING)
    name = "org.apache.hadoop.hdfs.server.namenode.NameNode"
    subprocess.run(
        java(root, PLAIN, home, name, "-format", "-nonInteractive"),
        check=True, capture_output=True, timeout=LIMIT_S,
    )  # fmt: skip
    log = home / "log"
    with started(java(root, arm, home, name), log) as process:
        yield process, int(awaited(log, r"NameNode RPC up at: \S+:(\d+)"))


def awaited(log: Path, pattern: str) -> str:
    """Return what a server's log says, once it does; raise UserError after two minutes."""
    end = time.monotonic() + LIMIT_S
    while not (match := re.search(pattern, log.read_text())):
        if time.monotonic() > end:
            raise UserError(f"{log.name} does not say {pattern}; it ends {log.read_text()[-500:]}")
        time.sleep(0.1)
    return match[1]


def site_of(root: Path, arm: str, port: int) -> Path:
    """Write and return the configuration directory of the clients of the NameNode at this port."""
    site = root / f"client-{arm.replace(':', '-')}"
    write_site(site, {"fs.defaultFS": f"hdfs://127.0.0.1:{port}"})
    return site


def call(root: Path, arm: str, port: int, calls: int) -> tuple[float, float, float]:
    """p50, p99 and mean of a client's calls, in microseconds."""
    done = subprocess.run(
        java(root, arm, site_of(root, arm, port), "RpcLatency", str(calls)),
        env={**os.environ, "LC_ALL": "C"},
        capture_output=True, text=True, check=True, timeout=LIMIT_S,
    )  # fmt: skip
    p50, p99, mean = map(float, done.stdout.split())
    return p50, p99, mean


if __name__ == "__main__":
    main()
