"""What does one setting gain, of Spark's or of the JVM's, beside what a plan sets?

    .venv/bin/python benchmarks/one_setting.py each --cases tpch:256m
    .venv/bin/python benchmarks/one_setting.py second-compiler
    .venv/bin/python benchmarks/one_setting.py young-generation --cases word-count:256m,grep:2g

`each`: one arm for each setting that was argued for and that plans do not have; `--settings`
chooses. All arms have a flag of the user's, as one with flags starts without an archive.
`second-compiler`: C2 is asked for at HotSpot's own counts of calls and loops (`usual`), at three
times these (`planned`), and at ten times. `young-generation`: that of a parallel collector may take
a third of the heap (`usual`), or 1 GB (`planned`). Each job runs by `hearth lab run`, with heap,
collector and archive as planned.
"""

from harness import Benchmark, Turn, children_cpu_s
from results import Row, arm_table, names, ratio, runs, shown

from hearth.base.sizes import parse_bytes
from hearth.workloads import cases, catalogue

OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")
SHUFFLED = ("spark.shuffle.compress", "spark.shuffle.spill.compress")
Settings = dict[str, str]


def flags(*words: str) -> Settings:
    """Return settings that give JVM flags to driver and executors."""
    return dict.fromkeys(OPTIONS, " ".join(f"-XX:{word}" for word in words))


#: What the JVM does anyway.
NO_CHANGE = flags("-UseTransparentHugePages")


def second_compiler(times: int) -> Settings:
    """Return C2's counts, so many times HotSpot's own."""
    counts = {"Invocation": 5000, "MinInvocation": 600, "Compile": 15000, "BackEdge": 40000}
    return flags(*(f"Tier4{name}Threshold={count * times}" for name, count in counts.items()))


#: Of each question its arms, the first of them the baseline.
QUESTIONS: dict[str, dict[str, Settings]] = {
    "second-compiler": {
        "usual": second_compiler(1),
        "planned": second_compiler(3),
        "ten times": second_compiler(10),
    },
    "young-generation": {"usual": flags("NewRatio=2"), "planned": flags("MaxNewSize=1g")},
    "each": {
        "usual": NO_CHANGE,
        "huge pages": flags("+UseTransparentHugePages"),
        "pre-touch": flags("+AlwaysPreTouch"),
        "first compiler only": flags("TieredStopAtLevel=1"),
        "second compiler late": second_compiler(10),
        "metaspace of 256 MB": flags("MetaspaceSize=256m"),
        "no perf data": flags("-UsePerfData"),
        "all code to the second compiler": flags("CompileCommand=quiet"),
        "pages of 1 MB": {"spark.buffer.pageSize": "1m"},
        "pages of 64 MB": {"spark.buffer.pageSize": "64m"},
        "plain shuffle": dict.fromkeys(SHUFFLED, "false"),
        "plain broadcast": {"spark.broadcast.compress": "false"},
        "no checksums": {"spark.shuffle.checksum.enabled": "false"},
        "large buffers": {
            "spark.shuffle.file.buffer": "1m",
            "spark.io.compression.lz4.blockSize": "256k",
        },
        "a slow page": {"spark.ui.liveUpdate.period": "2s"},
        "zstd": {"spark.io.compression.codec": "zstd"},
        "columns off heap": {"spark.sql.columnVector.offheap.enabled": "true"},
        "no vectored reads": {"spark.hadoop.parquet.hadoop.vectored.io.enabled": "false"},
        "no runtime filters": {"spark.sql.optimizer.runtime.bloomFilter.enabled": "false"},
        "huge methods": {"spark.sql.codegen.hugeMethodLimit": "8000"},
        "many fields": {"spark.sql.codegen.maxFields": "400"},
        "one map": {"spark.sql.codegen.aggregate.map.twolevel.enabled": "false"},
        "fewer tasks": {"spark.sql.adaptive.coalescePartitions.parallelismFirst": "false"},
    },
}  # fmt: skip
BASE = "usual"
CASES = ("word-count:256m", "sort:100m", "page-rank:5m", "sql-join:16m", "tpch:256m")


def main() -> None:
    bench = Benchmark(__doc__, page, arms=("",), cases=CASES, warm_ups=0, any_case=True)
    bench.parser.add_argument("question", choices=QUESTIONS)
    bench.parser.add_argument("--settings", help="the arms beside the baseline, with commas")
    bench.parser.add_argument("--master", default="local-numa", help="as of hearth lab run")
    options = bench.parse()
    arms = QUESTIONS[options.question]
    bench.name = options.question if options.question != "each" else "one-setting"
    bench.arms = [BASE, *options.settings.split(",")] if options.settings else list(arms)
    bench.begin()
    offer = catalogue.load()

    def run(turn: Turn) -> Row:
        name, _, size = turn.case.partition(":")
        bytes_ = parse_bytes(size, "--cases")
        given = {**NO_CHANGE, **arms[turn.arm]}
        case = cases.Case(offer.job(name), {}, bytes_, options.seed, given)
        cpu_s = children_cpu_s()
        row = cases.measured(offer, case, options.master)
        return {**row, "cpu_s": round(children_cpu_s() - cpu_s, 2)}

    bench.measure(run)
    bench.report()


def page(rows: list[Row]) -> list[str]:
    """Return the tables in Markdown."""
    titles = {"wall_s": "start to end, s", "seconds": "phases, s", "cpu_s": "CPU s"}
    measures = {what: title for what, title in titles.items() if what in runs(rows)[0]}
    lines = arm_table(rows, BASE, measures, digits=1)
    for arm in names(runs(rows), "arm"):
        if arm != BASE:
            by = {what: shown(ratio(rows, arm, BASE, what, "case")) for what in measures}
            each = ", ".join(f"{titles[what]} {value}" for what, value in by.items())
            lines += ["", f"`{arm}` to `{BASE}` over the jobs: {each}."]
    return lines


if __name__ == "__main__":
    main()
