"""Does it pay here: hearth against Spark's defaults, a careful user, and other two executors.

    .venv/bin/python benchmarks/plans.py
    .venv/bin/python benchmarks/plans.py --jobs word-count,tpch --sizes 256m --repeat 5

Arms: `defaults`, `spark-submit --master local[*]`; `tuned`, the same as guides say (below);
`submit`, `hearth submit` without an option; `informed`, with `--workload` and `--input`; two
executors of equal total heap as `standalone` (a master and two workers that run already),
`local-cluster`, `unbound` and `bound` (local-numa). On more than one NUMA node also one executor
for each node, unbound and bound (`nodes-unbound`, `nodes-bound`).

`tuned`, written down before anything was measured: a heap of 75 % of the memory that may be used,
at most 31 GB (Spark's hardware guide, compressed references); ParallelGC; Kryo; three shuffle
partitions for each CPU (Spark's tuning guide: two to three tasks for each).

Every repetition runs each job at each size under each arm once, in random order (seeded). Answers
are checked. The first repetition is each arm's first run (`first`); it does not count among the
others (`warm`). Each run is added to the results file as it ends: give the same --out to go on
after a kill. `start to end` are the seconds of the whole command, `phases` those of the job
inside it. The middle of a job's paired ratios counts once; geometric mean over jobs, interval
over jobs (Student's t).
"""

