"""Does it pay here: hearth against Spark's defaults, a careful user, and other two executors.

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

Every repetition runs each job at each size under each arm once, in random order (seeded). Answers
are checked. The first repetition is each arm's first run (`first`); it does not count among the
others (`warm`). Each run is added to the results file as it ends: give the same --out to go on
after a kill. `start to end` are the seconds of the whole command, `phases` those of the job
inside it. Of each job the middle of its paired ratios counts once; the middle of these and its
interval over jobs: geometric mean and Student's t for up to eight jobs, the estimate of Hodges and
Lehmann and signed ranks from nine jobs on.
"""

import argparse
import os
import platform
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from results import loads, overall, shown, table

from hearth import Ratio, Topology, UserError, paired_ratio, topology
from hearth.base.processes import die_with
from hearth.base.sizes import parse_bytes
from hearth.machine import paths
from hearth.spark import cds
from hearth.studies.engine.schedule import Repetitions, StudyDesign, conduct
from hearth.studies.engine.store import Journal
from hearth.studies.engine.trial import Trial, Turn
from hearth.workloads import cases, catalogue, suites

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = "hearth/plans-benchmark/1"
LARGEST_HEAP_MB = 31744
COLLECTOR = "-XX:+UseParallelGC"
KEY_BYTES = 8
LIMIT_S = 120
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


#: Title, measure, whether warm (None: all runs).
Measure = tuple[str, str, bool | None]
MEASURES: tuple[Measure, ...] = (
    ("start to end, warm", "wall_s", True),
    ("start to end, first", "wall_s", False),
    ("phases, warm", "seconds", True),
    ("phases, first", "seconds", False),
)
ALL_RUNS: tuple[Measure, ...] = (
    ("start to end, first and warm", "wall_s", None),
    ("phases, first and warm", "seconds", None),
)
ORDER = (
    *("defaults", "tuned", "tuned-archive", "submit", "informed"),
    *("standalone", "local-cluster", "unbound", "bound", "nodes-unbound", "nodes-bound"),
)


@dataclass(frozen=True)
class Way:
    """How an arm runs a job. hinted: whether `hearth submit` gets the workload and the input."""

    master: str
    conf: Mapping[str, str] = field(default_factory=dict)
    hinted: bool = True


class Run(TypedDict):
    """A line of the results, after the first."""

    subject: str
    arm: str
    repetition: int
    load: float
    series: NotRequired[str]
    seconds: NotRequired[float]
    wall_s: NotRequired[float]
    answer: NotRequired[str]
    failure: NotRequired[str]


class Head(TypedDict):
    """The first line of the results."""

    schema: str
    machine: dict[str, Any]
    ways: dict[str, Any]


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
        "tuned-archive": Way("local[*]", with_archive(tuned(cpus, heap))),
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", metavar="A,B", help="default: the suite of all batch jobs")
    parser.add_argument(
        "--sizes", metavar="A,B", help="of the input (default: 256m, 2g and the tuned heap)"
    )
    parser.add_argument("--arms", metavar="A,B", help="default: all that the machine can run")
    parser.add_argument("--repeat", type=int, default=7, help="repetitions after the first runs")
    parser.add_argument("--seed", type=int, default=1, help="of the order and of the data")
    parser.add_argument("--out", type=Path, help="results file, to begin or to go on with")
    options = parser.parse_args()
    name = f"plans-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
    out = options.out or ROOT / "benchmarks" / "results" / name
    machine = topology()
    with standalone(machine) as master:
        runs = measured(options, machine, ways(machine, master), out)
    print("\n".join(page(runs)))
    print(f"\nRaw results: {out}")


