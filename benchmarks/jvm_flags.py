"""What the JVM flags gain that a plan sets on a machine of few CPUs.

    .venv/bin/python benchmarks/jvm_flags.py second-compiler --jobs word-count:256m,sort:100m
    .venv/bin/python benchmarks/jvm_flags.py young-generation --jobs sort:2g,grep:2g --repeat 3
    .venv/bin/python benchmarks/jvm_flags.py huge-pages --jobs sort:1g,page-rank:5m --repeat 4

`second-compiler`: HotSpot's second compiler (C2) at its own counts (`usual`), at three times these
(`planned`) and at ten times. `young-generation`: of a third of the heap, HotSpot's own limit
(`usual`), and of 1 GB (`planned`; for a JVM on two CPUs). `huge-pages`: `without` and `with`
transparent ones, and `pre-touch`: without and with each page of the heap written first; no plan
sets these.

Jobs of hearth's suite as `lab run` runs them. All arms are set as the user's options, so that
the plan adds none, and run in random order (seeded) within each round, after one run that is
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
#: Of each question its arms, the first of them the baseline, and their flags.
QUESTIONS = {
    "second-compiler": {
        arm: " ".join(f"-XX:{flag}={count * times}" for flag, count in COUNTS.items())
        for arm, times in (("usual", 1), ("planned", 3), ("ten times", 10))
    },
    "young-generation": {"usual": "-XX:NewRatio=2", "planned": "-XX:MaxNewSize=1g"},
    # What no plan sets.
    "huge-pages": {
        "without": "-XX:-UseTransparentHugePages",
        "with": "-XX:+UseTransparentHugePages",
    },
    "pre-touch": {"without": "-XX:-AlwaysPreTouch", "with": "-XX:+AlwaysPreTouch"},
}
BASELINES = ("usual", "without")
OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("question", choices=QUESTIONS)
    parser.add_argument(
        "--jobs", default="word-count:256m,sort:100m,page-rank:5m,sql-join:16m,tpch:256m"
    )
    parser.add_argument("--master", default="local-numa", help="as of hearth lab run")
    parser.add_argument("--repeat", type=int, default=5, help="rounds of each job")
    parser.add_argument("--seed", type=int, default=1, help="of the order and of the data")
    options = parser.parse_args()
    now = f"{datetime.now(UTC):%Y-%m-%d-%H%M}"
    output = ROOT / "benchmarks" / "results" / f"{options.question}-{now}.jsonl"
    order = random.Random(options.seed)
    arms = list(QUESTIONS[options.question])
    for subject in options.jobs.split(","):
        rows: list[dict[str, Any]] = []
        one(subject, arms[0], options)
        for pair in range(options.repeat):
            for arm in order.sample(arms, len(arms)):
                row = {"subject": subject, "arm": arm, "pair": pair, **one(subject, arm, options)}
                append_line(output, row)
                print(f"{subject}, pair {pair + 1}, {arm}: {row['wall_s']:.1f} s", flush=True)
                rows.append(row)
        print("\n".join(page(rows)), flush=True)
    print(f"raw results: {output}")


def one(subject: str, arm: str, options: argparse.Namespace) -> dict[str, Any]:
    """Run a job once and return its seconds; raise RuntimeError for a failure or a wrong answer."""
    name, _, size = subject.partition(":")
    flags = QUESTIONS[options.question][arm]
    offer = catalogue.load()
    bytes_ = parse_bytes(size, "--jobs")
    case = cases.Case(offer.job(name), {}, bytes_, options.seed, dict.fromkeys(OPTIONS, flags))
    found = cases.measured(offer, case, options.master)
    if "failure" in found:
        raise RuntimeError(f"{subject}, {arm}: {found['failure']}")
    return found


def page(rows: list[dict[str, Any]]) -> list[str]:
    """Return the tables in Markdown: of each other arm against the baseline."""
    arms = sorted({row["arm"] for row in rows})
    (base,) = (arm for arm in arms if arm in BASELINES)
    tables = [arm_table(rows, arm, base) for arm in arms if arm != base]
    return [line for each in tables for line in ["", *each]][1:]


def arm_table(rows: list[dict[str, Any]], arm: str, base: str) -> list[str]:
    lines = []
    for subject in dict.fromkeys(row["subject"] for row in rows):
        some = [row for row in rows if row["subject"] == subject]
        pair = [[row for row in some if row["arm"] == each] for each in (base, arm)]
        seconds = [spread([row["wall_s"] for row in each], 1) for each in pair]
        found = [shown(ratio(some, arm, what)) for what in ("wall_s", "seconds")]
        lines.append([subject.replace(":", ", "), str(len(pair[1])), *seconds, *found])
    heads = ["Job", "Pairs", *(f"`{each}`, median s (range)" for each in (base, arm))]
    return table([*heads, f"Start to end, `{arm}` to `{base}`", "Phases"], lines)


def ratio(rows: list[dict[str, Any]], arm: str, what: str) -> Ratio:
    """Of one job, an arm to the baseline."""
    base = [row[what] for row in rows if row["arm"] in BASELINES]
    return paired_ratio([row[what] for row in rows if row["arm"] == arm], base)


def over_jobs(rows: list[dict[str, Any]], arm: str, what: str) -> Ratio:
    """Of all jobs, an arm to the baseline; each job counts once."""
    jobs = dict.fromkeys(row["subject"] for row in rows)
    return overall(
        ratio([row for row in rows if row["subject"] == job], arm, what).value for job in jobs
    )


if __name__ == "__main__":
    main()
