"""How far are `hearth lab predict --bind` and `--nodes` off, on published speedups of bound runs?

    .venv/bin/python benchmarks/placement_prediction.py SPEEDUPS.csv

Binding: each published speedup of bound over unbound runs from the other four. Nodes: Baig's
workloads (table of speedups between 1 to 4 nodes of a POWER8) from the time on one to three nodes
to that on the others, as `--nodes` does it, with as many tasks as the study names; what tasks lose
on more nodes is known of the two other workloads alone. Nothing is timed.
"""

import csv
import math
import re
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness import Benchmark
from results import Row, table

from hearth.studies.models.binding import NORMAL_90, PUBLISHED, BindingGain
from hearth.studies.models.scaling import Steps
from hearth.studies.models.schedule_simulation import Move, RecordedWork, StageWork, part, predict
from hearth.studies.models.space import Cell, MachineSize

MACHINE, NODES = MachineSize(192, 24, 1024.0), 4
#: Of the study: tasks of a stage, and the best executors x cores of each number of nodes.
TASKS = {"SVM": 376, "SQL": 192, "PageRank": 136}
PER_NODE = {
    "SVM": {1: (1, 24), 2: (6, 6), 3: (4, 6), 4: (3, 8)},
    "SQL": {1: (1, 24), 2: (3, 8), 3: (2, 8), 4: (1, 12)},
    "PageRank": {1: (1, 24), 2: (6, 4), 3: (6, 3), 4: (3, 6)},
}
#: So many nodes, bound to them: 4B.
_BOUND = re.compile(r"(\d+)B")


def read_speedups(file: Path) -> dict[str, dict[int, float]]:
    """Return each workload's times relative to one node, from speedups between bound runs."""
    steps: dict[str, dict[tuple[int, int], float]] = {}
    with file.open(newline="") as stream:
        for row in csv.DictReader(stream):
            start, end = (_BOUND.fullmatch(row[name]) for name in ("from_binding", "to_binding"))
            if start and end:
                step = int(start[1]), int(end[1])
                steps.setdefault(row["workload"], {})[step] = float(row["speedup"])
    return {workload: _times(own) for workload, own in steps.items()}


def _times(steps: Mapping[tuple[int, int], float]) -> dict[int, float]:
    times = {1: 1.0}
    known = 0
    while known < len(times):  # a row may need the time of a later one
        known = len(times)
        for (start, end), speedup in steps.items():
            if start in times and end not in times:
                times[end] = times[start] / speedup
            elif end in times and start not in times:
                times[start] = times[end] * speedup
    return times


def bound() -> list[dict[str, Any]]:
    """Each published gain from the others."""
    found = []
    for name, measured in PUBLISHED.items():
        worth = BindingGain.of([one for other, one in PUBLISHED.items() if other != name])
        reach = NORMAL_90 * worth.deviation
        low, middle, high = (round(math.exp(worth.mean + at * reach), 4) for at in (-1, 0, 1))
        found.append({"kind": "binding", "workload": name, "measured": measured,
                      "low": low, "predicted": middle, "high": high})  # fmt: skip
    return found


def cell(workload: str, nodes: int) -> Cell:
    """Return the study's best on so many nodes."""
    executors, cores = PER_NODE[workload][nodes]
    number = executors * nodes
    return Cell(number, cores, 250.0 * nodes / number)


def over_nodes(times: dict[str, dict[int, float]]) -> list[dict[str, Any]]:
    """Each workload from 1, 2 and 3 nodes to more or fewer, in the same partitioning per node."""
    rows = []
    for workload, of in times.items():
        steps = Steps.of([one for other, one in times.items() if other != workload])
        for start in (1, 2, 3):
            own = cell(workload, start)
            number = TASKS[workload]
            each = of[start] * 1000 * own.slots / number
            stage = StageWork(0, (each,) * number, (), 0.0, 0.05, 0.05)
            whole = math.ceil(number / own.slots) * each
            work = RecordedWork((stage,), own, whole, other_load=0.0)
            for end in sorted(set(of) - {start}):
                share = end / start
                move = Move(MACHINE.share(end, NODES), share, steps.step(start, end))
                (one,) = predict(work, MACHINE, [part(own, share)], move)
                rows.append(
                    {"kind": "nodes", "workload": workload, "from": start, "to": end,
                     "measured": round(of[end] / of[start], 4), "low": round(one.low / whole, 4),
                     "predicted": round(one.value / whole, 4), "high": round(one.high / whole, 4)}
                )  # fmt: skip
    return rows


def main() -> None:
    bench = Benchmark(__doc__, page, arms=("",), repeat=0)
    bench.parser.add_argument("table", metavar="SPEEDUPS.csv", type=Path)
    options = bench.parse()
    bench.begin()
    for row in bound() + over_nodes(read_speedups(options.table)):
        bench.keep(row)
    bench.report()


def page(rows: list[Row]) -> list[str]:
    """Return the table in Markdown."""
    titles = {
        "binding": "bound over unbound, from the four others",
        "nodes": "from 1, 2 or 3 nodes to another number, from the two others",
    }
    lines = []
    for kind, title in titles.items():
        some = [row for row in rows if row.get("kind") == kind]
        errors = [100 * abs(row["predicted"] / row["measured"] - 1) for row in some]
        held = sum(row["low"] <= row["measured"] <= row["high"] for row in some)
        figures = [f"{statistics.fmean(errors):.0f} %", f"{max(errors):.0f} %"]
        lines.append([title, str(len(some)), *figures, f"{held} of {len(some)}"])
    return table(["", "Cases", "Mean error", "Most", "In the 90 % interval"], lines)


if __name__ == "__main__":
    main()