def measured(
    options: argparse.Namespace, machine: Topology, arms: dict[str, Way], out: Path
) -> list[Run]:
    """Make the runs that the file lacks; return all of them, in the order of time."""
    offer = catalogue.load()
    entries = suites.named(options.jobs, offer) if options.jobs else suites.suite("batch", offer)
    texts = (options.sizes or f"256m,2g,{heap_mb(machine)}m").split(",")
    sizes = {text: parse_bytes(text, "--sizes") for text in texts}
    chosen = options.arms.split(",") if options.arms else list(arms)
    for arm in chosen:
        if arm not in arms:
            raise UserError(f"--arms: '{arm}' is not an arm here: use {', '.join(arms)}")
    subjects = {f"{e.label} {text}": (e, sizes[text]) for text in sizes for e in entries}
    journal = Journal(out)
    runs = begun(journal, {"schema": SCHEMA, "machine": facts(machine), "ways": _plain(arms)})

    def run(turn: Turn) -> Trial:
        entry, size = subjects[turn.subject]
        line = one(offer, entry, size, arms[turn.arm], options.seed)
        row = {"subject": turn.subject, "arm": turn.arm, "repetition": turn.repetition, **line}
        journal.keep(row)
        runs.append(row)  # type: ignore[arg-type]
        trial = trial_of(row)
        print(f"{turn.subject}: {trial.shown}", flush=True)
        return trial

    design = StudyDesign(dict.fromkeys(subjects, chosen), options.repeat, 1, options.seed)
    conduct(Repetitions(design), run, lambda _: None, earlier=[trial_of(row) for row in runs])
    return runs


def begun(journal: Journal, head: dict[str, Any]) -> list[Run]:
    """Return the runs of a file that exists; raise UserError for another machine or other arms."""
    if not journal.file.exists():
        journal.begin(head)
        return []
    journal.cut_torn_line()
    found = journal.head(Head)
    for what in ("schema", "machine", "ways"):
        if found[what] != head[what]:
            raise UserError(f"--out: '{journal.file}' has another {what}: give another file")
    return journal.read(Run, first=2)


def one(
    offer: catalogue.Catalogue, entry: suites.SuiteEntry, size: int, way: Way, seed: int
) -> dict[str, Any]:
    """Run a case and return its seconds, or why it failed; a wrong answer is a failure."""
    parameters = entry.parameters | pairs_of(entry, size)
    case = cases.Case(entry.job, parameters, size, seed, dict(way.conf))
    load = {"load": round(os.getloadavg()[0], 2)}
    return load | cases.measured(offer, case, way.master, hinted=way.hinted)