import argparse
import math
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from hearth.experiments.experiment import Experiment, conduct
from hearth.experiments.journal import Journal
from hearth.experiments.outcome import Outcome, Turn
from hearth.experiments.statistics import CONFIDENCE, Ratio, intervals, paired_ratio
from hearth.model.errors import UserError
from hearth.model.processes import die_with
from hearth.model.sizes import parse_bytes
from hearth.planner import places
from hearth.planner.plans import topology
from hearth.planner.topology import Topology
from hearth.workloads import cases, catalogue, suites

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = "hearth/plans-benchmark/1"
LARGEST_HEAP_MB = 31744
LIMIT_S = 120
#: What is compared: (arm, baseline).
QUESTIONS = (
    ("submit", "defaults"),
    ("submit", "tuned"),
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
    """The arms for a machine; standalone: the master's address."""
    cpus = len(machine.usable_cpus)
    heap = heap_mb(machine)
    two = {"spark.executor.memory": f"{heap // 2}m"}
    half = max(1, cpus // 2)
    arms = {
        "defaults": Way("local[*]"),
        "tuned": Way("local[*]", tuned(cpus, heap)),
        "submit": Way("local-numa", hinted=False),
        "informed": Way("local-numa"),
        "standalone": Way(standalone, two),
        "local-cluster": Way(f"local-cluster[2,{half},{heap // 2}]", two),
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
        "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.sql.shuffle.partitions": str(3 * cpus),
    }


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
    """Makes the runs that the file lacks; all of them, in the order of time."""
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

    def run(turn: Turn) -> Outcome:
        entry, size = subjects[turn.subject]
        line = one(offer, entry, size, arms[turn.arm], options.seed)
        row = {"subject": turn.subject, "arm": turn.arm, "repetition": turn.repetition, **line}
        journal.keep(row)
        runs.append(row)  # type: ignore[arg-type]
        outcome = outcome_of(row)
        print(f"{turn.subject}: {outcome.shown}", flush=True)
        return outcome

    plan = Experiment(dict.fromkeys(subjects, chosen), options.repeat, 1, options.seed)
    conduct(plan, run, lambda _: None, earlier=[outcome_of(row) for row in runs])
    return runs


def begun(journal: Journal, head: dict[str, Any]) -> list[Run]:
    """The runs of a file that exists; UserError where it is of another machine or other arms."""
    if not journal.file.exists():
        journal.begin(head)
        return []
    journal.cut_torn_line()
    found = journal.head(Head)
    for what in ("schema", "machine", "ways"):
        if found[what] != head[what]:
            raise UserError(f"--out: '{journal.file}' has another {what}: give another file")
    return journal.read(Run, first=2)  # type: ignore[return-value]


def one(
    offer: catalogue.Catalogue, entry: suites.Entry, size: int, way: Way, seed: int
) -> dict[str, Any]:
    """A run's seconds, or why it failed; a wrong answer is a failure."""
    case = cases.Case(entry.job, entry.parameters, size, seed, dict(way.conf))
    load = {"load": round(os.getloadavg()[0], 2)}
    return load | cases.measured(offer, case, way.master, hinted=way.hinted)


def outcome_of(row: Mapping[str, Any]) -> Outcome:
    """A row of the results as a run of an experiment: its seconds from start to end."""
    turn = Turn(row["subject"], row["arm"], row["repetition"])
    return Outcome(turn, seconds=row.get("wall_s"), failure=row.get("failure"))


def _plain(arms: dict[str, Way]) -> dict[str, Any]:
    """The arms as the results file holds them, without the port of the standalone master."""
    return {
        name: {
            "master": "spark://..." if name == "standalone" else way.master,
            "conf": dict(way.conf),
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
    """The tables, in Markdown."""
    lines = [f"Load average {_range([run['load'] for run in runs])} at the start of the runs."]
    for title, measure, warm in (
        ("Start to end, warm", "wall_s", True),
        ("Start to end, first run", "wall_s", False),
        ("Phases, warm", "seconds", True),
    ):
        lines += ["", f"**{title}**: seconds of an arm over its baseline's, below 1 is faster.", ""]
        lines += ["| Arm | Baseline | Jobs | Pairs | Ratio, 95 % interval | Slowest job |"]
        lines += ["|---|---|---|---|---|---|"]
        for arm, base in QUESTIONS:
            ratios, pairs = by_job(runs, arm, base, measure, warm)
            if ratios:
                lines.append(f"| `{arm}` | `{base}` | {len(ratios)} | {pairs} | {_row(ratios)} |")
    failures = [run for run in runs if "failure" in run]
    return [*lines, "", *(f"- {r['subject']}, {r['arm']}: {r.get('failure')}" for r in failures)]


def by_job(
    runs: Sequence[Run], arm: str, base: str, measure: str, warm: bool
) -> tuple[dict[str, Ratio], int]:
    """The paired ratio of each job at each size, and the number of pairs of all together."""
    times: dict[str, dict[tuple[str, int], float]] = {}
    for run in runs:
        if measure in run and (run["repetition"] >= 0) == warm:
            place = times.setdefault(run["subject"], {})
            place[(run["arm"], run["repetition"])] = run[measure]  # type: ignore[literal-required]
    ratios, pairs = {}, 0
    for subject, values in times.items():
        both = [n for name, n in values if name == arm and (base, n) in values]
        if both:
            mine, theirs = ([values[(side, n)] for n in both] for side in (arm, base))
            ratios[subject] = paired_ratio(mine, theirs)
            pairs += len(both)
    return ratios, pairs


def overall(ratios: Mapping[str, Ratio]) -> Ratio:
    """The geometric mean over jobs; an interval where there are three jobs or more."""
    logs = [math.log(ratio.value) for ratio in ratios.values()]
    if len(logs) < 3:
        return Ratio(math.exp(math.fsum(logs) / len(logs)), None)
    middle, low, high = (math.exp(float(end)) for end in intervals(logs, CONFIDENCE))
    return Ratio(middle, (low, high))


def _row(ratios: Mapping[str, Ratio]) -> str:
    name = max(ratios, key=lambda job: ratios[job].value)
    return f"{_shown(overall(ratios))} | {name}: {_shown(ratios[name])}"


def _shown(ratio: Ratio) -> str:
    if ratio.interval is None:
        return f"{ratio.value:.2f} (too few for an interval)"
    return f"{ratio.value:.2f} [{ratio.interval[0]:.2f}, {ratio.interval[1]:.2f}]"


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}" if values else "not known"


@contextmanager
def standalone(machine: Topology) -> Iterator[str]:
    """A master and two workers on loopback that share the CPUs, ended with the block."""
    from startup import wait_for

    half = max(1, len(machine.usable_cpus) // 2)
    memory = f"{heap_mb(machine) // 2 + 512}m"
    script = str(places.spark_home() / "bin" / "spark-class")
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
