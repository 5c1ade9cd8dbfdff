"""Write the figures of the documents from their raw results.

    .venv/bin/python benchmarks/claims.py            # README and docs/
    .venv/bin/python benchmarks/claims.py figures    # print figures.md with its tables

Each document has blocks between `<!-- figures: NAME -->` and `<!-- end -->`; BLOCKS says what is in
each, and from which raw results. In figures.md, which has most of them, they stay empty: its tables
are made when they are read, here and by `make docs`. tests/test_figures.py fails where a document
holds anything else, and where a figure stands outside of a block. To publish a figure: add its raw
results, name a block here, and run this.
"""

import argparse
import importlib
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import coverage
import engines
import hadoop_rpc
import plans
import shuffle
import startup
from harness import ROOT
from results import (
    Row,
    all_runs,
    first_runs,
    loads,
    names,
    of_case,
    pairs,
    ratio,
    read,
    runs,
    shown,
    table,
)

import traffic
from hearth import Ratio, paired_ratio

FIGURES = "benchmarks/figures.md"
BLOCK = re.compile(r"(<!-- figures: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """What a program's `page`, or another function, makes of raw results.

    raw: their names; none where the block itself gathers figures of others.
    """

    make: Callable[[list[Row]], list[str]]
    raw: tuple[str, ...] = ()
    program: str = ""

    @property
    def lines(self) -> list[str]:
        """Return the lines, and below them where they come from."""
        rows = read(*self.raw)
        if not self.raw:
            return self.make(rows)
        place = ", ".join(f"`results/{name}.jsonl`" for name in self.raw)
        load = loads(rows)
        source = f"Raw: {place}{f'; {load}' if load else ''}."
        return [*self.make(rows), "", *textwrap.wrap(source, 120, break_on_hyphens=False)]


def page_of(program: str, *raw: str) -> Block:
    """Return the block of a program's page."""
    return Block(lambda rows: importlib.import_module(program).page(rows), raw, program)


BATCH = ("plans-2026-12-01-1558", "plans-2026-11-28-1809")
SIXTEEN = ("plans-2026-11-26-0428", "plans-2026-11-26-0437")
TPCH = "query-partitions-2026-12-01-1143"
TPCH_CLASSES = "query-partitions-2026-11-28-1419"
TPCH_SIXTEEN = "query-partitions-2026-11-27-0324"
PYTHON = "query-partitions-2026-11-29-0214"
STARTUP = "startup-2026-12-01-1256"
DUCKDB = "engines-2026-11-24-0406"
WARM = ("warm-2026-11-30-0614", "warm-2026-11-30-0616")
SHUFFLES = {2: "shuffle-2026-11-25-1828", 16: "shuffle-2026-11-26-0452"}
CALLS = {2: "hadoop-rpc-2026-11-24-0508", 16: "hadoop-rpc-2026-11-26-0447"}
WIDTH = "width-2026-12-01-1344"
TAILS = "hand-over-2026-11-23-2208"
MISSES = "traffic-2026-11-27-0747"
COVERAGE = "coverage-2026-11-30-0931"
#: The seconds of the phases, of jobs in which they are so many.
LONG, LONG_S = "long", 15.0


def of(rows: list[Row], base: str, what: str = "wall_s", over: str = "") -> str:
    """Return the time of `hearth submit` to another arm's; of two runs each, where there are no
    more.
    """
    values = [value for _, value in pairs(rows, "submit", base, what)]
    if len(values) == 2 and not over:
        return " and ".join(f"{value:.2f}" for value in sorted(values))
    return shown(ratio(rows, "submit", base, what, over))


def first_screen(_: list[Row]) -> list[str]:
    """Return README's table."""
    batch, tpch = read(*BATCH), runs(read(TPCH))
    queries = [{**row, "case": "", "seconds": row["first_s"] + row["later_s"]} for row in tpch]
    archive = of(runs(batch), "tuned-archive", over="case")
    share = 100 * plans.start_share(queries, "submit", "careful")
    start = read(STARTUP)
    two = f"hearth submit {startup.NUMA}"
    lines = [
        [
            "17 batch jobs",
            of(batch, "tuned", over="case"),
            of(batch, "defaults", over="case"),
            f"start-up; with hearth's archive in both {archive}",
        ],
        [
            "TPC-H at scale 1",
            of(tpch, "careful"),
            of(tpch, "defaults"),
            f"{share:.0f} % of it is start-up; queries {of(queries, 'careful', 'seconds')}",
        ],
        [
            "two bound executors, to the first task",
            "-",
            shown(startup.against(start, two, startup.LOCAL)),
            f"a loss; {shown(startup.against(start, two, startup.CLUSTER))} of `local-cluster`",
        ],
        [
            "DuckDB, on TPC-H at scale 1",
            "-",
            "-",
            f"`hearth submit` takes {shown(engines.times(read(DUCKDB)), 0)} times as long",
        ],
    ]
    return table(["", "well-tuned Spark", "Spark's defaults", "what speaks against it"], lines)


def pays(_: list[Row]) -> list[str]:
    """Return the table of docs/paying.md: `hearth submit` to what it is held against."""
    batch, start, every = read(*BATCH), read(STARTUP), all_runs(read(*SIXTEEN))
    warm, first = runs(batch), first_runs(batch)
    tuned, careful, archive = ("tuned", "defaults"), ("careful", "defaults"), ("tuned-archive", "")
    (least, of_least), (with_archive, of_archive) = (
        least_gain(warm, base) for base in ("tuned", "tuned-archive")
    )
    cases = (
        ("17 batch jobs, warm", warm, tuned, "wall_s", "case"),
        ("the same, first runs", first, tuned, "wall_s", "case"),
        (
            "the same, warm, with hearth's class-data archive in both",
            warm,
            archive,
            "wall_s",
            "case",
        ),
        ("phases alone of jobs whose phases take 15 s and more, warm", warm, tuned, LONG, "case"),
        (f"the job that gains least, warm: {least}", of_least, tuned, "wall_s", ""),
        (f"the same with the archive in both: {with_archive}", of_archive, archive, "wall_s", ""),
        ("TPC-H at scale 1, all queries twice", read(TPCH), careful, "wall_s", ""),
        ("the same, on 16 CPUs", read(TPCH_SIXTEEN), careful, "wall_s", ""),
        (
            "functions in Python, with a rule for joins removed since",
            read(PYTHON),
            careful,
            "wall_s",
            "",
        ),
        ("three jobs on 2 GB on 16 CPUs, two bound executors", every, tuned, "wall_s", "case"),
        ("the same, phases alone: a loss", every, tuned, "seconds", "case"),
    )
    lines = []
    for title, rows, bases, what, over in cases:
        cells, counts = [], []
        for base in bases:
            some = plans.long_jobs(rows, base, LONG_S) if what == LONG else rows
            key = "seconds" if what == LONG else what
            cells.append(of(some, base, key, over))
            counts.append(str(len(pairs(some, "submit", base, key)) or "-"))
        lines.append([title, *cells, ", ".join(counts)])
    shares = [f"{100 * plans.start_share(warm, 'submit', base):.0f} %" for base in tuned]
    lines.append(["of the seconds that batch jobs save, warm: start and end of Spark", *shares, ""])
    for title, arm in (
        ("from submit to the first task", "hearth submit"),
        ("the same, two bound executors: a loss", f"hearth submit {startup.NUMA}"),
    ):
        number = len(pairs(start, arm, startup.LOCAL, "seconds"))
        ends = shown(startup.against(start, arm, startup.LOCAL))
        lines.append([title, "-", ends, f"-, {number}"])
    heads = ["Time of `hearth submit`", "to careful settings", "to Spark's defaults", "Pairs"]
    return table(heads, lines)


def least_gain(rows: list[Row], base: str) -> tuple[str, list[Row]]:
    """Return the job whose time is highest compared with another arm's, and its runs."""
    jobs = [(job, of_case(rows, job)) for job in names(rows, "case")]
    return max(jobs, key=lambda job: pairs(job[1], "submit", base, "wall_s")[0][1])


def sixteen(rows: list[Row]) -> list[str]:
    """Return the tables of two executors on 16 CPUs, of first and warm runs together."""
    every = all_runs(rows)
    return [*plans.overview({"first and warm": every}), "", *plans.job_table(every)]


def others(_: list[Row]) -> list[str]:
    """Return the table of docs/paying.md of what is no `hearth submit`."""

    def wire(cpus: int, blocks: str, arm: str) -> str:
        some = of_case(read(SHUFFLES[cpus]), blocks)
        return shown(ratio(some, arm, shuffle.NETTY, "seconds", "start"))

    def call(cpus: int, case: str, what: str) -> str:
        some = of_case(hadoop_rpc.by_size(read(CALLS[cpus])), case)
        return shown(ratio(some, "event", hadoop_rpc.HADOOP, what))

    tails = of_case(read(TAILS), "native"), of_case(read(TAILS), "allocate")
    misses = {row["arm"]: f"{100 * traffic.remote_share(row):.1f} %" for row in read(MISSES)}
    lines = [
        ["idle CPUs lent in the tail of a stage: a task of two threads",
         shown(ratio(tails[0], "tail", "off", "seconds")), "-"],
        ["the same: a task of one thread", shown(ratio(tails[1], "tail", "off", "seconds")), "-"],
        *(
            [f"Spark's shuffle over the wire ({arm}), blocks of {shuffle.BLOCKS[blocks]}: time",
             *(wire(cpus, blocks, arm) for cpus in (2, 16))]
            for blocks in shuffle.BLOCKS for arm in ("ucx", "tcp")
        ),
        ["Hadoop's RPC: time of a call of 1 B", *(call(cpus, "1 B", "p50_us") for cpus in (2, 16))],
        ["Hadoop's RPC: calls a second of 64 threads (above 1 is better)",
         *(call(cpus, hadoop_rpc.CROWD, "per_s") for cpus in (2, 16))],
        *(
            [f"cache misses that go to another node, counted in an emulated machine: {title}",
             misses[arm], "-"]
            for arm, title in (
                ("one-jvm", "one JVM"), ("unbound", "unbound executors"),
                ("unbound-balanced", "the same with NUMA balancing"), ("bound", "bound executors"),
            )
        ),
    ]  # fmt: skip
    return table(["To what Spark and Hadoop do by themselves", "2 CPUs", "16 CPUs"], lines)


def wrong_verdicts(rows: list[Row]) -> list[str]:
    """Return the table of docs/measuring.md: how often verdicts and warnings are wrong."""

    def share(what: str, noise: str, pairs_: int, which: str) -> str:
        place = (what, noise, pairs_)
        (value,) = [
            row[which] for row in rows if (row["what"], row.get("noise"), row.get("pairs")) == place
        ]
        return f"{100 * value:.0f} %"

    def most(key: str, some: list[Row]) -> str:
        return f"{100 * max(row[key] for row in some):.1f} %"

    rows = [row for row in rows if "what" in row]
    one = [row for row in rows if row["what"] == "one arm"]
    helped = [row for row in one if row["noise"] in coverage.NOISES]
    looked, first = (
        [row for row in rows if row["what"] == what] for what in ("sequential", "first answer")
    )
    own = [row for row in one if row["noise"] == "own state"]
    widths = [share("one arm", "normal", pairs_, "half_width") for pairs_ in (5, 10)]
    warned: list[tuple[str, str, int, str]] = [
        ("a first repetition 25 % slower is found, with 5 pairs", "slow first", 5, "slow-first"),
        ("one run that takes 50 % longer is found, with 7", "one outlier", 7, "outlier"),
        ("the same with 10", "one outlier", 10, "outlier"),
        ("two groups of times are found, with 7", "two groups", 7, "two-groups"),
        ("the same with 10", "two groups", 10, "two-groups"),
        ("an arm's own slow state is found, with 10", "own state", 10, "own-state"),
        ("the same with 20", "own state", 20, "own-state"),
    ]
    lines = [
        ["equal arms called faster or slower, at most", most("false", helped)],
        ["the same where it stops at 3, 5 or 8 pairs", most("verdict", first)],
        ["the same with `--until-certain`", most("verdict", looked)],
        ["the same where arms have a slow state of their own", most("false", own)],
        ["interval to either side after 5 repetitions, runs that scatter by 5 %", widths[0]],
        ["after 10", widths[1]],
        *([title, share("warnings", noise, pairs_, kind)] for title, noise, pairs_, kind in warned),
    ]
    return table(["Simulated", ""], lines)


def tunes(documents: list[Row]) -> list[str]:
    """Return each tune, and the comparison that followed it."""
    lines = []
    for tune, comparison in zip(documents[::2], documents[1::2], strict=True):
        saving = tune["best"]["saving"]
        expected = Ratio(1 - saving["value"], (1 - saving["high"], 1 - saving["low"]))
        base, each = comparison["arms"][0]["seconds"], comparison["confidence_each"]
        measured = {
            arm["name"]: paired_ratio(arm["seconds"], base, each) for arm in comparison["arms"][1:]
        }
        best = "the plan" if tune["best"]["is_proposal"] else "the plan with 6 shuffle partitions"
        cells = [tune["application"], str(len(tune["trials"])), best, shown(expected)]
        lines.append([*cells, *(shown(measured[arm]) for arm in ("tuned", "plan"))])
    heads = ["Job", "Trials", "Found", "Expected of `local[*]` (90 %)"]
    return table([*heads, "Measured: tuned", "Measured: the plan"], lines)


def programs(_: list[Row]) -> list[str]:
    """Return a line for each program: what it asks, how it is run, where its figures are."""
    lines = []
    for name in sorted({block.program for block in BLOCKS.values()} - {""}):
        question, _blank, rest = str(importlib.import_module(name).__doc__).partition("\n\n")
        command = rest.strip().splitlines()[0].removeprefix(".venv/bin/")
        lines.append([one_line(question), f"`{command}`", section_of(name)])
    return table(["Question", "Command", "Result"], lines)


def section_of(program: str) -> str:
    """Return a link to the section of the page of figures that has a program's first block."""
    text = (ROOT / FIGURES).read_text(encoding="utf-8")
    names = {name for name, block in BLOCKS.items() if block.program == program}
    first = min(match.start() for match in BLOCK.finditer(text) if match[2] in names)
    title = re.findall(r"^## (.*)$", text[:first], re.MULTILINE)[-1]
    slug = re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
    return f"[{title}](figures.md#{slug})"


def one_line(text: str) -> str:
    return " ".join(text.split())


BLOCKS = {
    "first-screen": Block(first_screen),
    "pays": Block(pays),
    "others": Block(others),
    "wrong-verdicts": Block(lambda _: wrong_verdicts(read(COVERAGE))),
    "programs": Block(programs),
    "startup": page_of("startup", STARTUP),
    "warm": page_of("warm", *WARM),
    "cpu-parts": page_of("cpu_parts", "cpu-parts-2026-11-30-2322"),
    "one-setting": page_of("one_setting", "one-setting-2026-11-30-2258"),
    "one-setting-each": page_of("one_setting", "one-setting-2026-12-01-1226"),
    "one-setting-again": page_of("one_setting", "one-setting-2026-12-01-1241"),
    "second-compiler": page_of("one_setting", "second-compiler-2026-11-28-1309"),
    "young-generation": page_of("one_setting", "young-generation-2026-11-25-2322"),
    "batch": page_of("plans", *BATCH),
    "two-executors": page_of("plans", "plans-2026-11-25-1223", "plans-2026-11-25-1900"),
    "sixteen": Block(sixteen, SIXTEEN, "plans"),
    "tpch": page_of("query_partitions", TPCH),
    "tpch-kept": page_of("query_partitions", TPCH_CLASSES),
    "tpch-sixteen": page_of("query_partitions", TPCH_SIXTEEN),
    "python": page_of("query_partitions", PYTHON),
    "one-file": page_of("one_file", "one-file-2026-11-27-2051"),
    "engines": page_of("engines", DUCKDB),
    "tails": page_of("hand_over", TAILS),
    "tail-of-a-job": page_of("hand_over", "hand-over-2026-11-25-0105"),
    "width": page_of("width", WIDTH),
    "traffic": page_of("traffic", MISSES),
    "duet": page_of("duet", "duet-2026-11-22-1337", "duet-2026-11-22-1412"),
    "duet-control": page_of("duet", "duet-control-2026-11-22-0832"),
    "coverage": page_of("coverage", COVERAGE),
    "prediction": page_of("prediction", "prediction-2026-11-23-0737"),
    "placement": page_of("placement_prediction", "placement-prediction-2026-11-23-1646"),
    "tunes": Block(tunes, ("tunes-2026-11-24-0346",)),
    "colocation": page_of("colocation", "colocation-2026-11-25-0115"),
    "shuffle-2": page_of("shuffle", SHUFFLES[2]),
    "shuffle-16": page_of("shuffle", SHUFFLES[16]),
    "hadoop-2": page_of("hadoop_rpc", CALLS[2]),
    "hadoop-16": page_of("hadoop_rpc", CALLS[16]),
    "affinity-cost": page_of("affinity_cost", "affinity-cost-2026-11-27-1914"),
    "rpc-latency": page_of("rpc_latency", "rpc-latency-2026-11-27-1920"),
    "dfsio": page_of("dfsio", "dfsio-2026-11-27-2040"),
}


def documents() -> list[Path]:
    """Return the documents that hold their blocks: all but the page of figures."""
    pages = [page for pattern in ("*.md", "docs/**/*.md") for page in sorted(ROOT.glob(pattern))]
    return [*pages, ROOT / "benchmarks" / "README.md"]


def written(text: str) -> str:
    """Return a document with what its blocks are to hold."""
    return BLOCK.sub(lambda found: block(found[1], found[2]) + found[4], text)


def block(head: str, name: str) -> str:
    return "\n".join([head, *BLOCKS[name].lines, "\n"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("page", nargs="?", choices=("figures",), help="print this one instead")
    if parser.parse_args().page:
        print(written((ROOT / FIGURES).read_text(encoding="utf-8")), end="")
        return
    for document in documents():
        text = document.read_text(encoding="utf-8")
        if (new := written(text)) != text:
            document.write_text(new, encoding="utf-8")
            print(f"wrote {document.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
