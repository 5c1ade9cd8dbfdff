"""Tables of completion time over workers x cores, measured here: what `replay.py` reads.

    .venv/bin/python benchmarks/measured_table.py --jobs word-count,sort,k-means,tpch --size 1g
    .venv/bin/python benchmarks/measured_table.py --out benchmarks/results/measured-table-DATE.jsonl

Each job runs in each cell (`local-numa[NxM]`, bound) --repeat times, in random order (seeded)
within each repetition; the first repetition warms up and does not count. Cells are those of the
tuner's space that are a quarter of the CPUs or more. The heap of a worker is the plan's, and with
--heaps 1,0.25 also these shares of it. Each run is added to the results file as it ends: after a
kill --out alone goes on with the same jobs, size and cells. Answers are checked; a cell that failed
is not in the table.

Beside the results stands the table, a CSV file with the median seconds of each job and cell
(workload,workers,cores_per_worker,total_cores,memory_per_worker_gb,seconds), and with --replay the
tuner is replayed on it, each job with the other jobs known.
"""

import argparse
import csv
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from tables import COLUMNS

from hearth import Topology, UserError, topology
from hearth.base.ids import parse_ids
from hearth.base.sizes import parse_bytes
from hearth.machine.jvm import plans
from hearth.report.terminal.screen import Screen, table
from hearth.studies.bench.study import machine_facts
from hearth.studies.characterise.questions import steps
from hearth.studies.engine.progress import busy_share
from hearth.studies.engine.schedule import Repetitions, StudyDesign, conduct
from hearth.studies.engine.store import Journal
from hearth.studies.engine.trial import Trial, Turn
from hearth.workloads import cases, catalogue, suites

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = "hearth/measured-table/1"
JOBS = "word-count,sort,group-by,k-means,sql-aggregation"

USUAL: dict[str, Any] = {"jobs": JOBS, "size": "1g", "seed": 1, "heaps": "1"}


@dataclass(frozen=True)
class Place:
    """A cell of the table: workers, task slots and heap of each."""

    workers: int
    cores: int
    heap_mb: int

    @property
    def name(self) -> str:
        """As the results call it: 2x1 7559m."""
        return f"{self.workers}x{self.cores} {self.heap_mb}m"

    @staticmethod
    def named(text: str) -> "Place":
        """Return the place of this name; raise ValueError for what names none."""
        size, heap = text.split()
        workers, cores = size.split("x")
        return Place(int(workers), int(cores), int(heap.removesuffix("m")))


class Run(TypedDict):
    """A line of the results, after the first. busy: of the CPUs, by others, just before it."""

    subject: str
    arm: str
    repetition: int
    busy: float | None
    seconds: NotRequired[float]
    wall_s: NotRequired[float]
    answer: NotRequired[str]
    failure: NotRequired[str]


class Head(TypedDict):
    """The first line of the results."""

    schema: str
    machine: dict[str, Any]
    asked: dict[str, Any]


def main() -> None:
    """Measures what is missing, shows and writes the table."""
    options = parsed()
    name = f"measured-table-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
    out = options.out or ROOT / "benchmarks" / "results" / name
    machine = topology()
    try:
        runs, places = measured(options, machine, out)
    except KeyboardInterrupt:
        sys.exit(f"\nstopped: go on with --out {out}")
    file = out.with_suffix(".csv")
    rows = medians(runs, places)
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerows({name: row[name] for name in COLUMNS} for row in rows)
    print("\n".join(shown(rows)))
    print(f"\nRaw results: {out}\nTable: {file}")
    if options.replay:
        replay(file, options.machine or spec(machine))


