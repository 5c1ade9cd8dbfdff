"""Round trips between two JVMs over the wire: UCX's shared memory against TCP on loopback.

    .venv/bin/python benchmarks/transport.py
    .venv/bin/python benchmarks/transport.py --repeat 20 --milliseconds 2000

Arms: `tcp` and `ucx`, each with the idle strategies `busy`, `back-off` and `event`. Every
repetition runs each arm once, in random order (seeded), with two new JVMs. For each size the next
request leaves on the thread that brought the answer (`chained`), then another thread waits for each
answer (`waiting`, as a caller of Hadoop's RPC does). At most 20,000 calls of a size, fewer where
the time is over; the first half is dropped. CPU time is that of both JVMs, over all calls.

Needs jvm/transport/target/classes (`mvn -f jvm -pl transport package`), jucx and libucx.
"""

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from results import loads, shown, spread, table

from hearth import paired_ratio

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = "hearth/transport-benchmark/1"
CLASSES = ROOT / "jvm" / "transport" / "target" / "classes"
JUCX = Path.home() / ".m2/repository/org/openucx/jucx/1.18.1/jucx-1.18.1.jar"
SIZES = {1: "1 B", 1024: "1 KB", 65536: "64 KB", 524288: "512 KB", 2097152: "2 MB"}
CALLS = 20_000
CARRIERS = ("tcp", "ucx")
IDLING = ("busy", "back-off", "event")
MODES = ("chained", "waiting")
LIMIT_S = 120


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--milliseconds", type=int, default=300, help="for each size and mode")
    parser.add_argument("--seed", type=int, default=1, help="of the order")
    parser.add_argument("--jucx", type=Path, default=JUCX, help="the jar of org.openucx:jucx")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    for needed in (CLASSES, options.jucx):
        if not needed.exists():
            sys.exit(f"transport: '{needed}' is not there: mvn -f jvm -pl transport package")
    name = f"transport-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
    out = options.out or ROOT / "benchmarks" / "results" / name
    rows = list(measured(options, out))
    print("\n".join(page(rows)))
    print(f"\nRaw results: {out}")


def measured(options: argparse.Namespace, out: Path) -> Iterator[dict[str, Any]]:
    """Run the arms; write each row as it comes, and yield it."""
    order = random.Random(options.seed)
    arms = [(carrier, idling) for carrier in CARRIERS for idling in IDLING]
    with out.open("w", encoding="utf-8") as file:
        file.write(json.dumps({"schema": SCHEMA, "machine": facts()}) + "\n")
        for repetition in range(options.repeat):
            order.shuffle(arms)
            for carrier, idling in arms:
                load = round(os.getloadavg()[0], 2)
                for row in pair(options, carrier, idling):
                    row |= {"arm": carrier, "idling": idling, "load": load}
                    row["repetition"] = repetition
                    file.write(json.dumps(row) + "\n")
                    file.flush()
                    yield row


def pair(options: argparse.Namespace, carrier: str, idling: str) -> list[dict[str, Any]]:
    """One server, one client, all sizes."""
    java = ["java", "-XX:+UseSerialGC", "-Xmx256m", "-cp", f"{CLASSES}:{options.jucx}"]
    java.append("io.hearth.transport.Latency")
    quiet = {**os.environ, "UCX_LOG_LEVEL": "fatal"}
    with subprocess.Popen(
        [*java, "serve", carrier, idling],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=quiet,
    ) as server:  # fmt: skip
        try:
            assert server.stdout is not None
            port = next(line for line in server.stdout if line.startswith("port ")).split()[1]
            asked = [f"{size}:{CALLS}" for size in SIZES]
            words = ["ask", carrier, idling, port, str(options.milliseconds), *asked]
            done = subprocess.run(
                [*java, *words],
                env=quiet, capture_output=True, text=True, timeout=LIMIT_S, check=True,
            )  # fmt: skip
        finally:
            server.kill()
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def facts() -> dict[str, Any]:
    version = subprocess.run(["ucx_info", "-v"], capture_output=True, text=True, check=False)
    return {
        "architecture": platform.machine(),
        "kernel": platform.release(),
        "cpus": len(os.sched_getaffinity(0)),
        "libucx": version.stdout.splitlines()[0].removeprefix("# ") if version.stdout else None,
    }


def page(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the tables in Markdown."""
    rows = [row for row in rows if "p50_us" in row]
    lines = [f"Load average {loads(rows)} at the start of the runs."]
    for idling in IDLING:
        lines += ["", *table_of(rows, idling)]
    return lines


def table_of(rows: Sequence[dict[str, Any]], idling: str) -> list[str]:
    """p50 in us, median of the repetitions (least to most), by an idle strategy."""
    cells = [
        [name, mode, *compared(rows, mode, size, idling)]
        for mode in MODES
        for size, name in SIZES.items()
    ]
    heads = ["Size", f"`{idling}`", "TCP, p50 us (range)", "UCX, p50 us (range)", "UCX to TCP"]
    return table([*heads, "p99 us: TCP, UCX", "CPU us: TCP, UCX"], cells)


def values(
    rows: Sequence[dict[str, Any]], mode: str, size: int, idling: str, carrier: str, what: str
) -> list[float]:
    """By repetition."""
    case = (mode, size, idling, carrier)
    some = [row for row in rows if (row["mode"], row["size"], row["idling"], row["arm"]) == case]
    return [row[what] for row in sorted(some, key=lambda row: row["repetition"])]


def compared(rows: Sequence[dict[str, Any]], mode: str, size: int, idling: str) -> list[str]:
    """Return the cells of a row."""
    tcp, ucx = ({
        what: values(rows, mode, size, idling, carrier, what)
        for what in ("p50_us", "p99_us", "cpu_us")
    } for carrier in CARRIERS)  # fmt: skip
    pairs = [
        f"{statistics.median(tcp[what]):.0f}, {statistics.median(ucx[what]):.0f}"
        for what in ("p99_us", "cpu_us")
    ]
    middles = [spread(side["p50_us"], 1) for side in (tcp, ucx)]
    return [*middles, shown(paired_ratio(ucx["p50_us"], tcp["p50_us"])), *pairs]


if __name__ == "__main__":
    main()
