"""Shows all of hearth on this machine: topology, plan, bound Spark jobs, proof, checked results.

Generates TPC-H data, runs five of its queries and a word count bound under local-numa and under
plain local[*], in turn; shows from the kernel where the executors were; checks every result against
DuckDB on the same files; shows the times side by side. Exits with 1 if a check fails.

examples:
  hearth demo
  hearth demo --scale 0.2 --keep
  hearth demo --rounds 1
"""

import statistics
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hearth.base.errors import UserError

_MOST_ROUNDS = 20
_LARGEST_SCALE = 100.0
if TYPE_CHECKING:
    from hearth.machine.topology import Topology

Document = dict[str, Any]


def add_arguments(parser: ArgumentParser) -> None:
    """The command's options."""
    scale_help = "TPC-H scale factor: about as many GB (default: 0.05)"
    parser.add_argument("--scale", type=float, default=0.05, metavar="F", help=scale_help)
    rounds_help = f"runs of each side, at most {_MOST_ROUNDS} (default: 2)"
    parser.add_argument("--rounds", type=int, default=2, metavar="N", help=rounds_help)
    parser.add_argument("--keep", action="store_true", help="keep data, logs and results")


def run(options: Namespace) -> int:
    """Runs everything and shows it; 0 if every check holds, else 1."""
    from hearth.base.temporary import working_directory

    _check(options)
    shape = _show_machine_and_plan(options.debug)
    with working_directory(options.keep, "hearth-demo-") as folder:
        good = _demonstrate(folder, shape, options)
        if options.keep:
            print(f"\nkept in {folder}")
    print("\nAll checks hold." if good else "\nA check failed: see above.")
    return 0 if good else 1


def _check(options: Namespace) -> None:
    import importlib.util

    from hearth.machine import paths as places

    if not 0.0 < options.scale <= _LARGEST_SCALE:
        limit = f"above 0, at most {_LARGEST_SCALE:g}"
        raise UserError(f"--scale: {options.scale} is out of range: give a number {limit}")
    if not 1 <= options.rounds <= _MOST_ROUNDS:
        limit = f"from 1 to {_MOST_ROUNDS}"
        raise UserError(f"--rounds: {options.rounds} is out of range: give a number {limit}")
    if importlib.util.find_spec("duckdb") is None:
        raise UserError("duckdb is not installed: pip install 'hearth[demo]'")
    places.check_spark(places.spark_home())


def _title(text: str) -> None:
    from hearth.report.terminal.screen import Screen

    print(f"\n{Screen.of().title(text)}\n", flush=True)


def _show_machine_and_plan(debug: bool) -> list[str]:
    """Shows both; returns the options that fix the shape of the bound runs, if any."""
    from hearth.machine.planner import plan, topology
    from hearth.report.terminal.plan import machine_map, partitions, places, show_plan
    from hearth.report.terminal.screen import Screen
    from hearth.report.terminal.topology import show_topology

    screen = Screen.of()
    _title("This machine (hearth topology)")
    machine = topology(debug=debug)
    print("\n".join(show_topology(machine, screen)))
    _title("The plan for a SQL workload on it (hearth plan --workload sql)")
    advised = plan(_request(None, None), debug)
    print("\n".join(show_plan(advised, machine, screen)))
    if not advised.is_native:
        return []
    executors, cores = _forced_shape(machine)
    shape = ["--executors", str(executors), "--cores", str(cores)]
    _title(f"Shown anyway: bound executors ({' '.join(shape)})")
    print("The plan above is what hearth advises here; it is partitioned only to show the binding.")
    forced = plan(_request(executors, cores), debug)
    print("\n".join([*partitions(forced, screen), *machine_map(places(forced), machine, screen)]))
    return shape


def _request(executors: int | None, cores: int | None) -> Document:
    from hearth.machine.plan_request import plan_request

    fixed = Namespace(executors=executors, cores=cores, memory=None, input=None, workload="sql")
    return plan_request(fixed, {}, None)


def _forced_shape(machine: "Topology") -> tuple[int, int]:
    """Two executors that share the CPUs allowed; one where there is one CPU."""
    from hearth.base.ids import parse_ids

    cpus = len(parse_ids(machine.allowed.cpus))
    executors = min(2, cpus)
    return executors, cpus // executors


