"""Does it pay here: hearth against Spark's defaults, a careful user, and other two executors?

    .venv/bin/python benchmarks/plans.py
    .venv/bin/python benchmarks/plans.py --jobs word-count,tpch --sizes 256m --repeat 5

Arms: `defaults`, `spark-submit --master local[*]`; `tuned`, the same as guides say (below);
`tuned-archive`, that with hearth's class-data archive of plain Spark, which tells the start apart;
`submit`, `hearth submit` without an option; `informed`, with `--workload` and `--input`; two
executors of equal total heap and collector as `standalone` (a master and two workers that run
already), `local-cluster`, `unbound` and `bound` (local-numa). On more than one NUMA node also one
executor for each node, unbound and bound (`nodes-unbound`, `nodes-bound`).

`tuned`, written down before anything was measured: a heap of 75 % of the memory that may be used,
at most 31 GB (Spark's hardware guide, compressed references); ParallelGC; Kryo; three shuffle
partitions for each CPU (Spark's tuning guide: two to three tasks for each).

Answers are checked. The first repetition is each arm's first run; it is told apart from the others
(warm). `start to end` are the seconds of the whole command, `phases` those of the job inside it. Of
each job the middle of its pairs counts once, and the interval is over jobs.
"""

import shlex
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from harness import Benchmark, Turn
from results import Row, first_runs, names, of_case, pairs, ratio, runs, shown, table
from startup import standalone

from hearth import Ratio, Topology, UserError, topology
from hearth.base.sizes import parse_bytes
from hearth.machine import paths
from hearth.spark import cds
from hearth.workloads import cases, catalogue, suites

LARGEST_HEAP_MB = 31744
COLLECTOR = "-XX:+UseParallelGC"
KEY_BYTES = 8
#: What is compared: (arm, baseline).
QUESTIONS = (
    ("submit", "defaults"),
    ("submit", "tuned"),
    ("submit", "tuned-archive"),
    ("tuned", "defaults"),
    ("informed", "tuned"),
    ("unbound", "standalone"),
    ("bound", "standalone"),
    ("unbound", "local-cluster"),
    ("bound", "local-cluster"),
    ("unbound", "tuned"),
    ("bound", "tuned"),
    ("bound", "unbound"),
    ("nodes-unbound", "tuned"),
    ("nodes-bound", "tuned"),
    ("nodes-bound", "nodes-unbound"),
)

MEASURES = {"wall_s": "start to end", "seconds": "phases"}
ARMS = (
    *("defaults", "tuned", "tuned-archive", "submit", "informed"),
    *("standalone", "local-cluster", "unbound", "bound", "nodes-unbound", "nodes-bound"),
)


@dataclass(frozen=True)
class Way:
    """How an arm runs a job.

    hinted: whether `hearth submit` gets the workload and the input. archived: whether the driver
    starts from hearth's class-data archive of plain Spark, which is made where there is none.
    """

    master: str
    conf: Mapping[str, str] = field(default_factory=dict)
    hinted: bool = True
    archived: bool = False


