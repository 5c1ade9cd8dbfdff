"""What hearth's agent costs a JVM: CPU seconds an hour of NameNodes with it and without.

    .venv/bin/python benchmarks/affinity_cost.py --starts 8 --windows 4 --seconds 20

A NameNode for each arm, all throughout at the same time; first idle, then each with a client that
calls it without a pause. In each window the CPU time of the processes is read from /proc at its
beginning and end, in the same instant for all arms, and that of the agent's own thread. Reported
for each: the medians as CPU seconds an hour, and the paired ratio to the NameNode without the
agent. JVMs differ from start to start by more than windows of one start do: the middle of a start
counts once, and there is an interval from three starts on. Under load the CPU time of a server goes
with the calls that it answers: its ratio says whether both had the same, not what the agent costs,
which is its thread's. Raw values go to benchmarks/results/ as each window ends. Hadoop's servers
are fetched by `tools/setup.sh test`.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from results import over_starts, shown, spread, table
from rpc_latency import PLAIN, ROOT, compile_client, java, namenode, site_of, started

from hearth import Ratio

THREAD = "hearth-affinity"
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--starts", type=int, default=6, help="of the NameNodes")
    parser.add_argument("--windows", type=int, default=4, help="of each start")
    parser.add_argument("--seconds", type=float, default=30.0, help="of each window")
    parser.add_argument("--policy", default="o2acs")
    options = parser.parse_args()
    now = f"{datetime.now(UTC):%Y-%m-%d-%H%M}"
    output = ROOT / "benchmarks" / "results" / f"affinity-cost-{now}.jsonl"
    rows: list[dict[str, Any]] = []
    for start in range(options.starts):
        for row in one_start(options):
            rows.append({"start": start, **row})
            with output.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    print("\n".join(page(rows)))
    print(f"raw results: {output}")


def one_start(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the windows of one start of the NameNodes."""
    arms = [PLAIN, options.policy]
    with tempfile.TemporaryDirectory(prefix="hearth-cost-") as scratch, ExitStack() as running:
        root = Path(scratch)
        compile_client(root)
        servers = {arm: running.enter_context(namenode(root, arm)) for arm in arms}
        pids = {arm: process.pid for arm, (process, _) in servers.items()}
        for load in ("idle", "called"):
            if load == "called":
                for arm, (_, port) in servers.items():
                    words = java(root, PLAIN, site_of(root, arm, port), "RpcLatency", str(10**9))
                    running.enter_context(started(words, root / f"client-{arm}.log"))
            time.sleep(10)  # starting up costs the same with and without
            for window in range(options.windows):
                yield {"load": load, "window": window, **spent(pids, options.seconds)}


def spent(pids: Mapping[str, int], seconds: float) -> dict[str, float]:
    """CPU seconds an hour of each process, and of the agent's thread in those that have it."""
    places = {arm: Path("/proc", str(pid), "stat") for arm, pid in pids.items()}
    for arm, pid in pids.items():
        for thread in Path("/proc", str(pid), "task").iterdir():
            if (thread / "comm").read_text().strip() == THREAD:
                places[f"{arm}, {THREAD}"] = thread / "schedstat"
    began, before = time.monotonic(), {name: cpu_s(path) for name, path in places.items()}
    time.sleep(seconds)
    hours = (time.monotonic() - began) / 3600
    return {name: (cpu_s(path) - before[name]) / hours for name, path in places.items()}


def cpu_s(path: Path) -> float:
    """proc(5): utime and stime in ticks of `stat`, nanoseconds on a CPU of `schedstat`."""
    text = path.read_text()
    if path.name == "schedstat":
        return int(text.split()[0]) / 1e9
    user, system = text.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / TICKS


def page(rows: list[dict[str, Any]]) -> list[str]:
    """Return the table in Markdown: CPU seconds an hour."""
    (policy,) = {name for row in rows for name in row if f"{name}, {THREAD}" in row}
    lines = []
    for load in dict.fromkeys(row["load"] for row in rows):
        some = [row for row in rows if row["load"] == load]
        cells = [
            spread([row[name] for row in some], 1)
            for name in (PLAIN, policy, f"{policy}, {THREAD}")
        ]
        starts = str(len({row.get("start", 0) for row in some}))
        lines.append([load, starts, *cells[:2], shown(ratio(some, policy)), cells[2]])
    heads = ["Load", "Starts", "Without, median (range)", f"`{policy}`, median (range)", "Ratio"]
    return table([*heads, "The agent's own thread"], lines)


def ratio(rows: list[dict[str, Any]], policy: str) -> Ratio:
    """Over starts; results before there were several are of one."""
    return over_starts((row.get("start", 0), row[policy], row[PLAIN]) for row in rows)


if __name__ == "__main__":
    main()