def _demonstrate(folder: Path, shape: list[str], options: Namespace) -> bool:
    from hearth.base.sizes import show_bytes
    from hearth.demo.data import copy_texts, generate_tables, write_queries
    from hearth.demo.runs import Demonstration

    _title("Data")
    scale = options.scale
    size = generate_tables(scale, folder / "tables")
    write_queries(scale, folder / "queries")
    print(f"  TPC-H at scale {scale:g} by tpchgen-cli: {show_bytes(size)} of Parquet", flush=True)
    number = copy_texts(folder / "texts")
    print(f"  {number} licence texts from Debian's base-files for the word count")
    rounds = options.rounds
    _title(f"Runs, in turn: {rounds} bound by hearth, {rounds} under plain local[*]")
    demonstration = Demonstration(folder, shape)
    demonstration.make_archives(options.debug)
    bound, plain = run_in_turn(demonstration.run, rounds)
    placed = _show_placement(folder / "state", bound)
    right = _show_results(folder, [*bound, *plain])
    _show_times(bound, plain)
    return placed and right


def run_in_turn(run: Callable[[str, bool], Any], rounds: int) -> tuple[list[Any], list[Any]]:
    """Bound and plain alternate, in reverse order each time (a b, b a); the outcomes of each."""
    outcomes: dict[bool, list[Any]] = {True: [], False: []}
    for number in range(rounds):
        for bound in (True, False) if number % 2 == 0 else (False, True):
            name = f"{'bound' if bound else 'plain'}-{number + 1}"
            print(f"  {name} ...", end="", flush=True)
            outcome = run(name, bound)
            outcomes[bound].append(outcome)
            print(f" {outcome.document['master']}, {outcome.wall_s:.0f} s from start to end")
    return outcomes[True], outcomes[False]


def _show_placement(state: Path, bound: list[Any]) -> bool:
    """The last kernel reading of the first bound run; whether every executor was as planned."""
    from hearth.base.codec import read_typed
    from hearth.machine.placement import Placement
    from hearth.report.terminal.placement import show_placement
    from hearth.report.terminal.screen import Screen

    _title("Proof of placement: what the kernel said of each executor while it ran")
    good = True
    for number, outcome in enumerate(bound):
        record = state / "runs" / outcome.document["app_id"] / "placement.json"
        if not record.is_file():
            raise UserError(f"the run left no placement record at '{record}': see its log")
        report = read_typed(record, Placement, "run it again")
        verdicts = {executor.verdict for executor in report.executors}
        good = good and verdicts == {"as planned"}
        if number == 0 or not good:
            print("\n".join(show_placement(report, Screen.of())))
    return good


def _show_results(folder: Path, outcomes: list[Any]) -> bool:
    from hearth.demo.check import ABSOLUTE, RELATIVE, difference, expected_rows

    _title("Results against DuckDB on the same files")
    print(f"  numbers count as equal within {ABSOLUTE:f} + {RELATIVE:f} x the larger")
    good = True
    for name, rows in expected_rows(
        folder / "tables", folder / "queries", folder / "texts"
    ).items():
        wrong = [difference(outcome.document["rows"][name], rows) for outcome in outcomes]
        found = [sentence for sentence in wrong if sentence is not None]
        good = good and not found
        verdict = f"DIFFERENT: {found[0]}" if found else f"equal in all {len(outcomes)} runs"
        print(f"  {name:<6} {len(rows):>5} rows  {verdict}")
    return good


def _show_times(bound: list[Any], plain: list[Any]) -> None:
    from hearth.report.terminal.screen import Screen, table

    _title("Times in seconds: the median of the warm passes")
    head = ["work", bound[0].document["master"], plain[0].document["master"]]
    names = bound[0].document["seconds"]
    rows = [[name, _warm(bound, name), _warm(plain, name)] for name in names]
    rows.append(["start to end", *(f"{_median_wall(side):.1f}" for side in (bound, plain))])
    screen = Screen.of()
    print("\n".join(table(screen, head, rows, right=" ".join(head[1:]))))
    print("\n  With so little data the times are not a benchmark; they only show that both ran.")


def _warm(side: list[Any], name: str) -> str:
    times = [second for outcome in side for second in outcome.document["seconds"][name][1:]]
    return f"{statistics.median(times):.2f}"


def _median_wall(side: list[Any]) -> float:
    return float(statistics.median(outcome.wall_s for outcome in side))
