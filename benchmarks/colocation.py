"""Is the slowdown of two jobs on one machine what `hearth colocate` predicted?

    .venv/bin/python benchmarks/colocation.py --repeat 4
    .venv/bin/python benchmarks/colocation.py --cases 'word-count -- sort --size 1g'

Each case is one `hearth colocate --profile-first`: every job alone on the whole machine and on its
share, which is what the prediction is made from; then, interleaved, both on their shares (`split`),
both unbound with the shares' configuration, both unbound as each is planned for the whole machine
(`whole`), and one after the other. The machine is split evenly. A row is a whole document.
"""

import argparse
import json
import shlex
import subprocess
import sys
from typing import Any

from harness import Benchmark, Turn
from results import Row, table

#: What uses the processor, what moves data through memory and disk, and two that are the same.
CASES = (
    "word-count --size 100m -- sort --size 100m",
    "word-count --size 100m -- k-means --size 20m",
    "sort --size 100m -- sort --size 100m",
    "sql-aggregation --size 50m -- page-rank --size 5m",
)


def main() -> None:
    bench = Benchmark(__doc__, page, arms=("colocate",), cases=CASES, repeat=4, any_case=True)
    bench.parser.add_argument("--split", default="1-1")
    bench.parser.add_argument("--ways", default="split,unbound,whole,serial", help="--arms of it")
    options = bench.parse()
    repeat, options.repeat = options.repeat, 1  # a document has all repetitions
    bench.begin()

    def run(turn: Turn) -> Row:
        return {"colocation": measured(turn.case, options, repeat)}

    bench.measure(run)
    bench.report()


def measured(case: str, options: argparse.Namespace, repeat: int) -> dict[str, Any]:
    """Measure one case and return its document; one of which a job failed has one too."""
    words = ["colocate", "--profile-first", "--split", options.split, "--arms", options.ways]
    words += ["--warmup", "0", "--json", "--repeat", str(repeat)]
    command = [sys.executable, "-m", "hearth", *words, *shlex.split(case)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if not ran.stdout:
        sys.exit(f"{case}: hearth colocate ended with {ran.returncode}")
    document: dict[str, Any] = json.loads(ran.stdout)
    return document


def page(rows: list[Row]) -> list[str]:
    """Return the predicted and the measured slowdown of each job, and what each way does in an
    hour.
    """
    documents = [row["colocation"] for row in rows if "colocation" in row]
    lines = [
        [
            f"{check['name']}, {' + '.join(each['name'] for each in one['checks'])}",
            shown(check["predicted"]),
            shown(check["measured"]),
            f"{100 * check['error']:+.0f} %",
        ]
        for one in documents
        for check in one["checks"]
    ]
    slowdowns = table(["Job, of pair", "Predicted slowdown", "Measured", "Off by"], lines)
    arms = [name for name in ("split", "unbound", "whole") if _was_run(name, documents)]
    lines = []
    for one in documents:
        ways = {arm["name"]: shown(arm.get("throughput")) for arm in one["arms"]}
        pair = " + ".join(check["name"] for check in one["checks"])
        said = shown(one["prediction"]["splits"][0]["throughput"])
        lines.append([pair, *(ways.get(name, "-") for name in arms), said])
    heads = ["Throughput", *(f"`{name}`" for name in arms), "Predicted for `split`"]
    return [*slowdowns, "", *table(heads, lines)]


def _was_run(name: str, documents: list[dict[str, Any]]) -> bool:
    return any(arm["name"] == name for one in documents for arm in one["arms"])


def shown(one: dict[str, Any] | None) -> str:
    if one is None:
        return "-"
    ends = "" if one["low"] is None else f" [{one['low']:.2f}, {one['high']:.2f}]"
    return f"{one['value']:.2f}{ends}"


if __name__ == "__main__":
    main()
