"""What the JVM flags gain that a plan sets on a machine of few CPUs.

    .venv/bin/python benchmarks/jvm_flags.py second-compiler --jobs word-count:256m,sort:100m
    .venv/bin/python benchmarks/jvm_flags.py young-generation --jobs sort:2g,grep:2g --repeat 3
    .venv/bin/python benchmarks/jvm_flags.py huge-pages --jobs sort:1g,page-rank:5m --repeat 4

`second-compiler`: HotSpot's second compiler (C2) at its own counts (`usual`) and at ten times
these (`planned`). `young-generation`: of a third of the heap, HotSpot's own limit (`usual`), and of
1 GB (`planned`; for a JVM on two CPUs). `huge-pages`: `without` and `with` transparent ones, and
`pre-touch`: without and with each page of the heap written first; no plan sets these.

Jobs of hearth's suite as `hearth run` runs them. Both arms are set as the user's options, so that
the plan adds none, and run in random order (seeded) within each pair, after one run that is
dropped; answers are checked. Raw values go to benchmarks/results/ as each run ends.
"""

import argparse
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from results import overall, shown, spread, table

from hearth import Ratio, paired_ratio
from hearth.base.codec import append_line
from hearth.base.sizes import parse_bytes
from hearth.workloads import cases, catalogue

ROOT = Path(__file__).resolve().parents[1]
COUNTS = {
    "Tier4InvocationThreshold": 5000,
    "Tier4MinInvocationThreshold": 600,
    "Tier4CompileThreshold": 15000,
    "Tier4BackEdgeThreshold": 40000,
}
ARMS = ("usual", "planned")
#: Of flags that no plan sets.
FREE_ARMS = ("without", "with")
#: Of each question the flags of the two arms.
QUESTIONS = {
    "second-compiler": tuple(
        " ".join(f"-XX:{flag}={count * times}" for flag, count in COUNTS.items())
        for times in (1, 10)
    ),
    "young-generation": ("-XX:NewRatio=2", "-XX:MaxNewSize=1g"),
    "huge-pages": ("-XX:-UseTransparentHugePages", "-XX:+UseTransparentHugePages"),
    "pre-touch": ("-XX:-AlwaysPreTouch", "-XX:+AlwaysPreTouch"),
}
OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("question", choices=QUESTIONS)
    parser.add_argument(
        "--jobs", default="word-count:256m,sort:100m,page-rank:5m,sql-join:16m,tpch:256m"
    )
    parser.add_argument("--master", default="local-numa", help="as of hearth run")
    parser.add_argument("--repeat", type=int, default=5, help="pairs of each job")
    parser.add_argument("--seed", type=int, default=1, help="of the order and of the data")
    options = parser.parse_args()
    now = f"{datetime.now(UTC):%Y-%m-%d-%H%M}"
    output = ROOT / "benchmarks" / "results" / f"{options.question}-{now}.jsonl"
    order = random.Random(options.seed)
    arms = FREE_ARMS if options.question in ("huge-pages", "pre-touch") else ARMS
    for subject in options.jobs.split(","):
        rows: list[dict[str, Any]] = []
        one(subject, arms[0], options)
        for pair in range(options.repeat):
            for arm in order.sample(arms, 2):
                row = {"subject": subject, "arm": arm, "pair": pair, **one(subject, arm, options)}
                append_line(output, row)
                print(f"{subject}, pair {pair + 1}, {arm}: {row['wall_s']:.1f} s", flush=True)
                rows.append(row)
        print("\n".join(page(rows)), flush=True)
    print(f"raw results: {output}")


def one(subject: str, arm: str, options: argparse.Namespace) -> dict[str, Any]:
    """A run's seconds; raises RuntimeError where it failed or its answer is wrong."""
    name, _, size = subject.partition(":")
    flags = QUESTIONS[options.question][arm in (ARMS[1], FREE_ARMS[1])]
    offer = catalogue.load()
    bytes_ = parse_bytes(size, "--jobs")
    case = cases.Case(offer.job(name), {}, bytes_, options.seed, dict.fromkeys(OPTIONS, flags))
    found = cases.measured(offer, case, options.master)
    if "failure" in found:
        raise RuntimeError(f"{subject}, {arm}: {found['failure']}")
    return found


def page(rows: list[dict[str, Any]]) -> list[str]:
    """The table, in Markdown; in older results the arm `planned` is called `later`."""
    rows = [{**row, "arm": "planned" if row["arm"] == "later" else row["arm"]} for row in rows]
    lines, (base, arm) = [], arms_of(rows)
    for subject in dict.fromkeys(row["subject"] for row in rows):
        some = [row for row in rows if row["subject"] == subject]
        cells = [subject.replace(":", ", "), str(len(some) // 2)]
        cells += [
            spread([row["wall_s"] for row in some if row["arm"] == each], 1) for each in (base, arm)
        ]
        lines.append([*cells, *(shown(ratio(some, what)) for what in ("wall_s", "seconds"))])
    heads = ["Job", "Pairs", *(f"`{each}`, median s (range)" for each in (base, arm))]
    return table([*heads, f"Start to end, `{arm}` to `{base}`", "Phases"], lines)


def arms_of(rows: list[dict[str, Any]]) -> tuple[str, str]:
    return FREE_ARMS if any(row["arm"] in FREE_ARMS for row in rows) else ARMS


def ratio(rows: list[dict[str, Any]], what: str) -> Ratio:
    """Of one job, the second arm to the first."""
    first, second = ([row[what] for row in rows if row["arm"] == arm] for arm in arms_of(rows))
    return paired_ratio(second, first)


def over_jobs(rows: list[dict[str, Any]], what: str) -> Ratio:
    """Of all jobs; each counts once."""
    jobs = dict.fromkeys(row["subject"] for row in rows)
    return overall(
        ratio([row for row in rows if row["subject"] == job], what).value for job in jobs
    )


if __name__ == "__main__":
    main()
