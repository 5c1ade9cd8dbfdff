"""What it gains to ask for HotSpot's second compiler (C2) later, on a machine of few CPUs.

    .venv/bin/python benchmarks/second_compiler.py --jobs word-count:256m,sort:100m --repeat 5

Jobs of hearth's suite as `hearth run` runs them: `usual` with HotSpot's own counts, `later` with
ten times these, which is what a plan for one or two CPUs sets. Both are set as the user's options,
so that the plan adds none. Both arms in random order (seeded) within each pair, after one run that
is dropped; answers are checked. Raw values go to benchmarks/results/ as each run ends.
"""

import argparse
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hearth.experiments.statistics import paired_ratio
from hearth.model.documents import append_line
from hearth.model.sizes import parse_bytes
from hearth.workloads import cases, catalogue

ROOT = Path(__file__).resolve().parents[1]
COUNTS = {
    "Tier4InvocationThreshold": 5000,
    "Tier4MinInvocationThreshold": 600,
    "Tier4CompileThreshold": 15000,
    "Tier4BackEdgeThreshold": 40000,
}
TIMES = {"usual": 1, "later": 10}
OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--jobs", default="word-count:256m,sort:100m,page-rank:5m,sql-join:16m,tpch:256m"
    )
    parser.add_argument("--master", default="local-numa", help="as of hearth run")
    parser.add_argument("--repeat", type=int, default=5, help="pairs of each job")
    parser.add_argument("--seed", type=int, default=1, help="of the order and of the data")
    options = parser.parse_args()
    now = f"{datetime.now(UTC):%Y-%m-%d-%H%M}"
    output = ROOT / "benchmarks" / "results" / f"second-compiler-{now}.jsonl"
    order = random.Random(options.seed)
    for subject in options.jobs.split(","):
        rows: list[dict[str, Any]] = []
        one(subject, "usual", options)
        for pair in range(options.repeat):
            for arm in order.sample(list(TIMES), 2):
                row = {"subject": subject, "arm": arm, "pair": pair, **one(subject, arm, options)}
                append_line(output, row)
                rows.append(row)
        print("\n".join(told(subject, rows)), flush=True)
    print(f"raw results: {output}")


def one(subject: str, arm: str, options: argparse.Namespace) -> dict[str, Any]:
    """A run's seconds; raises RuntimeError where it failed or its answer is wrong."""
    name, _, size = subject.partition(":")
    flags = " ".join(f"-XX:{flag}={count * TIMES[arm]}" for flag, count in COUNTS.items())
    offer = catalogue.load()
    bytes_ = parse_bytes(size, "--jobs")
    case = cases.Case(offer.job(name), {}, bytes_, options.seed, dict.fromkeys(OPTIONS, flags))
    found = cases.measured(offer, case, options.master)
    if "failure" in found:
        raise RuntimeError(f"{subject}, {arm}: {found['failure']}")
    return found


def told(subject: str, rows: list[dict[str, Any]]) -> list[str]:
    lines = []
    for what in ("wall_s", "seconds"):
        usual, later = ([row[what] for row in rows if row["arm"] == arm] for arm in TIMES)
        ratio = f"{paired_ratio(later, usual)}" if len(usual) > 1 else f"{later[0] / usual[0]:.3f}"
        lines.append(f"{subject:20} {what:8} usual {min(usual):.1f} to {max(usual):.1f}: {ratio}")
    return lines


if __name__ == "__main__":
    main()
