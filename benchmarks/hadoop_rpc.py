"""Hadoop's RPC over its own TCP and over hearth's wire: round trips, CPU time, throughput.

    .venv/bin/python benchmarks/hadoop_rpc.py --repeat 5
    .venv/bin/python benchmarks/hadoop_rpc.py --arms hadoop,event --repeat 20
    .venv/bin/python benchmarks/hadoop_rpc.py --calls 20000 --policies o2acs,o2nts:4 --repeat 20

Arms: `hadoop`, its own engine on loopback TCP; `busy`, `back-off`, `event`, hearth's engine with
that idle strategy over UCX's shared memory; `tcp`, hearth's over TCP, `event`. After the protocol
of Lu et al. (2017): calls one after the other, first half dropped, 1 B to 2 MB each way, and 64
threads that call with 1 KB. A repetition starts a new server and new clients for each arm, in
random (seeded) order. `--policies` adds each arm under hearth's affinity agent with each policy
(`tcp+o2acs`), and the spread from repetition to repetition; `--calls` makes so many calls of each
size, however long they take. Raw values go to benchmarks/results/ as each arm ends. UCX needs jucx
(`mvn -f jvm test` fetches it) and libucx.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from results import shown, spread, table

from hearth import Ratio, paired_ratio
from hearth.machine.paths import affinity_jar, hadoop_jar, spark_home

ROOT = Path(__file__).resolve().parents[1]
JUCX = Path.home() / ".m2/repository/org/openucx/jucx/1.18.1/jucx-1.18.1.jar"
PROTOCOL = "org.apache.hadoop.ipc.protocolPB.GenericRefreshProtocolPB"
HADOOP = "hadoop"
ARMS = {
    HADOOP: {f"rpc.engine.{PROTOCOL}": "org.apache.hadoop.ipc.ProtobufRpcEngine2"},
    "tcp": {"hearth.rpc.carriers": "tcp"},
    **{idle: {"hearth.rpc.idle": idle} for idle in ("busy", "back-off", "event")},
}
SIZES = {1: "1 B", 1024: "1 KB", 65536: "64 KB", 524288: "512 KB", 2097152: "2 MB"}
#: In place of a size: calls a second of 64 threads.
CROWD = 0
LIMIT_S = 180
#: Where calls are counted, not timed.
LIMIT_OF_CALLS_S = 3600


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--milliseconds", type=int, default=1000, help="that count, of each size")
    parser.add_argument("--calls", type=int, help="of each size, instead of a time")
    parser.add_argument("--arms", default=",".join(ARMS), help="some of these")
    parser.add_argument("--policies", default="", help="of lab affinity, for each arm besides")
    parser.add_argument("--seed", type=int, default=1, help="of the order")
    options = parser.parse_args()
    arms = options.arms.split(",")
    if unknown := [arm for arm in arms if arm not in ARMS]:
        sys.exit(f"hadoop_rpc: '{unknown[0]}' is not an arm: {', '.join(ARMS)}")
    policies = [policy for policy in options.policies.split(",") if policy]
    arms += [f"{arm}+{policy}" for arm in arms for policy in policies]
    if not JUCX.is_file():
        sys.exit(f"hadoop_rpc: '{JUCX}' is not there: mvn -f jvm -pl hadoop -am test")
    now = f"{datetime.now(UTC):%Y-%m-%d-%H%M}"
    output = ROOT / "benchmarks" / "results" / f"hadoop-rpc-{now}.jsonl"
    dice = random.Random(options.seed)
    rows = []
    with tempfile.TemporaryDirectory(prefix="hearth-rpc-") as scratch:
        root = Path(scratch)
        compile_echo(root)
        for repetition in range(options.repeat):
            for arm in dice.sample(arms, len(arms)):
                row = {"repetition": repetition, "arm": arm, **measured(root, arm, options)}
                row["load"] = os.getloadavg()[0]
                rows.append(row)
                with output.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(f"{repetition + 1}/{options.repeat} {arm}", file=sys.stderr, flush=True)
    print("\n".join(page(rows)))
    print(f"raw results: {output}")


def compile_echo(root: Path) -> None:
    source = ROOT / "benchmarks" / "HadoopRpc.java"
    words = ["javac", "-cp", f"{spark_home()}/jars/*", "-d", str(root), str(source)]
    subprocess.run(words, check=True)


def measured(root: Path, arm: str, options: argparse.Namespace) -> dict[str, object]:
    """p50 and p99 (us), calls and CPU time for each (us) by size; calls a second of 64 threads."""
    base, _, policy = arm.partition("+")
    site = root / arm.replace(":", "-")
    site.mkdir(exist_ok=True)
    engine = {f"rpc.engine.{PROTOCOL}": "io.hearth.hadoop.WireRpcEngine"}
    settings = {**engine, "hearth.rpc.fallback": "false", **ARMS[base]}
    (site / "core-site.xml").write_text(
        "<configuration>"
        + "".join(
            f"<property><name>{name}</name><value>{value}</value></property>"
            for name, value in settings.items()
        )
        + "</configuration>"
    )
    (site / "log4j2.properties").write_text("rootLogger.level = off\n")
    class_path = f"{site}:{root}:{hadoop_jar()}:{JUCX}:{spark_home()}/jars/*"
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


def page(rows: list[dict[str, Any]]) -> list[str]:
    """Tables of medians, and ratios to Hadoop's own with 95 % intervals."""
    known = {row["arm"] for row in rows}
    arms = [arm for base in ARMS for arm in sorted(known) if arm.partition("+")[0] == base]
    lines = []
    for size, name in SIZES.items():
        for arm in arms:
            p50, p99, cpu = (
                values(rows, arm, size, what) for what in ("p50_us", "p99_us", "cpu_us")
            )
            cells = [name, f"`{arm}`", spread(p50, 0), against(rows, arm, size)]
            lines.append([*cells, f"{statistics.median(p99):.0f}", f"{statistics.median(cpu):.0f}"])
    heads = ["Size", "Arm", "p50 us, median (range)", "to `hadoop`", "p99 us", "CPU us a call"]
    crowd = [
        [f"`{arm}`", spread(values(rows, arm, CROWD, "per_s"), 0), against(rows, arm, CROWD)]
        for arm in arms
    ]
    calls = ["64 threads, 1 KB", "Calls a second, median (range)", "to `hadoop`"]
    return [*table(heads, lines), "", *table(calls, crowd), *_spreads(rows, arms)]


