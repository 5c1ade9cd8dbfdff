"""Do Hadoop's RPC calls take less time and CPU over hearth's wire than over its own TCP?

    .venv/bin/python benchmarks/hadoop_rpc.py --repeat 5
    .venv/bin/python benchmarks/hadoop_rpc.py --calls 20000 --policies o2acs,o2nts:4 --repeat 20

Arms: `hadoop`, its own engine on loopback TCP; `busy`, `back-off`, `event`, hearth's engine with
that idle strategy over UCX's shared memory; `tcp`, hearth's over TCP, `event`. After the protocol
of Lu et al. (2017): calls one after the other, first half dropped, 1 B to 2 MB each way, and 64
threads that call with 1 KB. A run starts a new server and new clients. `--policies` adds each arm
under hearth's affinity agent with each policy (`tcp+o2acs`); `--calls` makes so many calls of each
size, however long they take. UCX needs jucx (`mvn -f jvm test` fetches it) and libucx.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import Benchmark
from results import Row, arm_table, names, of_case, whole
from rpc_latency import compile_program, write_site

from hearth.machine.paths import affinity_jar, spark_home, wire_jar

JUCX = Path.home() / ".m2/repository/org/openucx/jucx/1.18.1/jucx-1.18.1.jar"
PROTOCOL = "org.apache.hadoop.ipc.protocolPB.GenericRefreshProtocolPB"
HADOOP = "hadoop"
ARMS = {
    HADOOP: {f"rpc.engine.{PROTOCOL}": "org.apache.hadoop.ipc.ProtobufRpcEngine2"},
    "tcp": {"hearth.rpc.transports": "tcp"},
    **{idle: {"hearth.rpc.idle": idle} for idle in ("busy", "back-off", "event")},
}
SIZES = {1: "1 B", 1024: "1 KB", 65536: "64 KB", 524288: "512 KB", 2097152: "2 MB"}
CROWD = "64 threads, 1 KB"
LIMIT_S = 180
#: Where calls are counted, not timed.
LIMIT_OF_CALLS_S = 3600


def main() -> None:
    bench = Benchmark(__doc__, page, arms=list(ARMS))
    add = bench.parser.add_argument
    add("--milliseconds", type=int, default=1000, help="that count, of each size")
    add("--calls", type=int, help="of each size, instead of a time")
    add("--policies", default="", help="of hearth lab affinity, for each arm besides")
    options = bench.parse()
    policies = [policy for policy in options.policies.split(",") if policy]
    bench.arms += [f"{arm}+{policy}" for arm in bench.arms for policy in policies]
    if not JUCX.is_file():
        sys.exit(f"hadoop_rpc: '{JUCX}' is not there: mvn -f jvm -pl wire -am test")
    bench.begin()
    with tempfile.TemporaryDirectory(prefix="hearth-rpc-") as scratch:
        compile_program("HadoopRpc", Path(scratch))
        bench.measure(lambda turn: measured(Path(scratch), turn.arm, options))
    bench.report()


def measured(root: Path, arm: str, options: argparse.Namespace) -> dict[str, object]:
    """p50 and p99 (us), calls and CPU time for each (us) by size; calls a second of 64 threads."""
    base, _, policy = arm.partition("+")
    site = root / arm.replace(":", "-")
    engine = {f"rpc.engine.{PROTOCOL}": "io.hearth.hadoop.WireRpcEngine"}
    write_site(site, {**engine, "hearth.rpc.fallback": "false", **ARMS[base]})
    (site / "log4j2.properties").write_text("rootLogger.level = off\n")
    class_path = f"{site}:{root}:{wire_jar()}:{JUCX}:{spark_home()}/jars/*"
    agent = [f"-javaagent:{affinity_jar()}=policy={policy}"] if policy else []
    count = [] if options.calls is None else [f"-Dcalls={options.calls}"]
    java = ["java", "-Xmx1g", "-XX:+UseSerialGC", *agent, *count, "-cp", class_path, "HadoopRpc"]
    limit_s = LIMIT_S if options.calls is None else LIMIT_OF_CALLS_S
    milliseconds = options.milliseconds if options.calls is None else LIMIT_OF_CALLS_S * 1000
    environment = {**os.environ, "UCX_LOG_FILE": "stderr", "UCX_LOG_LEVEL": "fatal"}
    pipe = subprocess.PIPE
    with subprocess.Popen([*java, "serve"], stdin=pipe, stdout=pipe, env=environment) as server:
        assert server.stdout is not None
        port = server.stdout.readline().decode().strip()

        def client(*words: str) -> str:
            done = subprocess.run(
                [*java, *words],
                env=environment, stdout=pipe, text=True, check=True, timeout=limit_s,
            )  # fmt: skip
            return done.stdout

        try:
            sizes = [str(size) for size in SIZES]
            said = client("call", port, str(server.pid), str(milliseconds), *sizes)
            values = (line.split() for line in said.splitlines())
            by_size = {
                size: {"p50_us": float(p50), "p99_us": float(p99), "calls": int(calls),
                       "cpu_us": float(cpu)}
                for size, p50, p99, calls, cpu in values
            }  # fmt: skip
            return {"sizes": by_size, "per_s": float(client("crowd", port, "3000"))}
        finally:
            server.kill()


def page(rows: list[Row]) -> list[str]:
    """Return the tables in Markdown: calls one after the other, and those of 64 threads."""
    apart = by_size(rows)
    measures = {"p50_us": "p50 us", "p99_us": "p99 us", "cpu_us": "CPU us a call"}
    single = [row for row in apart if row["case"] != CROWD]
    lines = arm_table(single, HADOOP, measures, digits=0, no_ratio=("p99_us", "cpu_us"))
    crowd = arm_table(of_case(apart, CROWD), HADOOP, {"per_s": "calls a second"}, digits=0)
    return [*lines, "", *crowd]


def by_size(rows: list[Row]) -> list[Row]:
    """Return a row for each size, and one for the threads, of the repetitions that are whole."""
    some = whole(rows)
    single = [
        {**row, "case": name, **row["sizes"][str(size)]}
        for size, name in SIZES.items()
        for arm in sorted(
            names(some, "arm"), key=lambda arm: list(ARMS).index(arm.partition("+")[0])
        )
        for row in some
        if row["arm"] == arm
    ]
    return [*single, *({**row, "case": CROWD} for row in some)]


if __name__ == "__main__":
    main()