def parsed() -> argparse.Namespace:
    """Parse the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", metavar="A,B", help=f"default: {JOBS}")
    parser.add_argument("--size", help="of each job's data (default: 1g)")
    parser.add_argument("--heaps", metavar="A,B", help="shares of the plan's heap (default: 1)")
    parser.add_argument("--repeat", type=int, default=3, help="repetitions that count (default: 3)")
    parser.add_argument("--warmup", type=int, default=1, help="repetitions before (default: 1)")
    parser.add_argument("--seed", type=int, help="of the order and of the data (default: 1)")
    parser.add_argument("--out", type=Path, help="results file, to begin or to go on with")
    parser.add_argument("--replay", action="store_true", help="replay the tuner on the table")
    parser.add_argument(
        "--machine", help="for --replay: a capture or a description of this machine"
    )
    return parser.parse_args()


def shares_of(text: str) -> list[float]:
    """Of `--heaps`."""
    try:
        found = [float(word) for word in text.split(",")]
    except ValueError:
        found = [0.0]
    if not all(0 < one <= 1 for one in found):
        raise UserError(f"--heaps: '{text}' is not shares between 0 and 1: give such as 1,0.25")
    return found


def cells(machine: Topology, shares: Sequence[float]) -> list[Place]:
    """Return the cells that fit this machine, by the planner."""
    cpus = len(machine.usable_cpus)
    both = [(n, c) for n in steps(cpus) for c in steps(cpus) if cpus <= 4 * n * c <= 4 * cpus]
    requests = [
        {"schema": "hearth/plan-request/1",
         "limits": {"executors": n, "cores": c, "conf": {"spark.hearth.neighbours": "ignore"}}}
        for n, c in both
    ]  # fmt: skip
    found = []
    for (n, c), plan in zip(both, plans(requests, False), strict=True):
        if isinstance(plan, UserError):
            print(f"{n}x{c} is left out: {plan}")
            continue
        heap = plan.least_heap_mb
        found += [Place(n, c, max(int(heap * share), 512)) for share in shares]
    return list(dict.fromkeys(found))


def measured(
    options: argparse.Namespace, topology: Topology, out: Path
) -> tuple[list[Run], dict[str, Place]]:
    """Make the runs that the file lacks; return all, in the order of time, and their cells."""
    offer, journal = catalogue.load(), Journal(out)
    # The machine's name may not be published.
    machine = {key: value for key, value in machine_facts(topology).items() if key != "name"}
    asked, runs = begun(journal, options, topology, machine)
    entries = {entry.label: entry for entry in suites.named(asked["jobs"], offer)}
    places = {name: Place.named(name) for name in asked["cells"]}
    size, seed = parse_bytes(asked["size"], "--size"), asked["seed"]

    def run(turn: Turn) -> Trial:
        line = one(offer, entries[turn.subject], size, places[turn.arm], seed)
        row = {"subject": turn.subject, "arm": turn.arm, "repetition": turn.repetition, **line}
        journal.keep(row)
        runs.append(row)  # type: ignore[arg-type]
        print(f"{turn.subject}: {trial_of(row).shown}", flush=True)
        return trial_of(row)

    arms = {label: list(places) for label in entries}
    design = StudyDesign(arms, options.repeat, options.warmup, seed)
    conduct(Repetitions(design), run, lambda _: None, earlier=[trial_of(row) for row in runs])
    return runs, places


def begun(
    journal: Journal,
    options: argparse.Namespace,
    topology: Topology,
    machine: dict[str, Any],
) -> tuple[dict[str, Any], list[Run]]:
    """Return what is measured, and the runs of a file that exists.

    Raises UserError where that is of another machine, or of something else than is asked for.
    """
    said = {"jobs": options.jobs, "size": options.size, "seed": options.seed,
            "heaps": options.heaps}  # fmt: skip
    if not journal.file.exists():
        asked = {**USUAL, **{name: value for name, value in said.items() if value is not None}}
        asked["cells"] = [one.name for one in cells(topology, shares_of(asked["heaps"]))]
        journal.begin({"schema": SCHEMA, "machine": machine, "asked": asked})
        return asked, []
    journal.cut_torn_line()
    found = journal.head(Head)
    now = {"schema": SCHEMA, "machine": machine}
    pairs = [(name, found[name], value) for name, value in now.items()]  # type: ignore[literal-required]
    pairs += [(f"--{n}", found["asked"][n], v) for n, v in said.items() if v is not None]
    for name, before, value in pairs:
        if before != value:
            raise UserError(
                f"--out: '{journal.file}' has another {name} ({before}, not {value}): give another "
                "file"
            )
    return found["asked"], journal.read(Run, first=2)


def one(
    offer: catalogue.Catalogue, entry: suites.SuiteEntry, size: int, place: Place, seed: int
) -> dict[str, Any]:
    """Run a case and return its seconds, or why it failed; a wrong answer is a failure."""
    busy = busy_share()
    conf = {"spark.executor.memory": f"{place.heap_mb}m"}
    case = cases.Case(entry.job, entry.parameters, size, seed, conf)
    load = {"busy": None if busy is None else round(busy, 3)}
    return load | cases.measured(offer, case, f"local-numa[{place.workers}x{place.cores}]")


def trial_of(row: Mapping[str, Any]) -> Trial:
    """Return a row of the results as a trial."""
    turn = Turn(row["subject"], row["arm"], row["repetition"])
    return Trial(turn, seconds=row.get("seconds"), failure=row.get("failure"))


def medians(runs: Sequence[Run], places: Mapping[str, Place]) -> list[dict[str, Any]]:
    """Of each job and cell without a failure the median, with its runs and what others used."""
    found: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        if run["repetition"] >= 0:
            found.setdefault((run["subject"], run["arm"]), []).append(run)
    rows = []
    for (subject, arm), of in sorted(found.items()):
        place, seconds = places[arm], [one["seconds"] for one in of if "seconds" in one]
        if len(seconds) < len(of):
            why = next(one["failure"] for one in of if "failure" in one)
            print(f"{subject} {arm} is not in the table: {why}")
            continue
        rows.append(
            {
                "workload": subject,
                "workers": place.workers,
                "cores_per_worker": place.cores,
                "total_cores": place.workers * place.cores,
                "memory_per_worker_gb": round(place.heap_mb / 1024, 4),
                "seconds": round(statistics.median(seconds), 4),
                "runs": sorted(seconds),
                "busy": max((one["busy"] or 0.0 for one in of), default=0.0),
            }
        )
    return rows


def shown(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the medians with their range, and how busy others kept the CPUs."""
    lines = [
        [row["workload"], f"{row['workers']}x{row['cores_per_worker']}",
         f"{row['memory_per_worker_gb']:.1f}", f"{row['seconds']:.2f}",
         f"{row['runs'][0]:.2f} to {row['runs'][-1]:.2f}", str(len(row["runs"])),
         f"{row['busy']:.0%}"]
        for row in rows
    ]  # fmt: skip
    head = ["workload", "cell", "GB each", "median s", "range", "runs", "CPUs used by others"]
    return table(Screen.of(), head, lines, "GB each median s runs")


