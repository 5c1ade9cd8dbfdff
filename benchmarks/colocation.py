"""Pairs of jobs on one machine: is their slowdown beside each other what it was predicted to be?

    .venv/bin/python benchmarks/colocation.py
    .venv/bin/python benchmarks/colocation.py --repeat 5 --pairs 'word-count -- sort --size 1g'

Each pair is one `hearth colocate --profile-first`: every job alone on the whole machine and on its
share, which is what the prediction is made from; then, interleaved, both on their shares, both
unbound with the shares' configuration, both unbound as each is planned for the whole machine, and
one after the other. The machine is split evenly. Each pair's document (contract/colocation) is a
line of the results file, added as the pair ends; give the same --out to go on after a kill.
"""

import argparse
import json
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hearth.base.codec import append_line

ROOT = Path(__file__).resolve().parents[1]
#: What uses the processor, what moves data through memory and disk, and two that are the same.
PAIRS = (
    "word-count --size 100m -- sort --size 100m",
    "word-count --size 100m -- k-means --size 20m",
    "sort --size 100m -- sort --size 100m",
    "sql-aggregation --size 50m -- page-rank --size 5m",
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", action="append", metavar="'A -- B'", help="may be repeated")
    parser.add_argument("--repeat", type=int, default=4)
    parser.add_argument("--split", default="1-1")
    parser.add_argument("--arms", default="split,unbound,whole,serial", help="of hearth colocate")
    parser.add_argument("--out", type=Path, help="results file, to begin or to go on with")
    options = parser.parse_args()
    out = options.out or (
        ROOT / "benchmarks" / "results" / f"colocation-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
    )
    done = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    for pair in options.pairs or PAIRS:
        if pair in [one["pair"] for one in done]:
            continue
        document = measured(pair, options)
        done.append({"pair": pair, "colocation": document})
        append_line(out, done[-1])
    print("\n".join(page(done)))


def measured(pair: str, options: argparse.Namespace) -> dict[str, Any]:
    """Measure one pair and return its document; a pair of which a job failed has one too."""
    words = ["colocate", "--profile-first", "--split", options.split, "--arms", options.arms]
    words += ["--warmup", "0", "--json", "--repeat", str(options.repeat)]
    command = [sys.executable, "-m", "hearth", *words, *shlex.split(pair)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if not ran.stdout:
        sys.exit(f"{pair}: hearth colocate ended with {ran.returncode}")
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def page(rows: list[dict[str, Any]]) -> list[str]:
    """Return the tables in Markdown."""
    return table([row["colocation"] for row in rows])


def table(documents: list[dict[str, Any]]) -> list[str]:
    """Predicted against measured slowdown of each job, and what each way does in an hour."""
    lines = ["| Job, beside | Predicted slowdown | Measured | Off by |", "|---|---|---|---|"]
    for one in documents:
        names = [check["name"] for check in one["checks"]]
        for at, check in enumerate(one["checks"]):
            beside = ", ".join(names[:at] + names[at + 1 :])
            figures = (
                shown(check["predicted"]),
                shown(check["measured"]),
                f"{100 * check['error']:+.0f} %",
            )
            lines.append(f"| {check['name']}, {beside} | {' | '.join(figures)} |")
    arms = [name for name in ("split", "unbound", "whole") if _was_run(name, documents)]
    heads = ["Pair", *(f"`{name}`" for name in arms), "Predicted for `split`"]
    lines += ["", f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for one in documents:
        ways = {arm["name"]: shown(arm.get("throughput")) for arm in one["arms"]}
        names = [check["name"] for check in one["checks"]]
        said = shown(one["prediction"]["splits"][0]["throughput"])
        cells = [ways.get(name, "-") for name in arms]
        lines.append(f"| {' + '.join(names)} | {' | '.join(cells)} | {said} |")
    return lines


def _was_run(name: str, documents: list[dict[str, Any]]) -> bool:
    return any(arm["name"] == name for one in documents for arm in one["arms"])


def shown(one: dict[str, Any] | None) -> str:
    if one is None:
        return "-"
    ends = "" if one["low"] is None else f" ({one['low']:.2f} to {one['high']:.2f})"
    return f"{one['value']:.2f}{ends}"


if __name__ == "__main__":
    main()