def ways(machine: Topology, standalone: str) -> dict[str, Way]:
    """Return the arms for a machine; standalone: the master's address."""
    cpus = len(machine.usable_cpus)
    heap = heap_mb(machine)
    two = {"spark.executor.memory": f"{heap // 2}m"}
    plain = {**two, "spark.executor.extraJavaOptions": COLLECTOR}
    half = max(1, cpus // 2)
    arms = {
        "defaults": Way("local[*]"),
        "tuned": Way("local[*]", tuned(cpus, heap)),
        "tuned-archive": Way("local[*]", tuned(cpus, heap), archived=True),
        "submit": Way("local-numa", hinted=False),
        "informed": Way("local-numa"),
        "standalone": Way(standalone, plain),
        "local-cluster": Way(f"local-cluster[2,{half},{heap // 2}]", plain),
        "unbound": Way(f"local-numa[2x{half}]", {**two, "spark.hearth.binding": "off"}),
        "bound": Way(f"local-numa[2x{half}]", two),
    }
    nodes = [node for node in machine.nodes if node.cpus]
    if len(nodes) > 1:
        width = max(1, cpus // len(nodes))
        each = {"spark.executor.memory": f"{heap // len(nodes)}m"}
        shape = f"local-numa[{len(nodes)}x{width}]"
        arms["nodes-unbound"] = Way(shape, {**each, "spark.hearth.binding": "off"})
        arms["nodes-bound"] = Way(shape, each)
    return arms


def heap_mb(machine: Topology) -> int:
    """75 % of the memory that may be used, at most 31 GB."""
    total = sum(node.memory_bytes for node in machine.nodes)
    limit = machine.allowed.memory_limit_bytes or total
    return min(LARGEST_HEAP_MB, int(min(total, limit) * 0.75) >> 20)


def tuned(cpus: int, heap: int) -> dict[str, str]:
    return {
        "spark.driver.memory": f"{heap}m",
        "spark.driver.extraJavaOptions": COLLECTOR,
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.sql.shuffle.partitions": str(3 * cpus),
    }


def with_archive(conf: Mapping[str, str]) -> dict[str, str]:
    home, options = paths.spark_home(), "spark.driver.extraJavaOptions"
    flags = cds.driver_flags(home, None, make=True, debug=False)
    first = {"spark.driver.extraClassPath": cds.class_path(home, None)}
    return {**conf, **first, options: shlex.join([conf[options], *flags])}


def main() -> None:
    bench = Benchmark(__doc__, page, arms=ARMS, repeat=7, warm_ups=1)
    add = bench.parser.add_argument
    add("--jobs", metavar="A,B", help="default: the suite of all batch jobs")
    add("--sizes", metavar="A,B", help="of the input (default: 256m, 2g and the tuned heap)")
    options = bench.parse()
    machine, offer = topology(), catalogue.load()
    entries = suites.named(options.jobs, offer) if options.jobs else suites.suite("batch", offer)
    sizes = (options.sizes or f"256m,2g,{heap_mb(machine)}m").split(",")
    jobs = {
        f"{e.label} {size}": (e, parse_bytes(size, "--sizes")) for size in sizes for e in entries
    }
    bench.cases = list(jobs)
    bench.begin()
    with ExitStack() as running:
        url = ""
        if "standalone" in bench.arms:
            half = max(1, len(machine.usable_cpus) // 2)
            url = running.enter_context(standalone(half, f"{heap_mb(machine) // 2 + 512}m"))
        arms = ways(machine, url)
        bench.arms = [arm for arm in bench.arms if arm in arms]

        def run(turn: Turn) -> Row:
            entry, size = jobs[turn.case]
            return one(offer, entry, size, arms[turn.arm], options.seed)

        bench.measure(run)
    bench.report()


def one(
    offer: catalogue.Catalogue, entry: suites.SuiteEntry, size: int, way: Way, seed: int
) -> Row:
    """Run a case and return its seconds, or why it failed; a wrong answer is a failure."""
    parameters = entry.parameters | pairs_of(entry, size)
    conf = with_archive(way.conf) if way.archived else dict(way.conf)
    case = cases.Case(entry.job, parameters, size, seed, conf)
    return cases.measured(offer, case, way.master, hinted=way.hinted)


def pairs_of(entry: suites.SuiteEntry, size: int) -> dict[str, str]:
    """Return the number of pairs for a size, where a job makes its own in memory."""
    defaults = {parameter.name: parameter.default for parameter in entry.job.parameters}
    if entry.job.inputs or not {"pairs", "maps", "value-bytes"} <= defaults.keys():
        return {}
    maps, value = (int({**defaults, **entry.parameters}[n]) for n in ("maps", "value-bytes"))
    return {"pairs": str(size // (maps * (value + KEY_BYTES)))}


def page(rows: list[Row]) -> list[str]:
    """Return the tables in Markdown: of all jobs together, and of each."""
    kinds = {"warm": runs(rows), "first": first_runs(rows)}
    return [*overview(kinds), "", *job_table(kinds["warm"])]


def overview(kinds: Mapping[str, Sequence[Row]]) -> list[str]:
    """Return for each question the ratio over all jobs, of each kind of runs."""
    lines = []
    for arm, base in QUESTIONS:
        ratios = [over_jobs(some, arm, base, what) for what in MEASURES for some in kinds.values()]
        if any(ratios):
            jobs = {
                row["case"]
                for some in kinds.values()
                for row, _ in pairs(some, arm, base, "wall_s")
            }
            number = sum(len(pairs(some, arm, base, "wall_s")) for some in kinds.values())
            lines.append([f"`{arm}`", f"`{base}`", f"{len(jobs)} ({number})", *map(shown, ratios)])
    titles = [f"{title}, {kind}" for title in MEASURES.values() for kind in kinds]
    return table(["Arm", "Baseline", "Jobs (pairs)", *titles], lines)


def job_table(rows: Sequence[Row]) -> list[str]:
    """Return for each job the ratios of its pairs, start to end and in brackets the phases."""
    questions = [question for question in QUESTIONS if ratio(rows, *question, "wall_s")]

    def cell(job: str, arm: str, base: str) -> str:
        both = [ratio(of_case(rows, job), arm, base, what) for what in MEASURES]
        return f"{both[0].value:.2f} ({both[1].value:.2f})" if both[0] and both[1] else "-"

    heads = ["Job", *(f"`{arm}` to `{base}`" for arm, base in questions)]
    jobs = sorted(names(rows, "case"))
    return table(heads, [[job, *(cell(job, *one) for one in questions)] for job in jobs])


def over_jobs(rows: Iterable[Row], arm: str, base: str, what: str) -> Ratio | None:
    return ratio(rows, arm, base, what, over="case")


def long_jobs(rows: Sequence[Row], base: str, limit_s: float) -> list[Row]:
    """Return the runs of the jobs whose phases take so long with the baseline (median, warm)."""
    seconds: dict[str, list[float]] = {}
    for row in runs(rows):
        if row["arm"] == base:
            seconds.setdefault(row["case"], []).append(row["seconds"])
    long = {job for job, each in seconds.items() if statistics.median(each) >= limit_s}
    return [row for row in rows if row.get("case") in long]


def start_share(rows: Sequence[Row], arm: str, base: str) -> float:
    """Return the share of the seconds that an arm saves, warm, that is start and end, not phases.

    The mean over the pairs of a job counts once.
    """
    saved: dict[str, float] = {}
    for what in MEASURES:
        jobs: dict[str, list[float]] = {}
        for row, value in pairs(rows, arm, base, what):
            jobs.setdefault(row["case"], []).append(row[what] / value - row[what])
        saved[what] = sum(statistics.fmean(each) for each in jobs.values())
    return 1 - saved["seconds"] / saved["wall_s"]


if __name__ == "__main__":
    try:
        main()
    except UserError as problem:
        sys.exit(f"plans: {problem}")