def spec(machine: Topology) -> str:
    """Return the machine in a line; raise UserError where its nodes or cores differ."""
    cpus = machine.usable_cpus
    cores = [held for core in machine.cores if (held := cpus & set(parse_ids(core.cpus)))]
    nodes = [node for node in machine.nodes if cpus & set(parse_ids(node.cpus))]
    threads = {len(core) for core in cores}
    per_node = Counter(
        node.id for core in cores for node in nodes if core & set(parse_ids(node.cpus))
    )
    if len(threads) != 1 or len(set(per_node.values())) != 1:
        raise UserError("--machine: nodes or cores of this machine differ: give a capture of it")
    gb = max(min(node.memory_bytes for node in nodes) >> 30, 1)
    packages = sum(bool(cpus & set(parse_ids(of.cpus))) for of in machine.packages)
    return (
        f"{packages} package{'s' if packages > 1 else ''}, "
        f"{len(nodes)} node{'s' if len(nodes) > 1 else ''} of {gb} GB, "
        f"{next(iter(per_node.values()))} cores x {next(iter(threads))} threads"
    )


def replay(file: Path, machine: str) -> None:
    """Replay the tuner on the table."""
    words = [str(Path(__file__).with_name("replay.py")), str(file), "--machine", machine]
    print(f"\n{' '.join(words)}", flush=True)
    subprocess.run([sys.executable, *words], check=False)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"measured_table: {error}")
