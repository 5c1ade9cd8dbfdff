"""What the supervisors of bound Workers cost on many machines: start, loss of a tenth, restarts.

    .venv/bin/python benchmarks/worker_sets.py --machines 1 8 32

Simulated: all machines are this one. Each has its own state and leases and plans for a machine
that is described, of 64 places, as 'hearth workers start' would; but nothing is bound, and the
program in the Workers' stead says that its master has accepted it, and sleeps. Supervisor, leases,
records, starting, stopping and restarting are hearth's own. Of each machine a tenth of the Workers
is killed; the time is until all run again. Then each Worker of the first machine is restarted, one
after the other. Counted are seconds, and CPU seconds and memory of the supervisors' processes
(proc(5)). Raw values go to benchmarks/results/.
"""

import argparse
import json
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from results import FOLDER, Row, table

from hearth.base.codec import load_typed
from hearth.base.private_files import private_directory
from hearth.machine.plan import PlanRequest
from hearth.spark import workers

MACHINE = "2 packages, 16 nodes of 64 GB, 64 cores x 2 threads"
PLACES = 64
LIMIT_S = 600.0
TICKS = os.sysconf("SC_CLK_TCK")
#: Starts the supervisor by Java, and sleeps in a Worker's stead.
STAND_IN = """#!/bin/sh
case " $* " in
*" {worker} "*)
    echo "Successfully registered with master" >&2
    exec sleep 1000000
    ;;
esac
export HEARTH_LEASES={leases}
exec {java} "$@"
"""


@dataclass(frozen=True)
class Machine:
    """A simulated machine: what its supervisor is asked for."""

    asked: workers.WorkersRequest

    def found(self) -> workers.WorkerSet:
        return load_typed(Path(self.asked.directory) / "workers.json", workers.WorkerSet)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--machines", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--beside", type=int, default=4, help="machines that are started at a time")
    options = parser.parse_args()
    output = FOLDER / f"worker-sets-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
    rows = []
    for many in options.machines:
        with tempfile.TemporaryDirectory(prefix="hearth-sets-") as scratch:
            for row in simulated(Path(scratch), many, options.beside):
                rows.append(row)
                with output.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    print("\n".join(page(rows)))
    print(f"raw values: {output}")


def simulated(scratch: Path, many: int, beside: int) -> Iterator[Row]:
    """Start machines, take a tenth from each, restart one Worker after the other; stop them."""
    machines = [machine(scratch, number) for number in range(many)]

    def measured(step: str, act: Callable[[], None]) -> Row:
        before = sum(map(cpu_s, running)) if step != "start" else 0.0
        load, begun = os.getloadavg()[0], time.monotonic()
        act()
        seconds = time.monotonic() - begun
        running[:] = [each.found().pid for each in machines]
        used = sum(map(cpu_s, running)) - before
        row = {"step": step, "machines": many, "workers": many * PLACES}
        row |= {"seconds": round(seconds, 2), "cpu_s": round(used, 2)}
        row |= {"most_mb": round(max(map(peak_mb, running))), "load": round(load, 1)}
        return row | {"machine": f"{os.cpu_count()} CPUs"}

    running: list[int] = []
    try:
        with ThreadPoolExecutor(beside) as pool:
            yield measured("start", lambda: each(pool, start, machines))
        yield measured("tenth lost", lambda: lose(machines))
        yield measured("rolling restart", lambda: rolling(machines[0]))
    finally:
        for one in machines:
            if (Path(one.asked.directory) / "workers.json").exists():
                workers.stop(one.found())


def each(pool: ThreadPoolExecutor, act: Callable[[Machine], object], all_: list[Machine]) -> None:
    for _ in pool.map(act, all_):
        pass


def machine(scratch: Path, number: int) -> Machine:
    own = scratch / f"m{number}"
    (own / "leases").mkdir(parents=True, mode=0o700)
    os.environ["HEARTH_STATE"] = str(own / "state")
    settings = {"spark.hearth.binding": "off"}
    plan = PlanRequest(MACHINE, executors=PLACES, cores=1, memory="1g", conf=settings)
    asked = workers.request("simulated", "spark://nobody:7077", plan, [])
    program = own / "java"
    program.write_text(
        STAND_IN.format(worker=workers.WORKER, java=asked.java, leases=own / "leases")
    )
    program.chmod(0o700)
    private_directory(workers.root())
    return Machine(replace(asked, java=str(program)))


def start(one: Machine) -> None:
    workers.begin(one.asked, lambda _: None, LIMIT_S)


def lose(machines: list[Machine]) -> None:
    """Kill a tenth of each machine's Workers; return when all run again."""
    lost = []
    for one in machines:
        for place in one.found().places[:: PLACES // (PLACES // 10)][: PLACES // 10]:
            os.kill(place.pid or 0, signal.SIGKILL)
            lost.append((one, place))
    until = time.monotonic() + LIMIT_S
    for one, place in lost:
        while not back(one, place):
            assert time.monotonic() < until, f"{one.asked.directory}: place {place.id} is not back"
            time.sleep(0.1)


def back(one: Machine, place: workers.Place) -> bool:
    now = next(each for each in one.found().places if each.id == place.id)
    return now.alive and now.pid != place.pid


def rolling(one: Machine) -> None:
    os.environ["HEARTH_STATE"] = str(Path(one.asked.directory).parents[1])
    found = one.found()
    for place in found.places:
        workers.restart(found, place, LIMIT_S)


def cpu_s(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / TICKS


def peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def page(rows: Iterable[Row]) -> list[str]:
    """Return a line for each number of machines and step."""
    lines = []
    for row in rows:
        many = 1 if row["step"] == "rolling restart" else row["machines"]
        cost = f"{row['cpu_s'] / many:.1f} s"
        what = [row["step"], str(row["machines"]), str(row["workers"]), f"{row['seconds']:.1f}"]
        lines.append([*what, cost, f"{row['most_mb']} MB"])
    heads = ["Step", "Machines", "Workers", "Seconds", "CPU of a supervisor", "Its most memory"]
    return table(heads, lines)


if __name__ == "__main__":
    main()
