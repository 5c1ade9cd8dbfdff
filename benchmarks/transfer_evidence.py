"""Whether knowing other workloads' tables makes `hearth tune` find a good configuration sooner.

    .venv/bin/python benchmarks/transfer_evidence.py --family jittered --first 1000 --sets 40
    .venv/bin/python benchmarks/transfer_evidence.py --family queueing --first 1000 --sets 40

On synthetic tables (synthetic_tables.py says which were looked at while the tuner was made). Each
of the three workloads of a set is searched in turn, by what `hearth tune` runs, with no other table
known, with the two others, with one other and one that misleads, and with two that mislead. Beside
it hill climbing from the plan. Differences are to no other table, with 95 % intervals over sets.
Nothing is timed. Raw values go to benchmarks/results/.
"""

import argparse
import json
import os
import statistics
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from baselines import hill_climbing
from replay import REGRET_AFTER, Score, Site, scored, searched
from synthetic_tables import FAMILIES, opposite, rotated, tables

from hearth.report.terminal.screen import Screen
from hearth.report.terminal.screen import table as shown_table

ROOT = Path(__file__).resolve().parents[1]
NONE = "no other table"


def rows(family: str, seed: int) -> Iterator[dict[str, Any]]:
    """Search each workload of a set in each way."""
    there, several = tables(family, seed)
    site = Site(there.machine, *there.proposal)
    for table in several:
        others = [one for one in several if one is not table]
        known = {
            NONE: [],
            "two others": others,
            "one other, one misleading": [others[0], opposite(table)],
            "two misleading": [opposite(table), rotated(table)],
        }
        found = {name: searched(table, related, site) for name, related in known.items()}
        found["hill climbing"] = scored(hill_climbing, table, seed, site.proposal(table))
        for name, score in found.items():
            yield {"family": family, "seed": seed, "workload": table.workload, "known": name,
                   **figures(score)}  # fmt: skip


def figures(score: Score) -> dict[str, float]:
    """Return the runs to 10 and 5 %, and the regret in percent after 1, 3, 5, 8."""
    regret = zip(REGRET_AFTER, score.regret, strict=True)
    return {
        "to 10 %": score.evaluations[0],
        "to 5 %": score.evaluations[1],
        **{f"regret {after}": round(100 * one, 3) for after, one in regret},
    }


def summary(found: list[dict[str, Any]]) -> list[list[str]]:
    """Of each way the means, and how its regret after 5 differs from no other table."""
    lines = []
    names = [name for name in found[0] if name not in ("family", "seed", "workload", "known")]
    for known in dict.fromkeys(row["known"] for row in found):
        mine = [row for row in found if row["known"] == known]
        means = [f"{statistics.fmean(row[name] for row in mine):.2f}" for name in names]
        lines.append(
            [known, *means, *(difference(found, known, n) for n in ("to 5 %", "regret 5"))]
        )
    return lines


def difference(found: list[dict[str, Any]], known: str, name: str) -> str:
    """Return the mean difference to no other table, each set one sample, with its 95 % interval."""
    from scipy.stats import t

    if known == NONE:
        return ""
    of_sets = []
    for seed in sorted({row["seed"] for row in found}):
        mine, none = (
            statistics.fmean(r[name] for r in found if (r["seed"], r["known"]) == (seed, way))
            for way in (known, NONE)
        )
        of_sets.append(mine - none)
    mean = statistics.fmean(of_sets)
    reach = statistics.stdev(of_sets) / len(of_sets) ** 0.5 * float(t.ppf(0.975, len(of_sets) - 1))
    return f"{mean:+.2f} [{mean - reach:+.2f}, {mean + reach:+.2f}]"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--family", choices=sorted(FAMILIES), required=True)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--sets", type=int, default=20, help="how many sets of three tables")
    parser.add_argument("--output", type=Path, help="raw values (default: benchmarks/results/)")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.sets)
    found = [row for seed in seeds for row in rows(options.family, seed)]
    names = [name for name in found[0] if name not in ("family", "seed", "workload", "known")]
    head = ["known", *names, "to 5 %, change", "regret 5, change"]
    print("\n".join(shown_table(Screen.of(), head, summary(found))))
    stamp = f"{datetime.now(UTC):%Y-%m-%d-%H%M}"
    name = f"transfer-evidence-{options.family}-{stamp}.jsonl"
    output = options.output or ROOT / "benchmarks" / "results" / name
    output.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")


if __name__ == "__main__":
    main()
