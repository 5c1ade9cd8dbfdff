"""How far `lab predict --bind` and `--nodes` are off, on the published speedups of bound runs.

    .venv/bin/python benchmarks/placement_prediction.py SPEEDUPS.csv

Binding: each published speedup of bound over unbound runs from the other four. Nodes: Baig's
workloads (table of speedups between 1 to 4 nodes of a POWER8) from the time on one to three nodes
to that on the others, as `--nodes` does it, with as many tasks as the study names; what tasks lose
on more nodes is known of the two other workloads alone. Raw values go to benchmarks/results/.
"""

import argparse
import json
import math
import statistics
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hearth.report.terminal.screen import Screen, table
from hearth.studies.models.binding import leave_one_out
from hearth.studies.models.scaling import Steps, read_speedups
from hearth.studies.models.schedule_simulation import Move, RecordedWork, StageWork, part, predict
from hearth.studies.models.space import Cell, MachineSize

ROOT = Path(__file__).resolve().parents[1]
MACHINE, NODES = MachineSize(192, 24, 1024.0), 4
#: Of the study: tasks of a stage, and the best executors x cores of each number of nodes.
TASKS = {"SVM": 376, "SQL": 192, "PageRank": 136}
PER_NODE = {
    "SVM": {1: (1, 24), 2: (6, 6), 3: (4, 6), 4: (3, 8)},
    "SQL": {1: (1, 24), 2: (3, 8), 3: (2, 8), 4: (1, 12)},
    "PageRank": {1: (1, 24), 2: (6, 4), 3: (6, 3), 4: (3, 6)},
}


def bound() -> list[dict[str, Any]]:
    """Each published gain from the others."""
    return [
        {"kind": "binding", "workload": name, "measured": measured, "low": round(low, 4),
         "predicted": round(value, 4), "high": round(high, 4)}
        for name, measured, low, value, high in leave_one_out()
    ]  # fmt: skip


def cell(workload: str, nodes: int) -> Cell:
    """Return the study's best on so many nodes."""
    executors, cores = PER_NODE[workload][nodes]
    number = executors * nodes
    return Cell(number, cores, 250.0 * nodes / number)


def over_nodes(times: dict[str, dict[int, float]]) -> list[dict[str, Any]]:
    """Each workload from 1, 2 and 3 nodes to more or fewer, in the same partitioning per node."""
    found = []
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
                found.append(
                    {"kind": "nodes", "workload": workload, "from": start, "to": end,
                     "measured": round(of[end] / of[start], 4), "low": round(one.low / whole, 4),
                     "predicted": round(one.value / whole, 4), "high": round(one.high / whole, 4)}
                )  # fmt: skip
    return found


def main() -> None:
    """Predicts, shows and keeps."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", metavar="SPEEDUPS.csv", type=Path)
    options = parser.parse_args()
    rows = bound() + over_nodes(read_speedups(options.table))
    stamp = datetime.now(UTC).strftime("%Y-%m-%d-%H%M")
    file = ROOT / "benchmarks" / "results" / f"placement-prediction-{stamp}.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    shown = [
        [row["kind"], row["workload"], f"{row.get('from', 'unbound')} to {row.get('to', 'bound')}",
         f"{row['measured']:.3f}", f"{row['predicted']:.3f}",
         f"{row['low']:.3f} to {row['high']:.3f}", f"{row['predicted'] / row['measured'] - 1:+.0%}"]
        for row in rows
    ]  # fmt: skip
    head = ["kind", "workload", "from to", "measured", "predicted", "90 % interval", "error"]
    print("\n".join(table(Screen.of(), head, shown, "measured predicted error")))
    for kind in ("binding", "nodes"):
        of = [row for row in rows if row["kind"] == kind]
        errors = [abs(row["predicted"] / row["measured"] - 1) for row in of]
        held = sum(row["low"] <= row["measured"] <= row["high"] for row in of)
        print(f"{kind}: mean error {statistics.fmean(errors):.0%}, most {max(errors):.0%}, "
              f"in the interval {held} of {len(of)}")  # fmt: skip


if __name__ == "__main__":
    main()