def _spreads(rows: list[dict[str, Any]], arms: list[str]) -> list[str]:
    """How far the least and the most of the repetitions lie from the middle, where policies ran."""
    if not any("+" in arm for arm in arms):
        return []
    lines = []
    for size, name in SIZES.items():
        for arm in arms:
            p50 = values(rows, arm, size, "p50_us")
            low, high = (100 * (end / statistics.median(p50) - 1) for end in (min(p50), max(p50)))
            lines.append([name, f"`{arm}`", f"{low:.0f}/+{high:.0f} %"])
    return ["", *table(["Size", "Arm", "Spread of p50"], lines)]


def values(rows: list[dict[str, Any]], arm: str, size: int, what: str) -> list[float]:
    """By repetition, those in which every arm was measured."""
    arms = {row["arm"] for row in rows}
    done = [
        row
        for row in rows
        if arms == {other["arm"] for other in rows if other["repetition"] == row["repetition"]}
    ]
    mine = sorted((row for row in done if row["arm"] == arm), key=lambda row: row["repetition"])
    return [row["per_s"] if size == CROWD else row["sizes"][str(size)][what] for row in mine]


def ratio(rows: list[dict[str, Any]], arm: str, size: int, what: str = "p50_us") -> Ratio:
    """To Hadoop's own engine."""
    return paired_ratio(values(rows, arm, size, what), values(rows, HADOOP, size, what))


def against(rows: list[dict[str, Any]], arm: str, size: int) -> str:
    return "1" if arm == HADOOP else shown(ratio(rows, arm, size))


if __name__ == "__main__":
    main()
