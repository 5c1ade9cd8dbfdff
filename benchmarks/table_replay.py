"""How many runs hearth's tuner needs on tables of measured times, and whether its bars are met.

    .venv/bin/python benchmarks/table_replay.py svm.csv pagerank.csv --machine SPEC
    .venv/bin/python benchmarks/table_replay.py svm.csv pagerank.csv --machine SPEC --seeds 50

Each table is left out in turn while the others are known; then the same with 30 % of the rows
hidden at random, with 5 % noise, and with no related table. Beside it random search, hill climbing
and Optuna's samplers, which know no other table. The last table holds the results against the bars
that were set before; the exit code is 1 where one is missed.

Nothing is timed. Raw values go to benchmarks/results/, without names of files.
"""

import argparse
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from hearth.planner.plans import topology
from hearth.report.terminal import Screen, table
from hearth.report.tuning import show_replay
from hearth.tuning.methods import absent_samplers
from hearth.tuning.replay import Settings, mean_of_methods, replay
from hearth.tuning.space import Machine
from hearth.tuning.table import Table, read_tables

ROOT = Path(__file__).resolve().parents[1]
_BESIDE = ("hill climbing from hearth's first", "hill climbing", "random", "tpe", "gp")
#: Case, what is held (a key of the summary, or evaluations of the worst table), the most allowed.
BARS = (
    ("others known", "evaluations_to_10_percent", 2.0),
    ("others known", "most evaluations_to_10_percent", 4.0),
    ("others known", "evaluations_to_5_percent", 4.0),
    ("others known", "regret after 5", 0.025),
    ("others known", "regret after 8", 0.015),
    ("30 % hidden", "evaluations_to_10_percent", 2.0),
    ("30 % hidden", "evaluations_to_5_percent", 4.2),
    ("no related table", "evaluations_to_10_percent", 3.5),
    ("no related table", "evaluations_to_5_percent", 5.5),
)


def documents(tables: list[Table], machine: Machine, seeds: int) -> dict[str, list[dict[str, Any]]]:
    """The documents of each case; with no related table there is one for each table."""
    absent = absent_samplers()
    own = dict.fromkeys(_BESIDE, "knows no other table in any case: see above")
    say = lambda text: print(f"  {text}", file=sys.stderr)  # noqa: E731
    cases = {
        "others known": (Settings(0.0, 0.0, seeds), absent),
        "30 % hidden": (Settings(0.3, 0.0, seeds), absent),
        "5 % noise": (Settings(0.0, 0.05, seeds), own),
    }
    found = {
        name: [replay(tables, [], machine, settings, without, say)]
        for name, (settings, without) in cases.items()
    }
    for name, drop in (("no related table", 0.0), ("no related table, 30 % hidden", 0.3)):
        settings = Settings(drop, 0.0, seeds)
        found[name] = [replay([one], [], machine, settings, own, say) for one in tables]
    return found


def held(found: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """hearth's result beside each bar."""
    rows = []
    for case, what, most in BARS:
        results = [one["methods"] for document in found[case] for one in document["tables"]]
        mean = mean_of_methods(results)["hearth"]
        if what.startswith("most "):
            key = what.removeprefix("most ")
            value = max(one["hearth"][key]["mean"] for one in results)
        elif what.startswith("regret"):
            value = mean["regret_after"][what.split()[-1]]
        else:
            value = mean[what]
        rows.append({"case": case, "what": what, "value": value, "bar": most, "met": value <= most})
    return rows


def shown(found: dict[str, list[dict[str, Any]]], rows: list[dict[str, Any]]) -> list[str]:
    screen = Screen.of()
    lines = []
    for case, several in found.items():
        lines += ["", screen.title(f"== {case}")]
        for document in several:
            lines += show_replay(document, screen)
    body = [
        [row["case"], row["what"].replace("_", " "), f"{row['value']:.3g}", f"{row['bar']:g}",
         "met" if row["met"] else "missed"]
        for row in rows
    ]  # fmt: skip
    return [*lines, "", *table(screen, ["case", "mean of tables", "hearth", "bar", ""], body)]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", type=Path, nargs="+", help="CSV files, see hearth tune --help")
    parser.add_argument("--machine", required=True, help="as for hearth plan")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--output", type=Path, help="raw values (default: benchmarks/results/)")
    options = parser.parse_args()
    tables = [one for file in options.tables for one in read_tables(file)]
    machine = Machine.of(topology(options.machine))
    found = documents(tables, machine, options.seeds)
    rows = held(found)
    print("\n".join(shown(found, rows)))
    name = f"table-replay-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
    output = options.output or ROOT / "benchmarks" / "results" / name
    lines = [{"case": case, **one} for case, several in found.items() for one in several]
    text = "".join(json.dumps(line) + "\n" for line in [*lines, *rows])
    output.write_text(text, encoding="utf-8")
    return 0 if all(row["met"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