def pairs_of(entry: suites.SuiteEntry, size: int) -> dict[str, str]:
    """Return the number of pairs for a size, where a job makes its own in memory."""
    defaults = {parameter.name: parameter.default for parameter in entry.job.parameters}
    if entry.job.inputs or not {"pairs", "maps", "value-bytes"} <= defaults.keys():
        return {}
    maps, value = (int({**defaults, **entry.parameters}[n]) for n in ("maps", "value-bytes"))
    return {"pairs": str(size // (maps * (value + KEY_BYTES)))}


def trial_of(row: Mapping[str, Any]) -> Trial:
    """Return a row of the results as a trial: its seconds from start to end."""
    turn = Turn(row["subject"], row["arm"], row["repetition"])
    return Trial(turn, seconds=row.get("wall_s"), failure=row.get("failure"))


def _plain(arms: dict[str, Way]) -> dict[str, Any]:
    """Return the arms as the results file holds them, without a port or a path of this machine."""
    return {
        name: {
            "master": "spark://..." if name == "standalone" else way.master,
            "conf": {key: re.sub(r"/[^\s':]+", "...", value) for key, value in way.conf.items()},
            "hinted": way.hinted,
        }
        for name, way in arms.items()
    }


def facts(machine: Topology) -> dict[str, Any]:
    return {
        "architecture": platform.machine(),
        "kernel": platform.release(),
        "cpus": machine.allowed.cpus,
        "nodes": len(machine.nodes),
        "memory_gb": sum(node.memory_bytes for node in machine.nodes) >> 30,
    }


def page(runs: Sequence[Run]) -> list[str]:
    """Return the tables in Markdown, and what failed."""
    rows = [run for run in runs if "subject" in run]
    failures = [f"- {r['subject']}, `{r['arm']}`: {r['failure']}" for r in rows if "failure" in r]
    lines = [f"Load average {loads(rows)} at the start of the runs.", "", *overview(rows), ""]
    lines += [*job_table(rows), "", *seconds_table(rows)]
    return [*lines, *(["", *failures] if failures else [])]


def overview(runs: Sequence[Run], measures: Sequence[Measure] = MEASURES) -> list[str]:
    """Of each question the ratio over all jobs, and below the table the jobs that lose."""
    lines, losses = [], []
    for arm, base in QUESTIONS:
        for title, measure, warm in measures:
            ratios, pairs = by_job(runs, arm, base, measure, warm)
            if ratios:
                cells = [f"`{arm}`", f"`{base}`", title, str(len(ratios)), str(pairs)]
                worse = _losses(ratios)
                lines.append([*cells, shown(over_jobs(ratios)), str(len(worse))])
                losses += [f"- `{arm}` to `{base}`, {title}: {', '.join(worse)}"] if worse else []
    heads = ["Arm", "Baseline", "Measure", "Jobs", "Pairs", "Ratio, 95 % interval", "Jobs above 1"]
    wrapped = textwrap.TextWrapper(120, subsequent_indent="  ", break_on_hyphens=False)
    named = [wrapped.fill(loss) for loss in losses]
    return [*table(heads, lines), *(["", "Jobs above 1:", "", *named] if named else [])]


def job_table(runs: Sequence[Run], warm: bool | None = True) -> list[str]:
    """Of each job the ratios of its pairs, start to end and in brackets the phases."""
    asked = [question for question in QUESTIONS if by_job(runs, *question, "wall_s", warm)[0]]
    jobs = list(dict.fromkeys(run["subject"] for run in runs))
    cells = {
        (question, measure): by_job(runs, *question, measure, warm)[0]
        for question in asked
        for measure in ("wall_s", "seconds")
    }

    def cell(job: str, question: tuple[str, str]) -> str:
        both = [cells[question, measure].get(job) for measure in ("wall_s", "seconds")]
        return f"{both[0].value:.2f} ({both[1].value:.2f})" if both[0] and both[1] else "-"

    heads = ["Job", *(f"`{arm}` to `{base}`" for arm, base in asked)]
    return table(heads, [[job, *(cell(job, one) for one in asked)] for job in sorted(jobs)])


def seconds_table(runs: Sequence[Run]) -> list[str]:
    """Median seconds of each job and arm from start to end, in brackets those of the phases."""
    arms = list(dict.fromkeys(run["arm"] for run in runs))
    arms.sort(key=list(ORDER).index)
    lines = []
    for job in sorted({run["subject"] for run in runs}):
        for warm in (False, True):
            cells = []
            for arm in arms:
                some = [
                    run
                    for run in runs
                    if (run["subject"], run["arm"]) == (job, arm)
                    and (run["repetition"] >= 0) == warm
                ]
                cells.append(_seconds(some))
            if set(cells) != {"-"}:
                lines.append([job, "warm" if warm else "first", *cells])
    return table(["Job", "Run", *(f"`{arm}`" for arm in arms)], lines)


def _seconds(runs: Sequence[Run]) -> str:
    done = [run for run in runs if "wall_s" in run]
    if not done:
        return "failed" if runs else "-"
    wall, own = (statistics.median(run[what] for run in done) for what in ("wall_s", "seconds"))
    return f"{wall:.1f} ({own:.1f})"


def over_jobs(ratios: Mapping[str, Ratio]) -> Ratio:
    return overall(ratio.value for ratio in ratios.values())


def _losses(ratios: Mapping[str, Ratio]) -> list[str]:
    worse = {job: ratio.value for job, ratio in ratios.items() if round(ratio.value, 2) > 1}
    found = sorted(worse.items(), key=lambda item: -item[1])
    return [f"{job} {value:.2f}" for job, value in found]


def by_job(
    runs: Sequence[Run], arm: str, base: str, measure: str, warm: bool | None
) -> tuple[dict[str, Ratio], int]:
    """Return the paired ratio of each job at each size, and the number of pairs of all together.

    warm: without first runs, with them alone (False), or all (None). A pair is of one series.
    """
    times: dict[str, dict[tuple[str, str, int], float]] = {}
    for run in runs:
        if measure in run and warm in (None, run["repetition"] >= 0):
            place = times.setdefault(run["subject"], {})
            pair = (run["arm"], run.get("series", ""), run["repetition"])
            place[pair] = run[measure]  # type: ignore[literal-required]
    ratios, pairs = {}, 0
    for subject, values in times.items():
        both = [at[1:] for at in values if at[0] == arm and (base, *at[1:]) in values]
        if both:
            mine, theirs = ([values[(side, *at)] for at in both] for side in (arm, base))
            ratios[subject] = paired_ratio(mine, theirs)
            pairs += len(both)
    return ratios, pairs


def long_jobs(runs: Sequence[Run], base: str, limit_s: float) -> list[Run]:
    """Return the runs of the jobs whose phases take so long with the baseline (median, warm)."""
    seconds: dict[str, list[float]] = {}
    for run in runs:
        if run["arm"] == base and run["repetition"] >= 0 and "seconds" in run:
            seconds.setdefault(run["subject"], []).append(run["seconds"])
    long = {job for job, each in seconds.items() if statistics.median(each) >= limit_s}
    return [run for run in runs if run["subject"] in long]


def start_share(runs: Sequence[Run], arm: str, base: str) -> float:
    """Of the seconds that an arm saves, warm, the share that is start and end, not phases.

    The mean over the pairs of a job counts once.
    """
    saved: dict[str, dict[str, float]] = {}
    for measure in ("wall_s", "seconds"):
        sides: dict[tuple[str, str, int], dict[str, float]] = {}
        for run in runs:
            if run["repetition"] >= 0 and measure in run:
                key = (run["subject"], run.get("series", ""), run["repetition"])
                sides.setdefault(key, {})[run["arm"]] = run[measure]
        jobs: dict[str, list[float]] = {}
        for (job, *_), side in sides.items():
            if arm in side and base in side:
                jobs.setdefault(job, []).append(side[base] - side[arm])
        saved[measure] = {job: statistics.fmean(each) for job, each in jobs.items()}
    return 1 - sum(saved["seconds"].values()) / sum(saved["wall_s"].values())


@contextmanager
def standalone(machine: Topology) -> Iterator[str]:
    """Run a master and two workers on loopback that share the CPUs; end them with the block."""
    from startup import wait_for

    half = max(1, len(machine.usable_cpus) // 2)
    memory = f"{heap_mb(machine) // 2 + 512}m"
    script = str(paths.spark_home() / "bin" / "spark-class")
    running: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory(prefix="hearth-plans-") as folder:
        environment = {**os.environ, "SPARK_WORKER_DIR": folder}

        def start(name: str, *words: str) -> Path:
            log = Path(folder) / f"{len(running)}.log"
            command = [script, f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", *words]
            with log.open("wb") as to:
                server = subprocess.Popen(
                    command,
                    env=environment,
                    stdout=to,
                    stderr=to,
                    preexec_fn=die_with(os.getpid()),  # noqa: PLW1509 - this process has one thread
                )
            running.append(server)
            return log

        try:
            log = start("master.Master", "--port", "0", "--webui-port", "0")
            said = "Starting Spark master at "
            url = wait_for(log, said).split(said)[1].strip()
            share = ("--cores", str(half), "--memory", memory, "--webui-port", "0", url)
            for _ in range(2):
                wait_for(start("worker.Worker", *share), "Successfully registered with master")
            yield url
        finally:
            for process in running:
                process.terminate()
            for process in running:
                process.wait(timeout=LIMIT_S)


if __name__ == "__main__":
    try:
        main()
    except UserError as problem:
        sys.exit(f"plans: {problem}")
