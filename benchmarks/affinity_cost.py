"""What does hearth's agent cost a JVM: CPU seconds an hour of NameNodes with it and without?

    .venv/bin/python benchmarks/affinity_cost.py --starts 8 --repeat 4 --seconds 20

A NameNode without the agent (`none`) and one with it, all throughout at the same time; first idle,
then each with a client that calls it without a pause. In each window the CPU time of the processes
is read from /proc at its beginning and end, in the same instant for both, and that of the agent's
own thread. The middle of a start of the NameNodes counts once. Under load the CPU time of a server
goes with the calls that it answers: its ratio says whether both had the same, not what the agent
costs, which is its thread's. Hadoop's servers are fetched by `tools/setup.sh test`.
"""

import os
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from harness import Benchmark, Turn
from results import Row, arm_table
from rpc_latency import PLAIN, compile_program, java, namenode, site_of, started

THREAD = "hearth-affinity"
TICKS = os.sysconf("SC_CLK_TCK")


LOADS = ("idle", "called")


def main() -> None:
    bench = Benchmark(__doc__, page, arms=("both",), cases=LOADS, repeat=4, starts=6)
    bench.parser.add_argument("--seconds", type=float, default=30.0, help="of each window")
    bench.parser.add_argument("--policy", default="o2acs")
    options = bench.parse()
    loads = bench.cases
    bench.begin()
    for start in bench.starts():
        with tempfile.TemporaryDirectory(prefix="hearth-cost-") as scratch, ExitStack() as running:
            root = Path(scratch)
            compile_program("RpcLatency", root)
            arms = (PLAIN, options.policy)
            servers = {arm: running.enter_context(namenode(root, arm)) for arm in arms}
            pids = {arm: process.pid for arm, (process, _) in servers.items()}
            for load in loads:
                bench.cases = [load]
                if load == "called":
                    for arm, (_, port) in servers.items():
                        site = site_of(root, arm, port)
                        words = java(root, PLAIN, site, "RpcLatency", str(10**9))
                        running.enter_context(started(words, root / f"client-{arm}.log"))
                time.sleep(10)  # starting up costs the same with and without
                bench.measure(partial(window, pids, options.seconds), start)
    bench.report()


def window(pids: Mapping[str, int], seconds: float, _: Turn) -> Row:
    return dict(spent(pids, seconds))


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


def page(rows: list[Row]) -> list[str]:
    """Return the table in Markdown."""
    (policy,) = {name for row in rows for name in row if f"{name}, {THREAD}" in row}
    thread = f"{policy}, {THREAD}"
    apart = [
        {**row, "arm": arm, "cpu_s": row[arm]}
        | ({"thread_s": row[thread]} if arm == policy else {})
        for row in rows
        if thread in row
        for arm in (PLAIN, policy)
    ]
    measures = {"cpu_s": "CPU s an hour", "thread_s": "of the agent's own thread"}
    return arm_table(apart, PLAIN, measures, over="start", digits=1, no_ratio=("thread_s",))


if __name__ == "__main__":
    main()
