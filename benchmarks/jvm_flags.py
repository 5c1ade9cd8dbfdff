"""What do the JVM's flags gain that a plan sets, for the second compiler and the young generation?

    .venv/bin/python benchmarks/jvm_flags.py second-compiler
    .venv/bin/python benchmarks/jvm_flags.py young-generation --cases word-count:256m,grep:2g

`second-compiler`: C2 is asked for at HotSpot's own counts of calls and loops (`usual`), at three
times these (`planned`), and at ten times. `young-generation`: that of a parallel collector may take
a third of the heap (`usual`), or 1 GB (`planned`). Each job runs by `hearth lab run`, with heap,
collector and archive as planned.
"""

from harness import Benchmark, Turn
from results import Row, arm_table, names, ratio, runs, shown

from hearth.base.sizes import parse_bytes
from hearth.workloads import cases, catalogue

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
}
BASE = "usual"
CASES = ("word-count:256m", "sort:100m", "page-rank:5m", "sql-join:16m", "tpch:256m")
OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")


def main() -> None:
    bench = Benchmark(__doc__, page, arms=("",), cases=CASES, warm_ups=1, any_case=True)
    bench.parser.add_argument("question", choices=QUESTIONS)
    bench.parser.add_argument("--master", default="local-numa", help="as of hearth lab run")
    options = bench.parse()
    flags = QUESTIONS[options.question]
    bench.name, bench.arms = options.question, list(flags)
    bench.begin()
    offer = catalogue.load()

    def run(turn: Turn) -> Row:
        name, _, size = turn.case.partition(":")
        given = dict.fromkeys(OPTIONS, flags[turn.arm])
        case = cases.Case(offer.job(name), {}, parse_bytes(size, "--cases"), options.seed, given)
        return cases.measured(offer, case, options.master)

    bench.measure(run)
    bench.report()


def page(rows: list[Row]) -> list[str]:
    """Return the tables in Markdown."""
    lines = arm_table(rows, BASE, {"wall_s": "start to end, s", "seconds": "phases, s"}, digits=1)
    for arm in names(runs(rows), "arm"):
        if arm != BASE:
            both = [shown(ratio(rows, arm, BASE, what, "case")) for what in ("wall_s", "seconds")]
            lines += ["", f"`{arm}` to `{BASE}` over the jobs: {both[0]}, phases {both[1]}."]
    return lines


if __name__ == "__main__":
    main()
