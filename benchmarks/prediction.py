"""How far is `hearth lab predict` off: each recorded run foretold from each other of its application?

    hearth lab characterise --questions sweep --sweep 1x1,1x2,2x1 --repeat 2 --warmup 0 word-count --size 100m
    .venv/bin/python benchmarks/prediction.py

Takes the finished runs on record (HEARTH_STATE) of each job of the suite, or those named on the
command line, and this machine. Two runs of the same partitioning say how much the runs themselves
scatter, which no prediction can foretell.
"""  # noqa: E501

import itertools
import math
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from harness import Benchmark
from results import Row, table

from hearth import UserError, topology
from hearth.analysis.analysis import analyse
from hearth.machine import paths
from hearth.record.store import list_records, slug
from hearth.studies.models.schedule_simulation import RecordedWork, predict, work_of
from hearth.studies.models.space import MachineSize

#: What comes before and behind the application in a record's id.
_BEFORE, _BEHIND = len("20261123-070000-"), len("-0000")


def runs(names: Sequence[str], machine: MachineSize) -> dict[str, list[RecordedWork]]:
    """Of each application, the work of its finished runs; one that tells too little is named."""
    works: dict[str, list[RecordedWork]] = {}
    for record in list_records(paths.state_home())[0]:
        name = record.id[_BEFORE:-_BEHIND]
        if record.state != "finished" or (names and name not in map(slug, names)):
            continue
        try:
            works.setdefault(name, []).append(work_of(analyse(record.directory), machine))
        except UserError as problem:
            print(f"{record.id}: {problem}")
    return works


def pairs(of: dict[str, list[RecordedWork]], machine: MachineSize) -> Iterator[dict[str, Any]]:
    """Each run foretold from each other of its application."""
    for name, works in of.items():
        for work, other in itertools.permutations(works, 2):
            (foretold,) = predict(work, machine, [other.cell])
            yield {
                "application": name,
                "from": work.cell.shown,
                "to": other.cell.shown,
                "from_s": work.wall_s,
                "measured_s": other.wall_s,
                "low_s": round(foretold.low, 3),
                "predicted_s": round(foretold.value, 3),
                "high_s": round(foretold.high, 3),
            }


def summary(rows: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Of pairs of the same and of other partitionings: error, and how often the interval held."""
    lines = []
    names = sorted({row["application"] for row in rows})
    for name, same in itertools.product(names, (True, False)):
        some = [r for r in rows if r["application"] == name and (r["from"] == r["to"]) is same]
        if not some:
            continue
        errors = [abs(math.log(r["predicted_s"] / r["measured_s"])) for r in some]
        held = statistics.fmean(r["low_s"] <= r["measured_s"] <= r["high_s"] for r in some)
        kind = "the same" if same else "another"
        mean, most = (math.expm1(each) for each in (statistics.fmean(errors), max(errors)))
        shares = [f"{100 * share:.1f} %" for share in (mean, most)]
        lines.append([name, kind, str(len(some)), *shares, f"{100 * held:.0f} %"])
    return lines


def main() -> None:
    bench = Benchmark(__doc__, page, arms=("",), repeat=0)
    bench.parser.add_argument("jobs", nargs="*", help="applications (default: all on record)")
    options = bench.parse()
    machine = MachineSize.allowed(topology())
    rows = list(pairs(runs(options.jobs, machine), machine))
    if not rows:
        raise SystemExit("no application has two finished runs on record")
    bench.begin()
    for row in rows:
        bench.keep(row)
    bench.report()


def page(rows: list[Row]) -> list[str]:
    """Return the table in Markdown."""
    heads = ["Application", "Partitioning", "Pairs", "Mean error", "Most", "In the 90 % interval"]
    return table(heads, summary([row for row in rows if "application" in row]))


if __name__ == "__main__":
    main()
