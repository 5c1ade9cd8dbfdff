"""Replays a table of completion times: how many runs does the tuner need?

The tuner asks for one configuration (executors x cores) after the other, the table answers, and
what it needs to come within 10 % and 5 % of the best is counted, beside random search, hill
climbing and Optuna's samplers. Of several workloads, each is left out in turn and the others are
known; tables of --prior are known too. What it does is in docs/tuning.md.

A table is a CSV file with the columns
  workload,workers,cores_per_worker,total_cores,memory_per_worker_gb,seconds

examples:
  hearth tune --replay times.csv --machine "2 packages, 4 nodes of 256 GB, 6 cores x 8 threads"
  hearth tune --replay a.csv b.csv --machine big.tar.gz --drop 0.3 --seeds 50
  hearth tune --replay a.csv --prior b.csv --machine big.tar.gz --noise 0.05 --json
"""

import json
import os
from argparse import ArgumentParser, Namespace
from pathlib import Path

from hearth.model.errors import UserError

_MOST_SEEDS = 10_000


def add_arguments(parser: ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "--replay", metavar="TABLE.csv", type=Path, nargs="+", required=True, help="what answers"
    )
    parser.add_argument(
        "--machine",
        metavar="CAPTURE|SPEC",
        required=True,
        help="the machine that the table was measured on: a capture, or a one-line description",
    )
    parser.add_argument(
        "--prior", metavar="TABLE.csv", type=Path, nargs="+", action="extend", default=[],
        help="tables of other workloads or machines that are known before",
    )  # fmt: skip
    parser.add_argument(
        "--drop", metavar="SHARE", type=float, default=0.0,
        help="hide this share of the rows at random, anew for each seed (default: 0)",
    )  # fmt: skip
    parser.add_argument(
        "--noise", metavar="SHARE", type=float, default=0.0,
        help="scatter the times: standard deviation of their logarithm (default: 0)",
    )  # fmt: skip
    parser.add_argument("--seeds", metavar="N", type=int, default=200, help="(default: 200)")
    parser.add_argument("--json", action="store_true", help="print the JSON document (contract/)")


def run(options: Namespace) -> int:
    """Replays and shows what each way to search needed."""
    # The matrices are small: a library's threads only get in each other's way.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    _check(options)
    from hearth.model.progress import tick, working
    from hearth.planner import jvm
    from hearth.tuning.table import read_tables

    tables = [table for file in options.replay for table in read_tables(file)]
    prior = [table for file in options.prior for table in read_tables(file)]
    _check_workloads([table.workload for table in tables])
    topology = jvm.call("topology", "--machine", options.machine, debug=options.debug)

    from hearth.tuning.methods import absent_samplers
    from hearth.tuning.replay import Settings, replay
    from hearth.tuning.space import Machine

    settings = Settings(options.drop, options.noise, options.seeds)
    machine = Machine.of(topology)
    with working("replay") as work:

        def tell(text: str) -> None:
            work.title = text
            tick()

        document = replay(tables, prior, machine, settings, absent_samplers(), tell)
    if options.json:
        print(json.dumps(document, indent=2))
        return 0
    from hearth.report.terminal import Screen
    from hearth.report.tuning import show_replay

    print("\n".join(show_replay(document, Screen.of())))
    return 0


def _check(options: Namespace) -> None:
    for name, most in (("drop", 0.9), ("noise", 1.0)):
        value = getattr(options, name)
        if not 0 <= value <= most:
            raise UserError(f"--{name}: {value} is not between 0 and {most}: give such as 0.3")
    if not 1 <= options.seeds <= _MOST_SEEDS:
        raise UserError(
            f"--seeds: {options.seeds} is not between 1 and {_MOST_SEEDS}: give such as 200"
        )


def _check_workloads(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise UserError(
                f"--replay: workload '{name}' is in two tables: give one of them to --prior, or "
                "name them apart"
            )
