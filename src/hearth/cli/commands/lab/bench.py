"""Run a suite of workloads under several masters, interleaved, and compare the times.

Each result is written as soon as it is known: after an interruption, --resume ID continues where
it stopped ('hearth runs' lists the ids). Ratios are relative to the first master. Exits with 1 if a
run failed or gave a wrong answer; the other runs continue. hearth report ID shows the series again.

suites: batch (Spark core, MLlib, GraphX, SQL), streaming, sql (TPC-H and the other SQL jobs),
osu (the OSU benchmarks' GroupBy and SortBy), paper-numa (the jobs of the NUMA studies).

examples:
  hearth lab bench --suite batch
  hearth lab bench --suite sql --dry-run
  hearth lab bench --suite osu --masters 'local[*],local-numa[2x4],local-numa[4x2]' --repeat 10
  hearth lab bench --jobs word-count --size 2g --repeat 10 --warmup 1 --json
  hearth lab bench --jobs 'sort-by --maps 480 --reduces 480,group-by' --repeat 5
  hearth lab bench --suite osu --html osu.html
"""

import sys
from argparse import ArgumentParser, Namespace

from hearth.base.sizes import counted, parse_bytes
from hearth.cli.options import add_run_options, run_options
from hearth.cli.studies import add_study_options, show_result
from hearth.machine import paths
from hearth.machine.jvm import topology
from hearth.machine.plan import parse_conf
from hearth.report.terminal.screen import Screen, table
from hearth.studies.bench.result import bench_result, is_good
from hearth.studies.bench.study import Results, Series, machine_facts
from hearth.studies.bench.study import run as run_series
from hearth.studies.engine.progress import Quiet, StudyProgress, continued_with
from hearth.studies.engine.store import BENCH, Opening, kept_words
from hearth.workloads import cases, catalogue, suites
from hearth.workloads.masters import split_masters

_MASTERS = "local[*],local-numa"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the command's options."""
    what = parser.add_mutually_exclusive_group()
    suites = ("batch", "streaming", "sql", "osu", "paper-numa")
    what.add_argument("--suite", choices=suites, help="the suite to run (default: batch)")
    what.add_argument(
        "--jobs",
        metavar="A,B",
        help="run these jobs, each with its parameters and --conf settings, instead of a suite",
    )
    masters_help = f"masters to compare, the first is the baseline (default: {_MASTERS})"
    parser.add_argument("--masters", default=_MASTERS, metavar="A,B", help=masters_help)
    add_run_options(parser, repeat=1, warmup=0)
    parser.add_argument("--size", metavar="SIZE", help="size of each data set, e.g. 2g")
    parser.add_argument(
        "--conf",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a Spark setting for all runs; may be repeated",
    )
    add_study_options(parser, BENCH, "list the runs", "bench-result")


def parse(parser: ArgumentParser, words: list[str]) -> Namespace:
    """Parse the options; `--resume ID` goes on with the words that are kept."""
    given = parser.parse_args(words)
    if given.resume is not None:
        kept = kept_words(BENCH, paths.state_home(), given.resume)
        given = parser.parse_args([*kept, *words])
    given.typed = words
    return given


def run(options: Namespace) -> int:
    """Run the series and show its table; return 0 if all runs and answers are good."""
    offer, runs = catalogue.load(), run_options(options)
    name = options.suite or ("jobs" if options.jobs else "batch")
    series = Series(
        name=name,
        entries=suites.named(options.jobs, offer) if options.jobs else suites.suite(name, offer),
        masters=split_masters(options.masters),
        repeat=runs.repeat,
        warmup=runs.warmup,
        size_bytes=None if options.size is None else parse_bytes(options.size, "--size"),
        seed=runs.seed,
        conf=parse_conf(options.conf),
        budget_s=runs.budget_s,
    )
    _check(series)
    if options.dry_run:
        print("\n".join(_listed(series)))
        return 0
    machine = machine_facts(topology(debug=options.debug))
    opening = Opening(resume=options.resume, typed=options.typed)
    results = Results.begin(paths.state_home(), series, machine, opening)
    _go(offer, series, results, Quiet(runs.wait_idle_s))
    named = f"series {results.head.id}"
    show_result(bench_result(results), options.json, options.html, named)
    return 0 if is_good(results) else 1


def _check(series: Series) -> None:
    for entry in series.entries:
        for master in series.masters:
            cases.check(cases.Case(entry.job, entry.parameters, seed=series.seed), master)


def _listed(series: Series) -> list[str]:
    """List what would run."""
    head = ["job", "parameters", "masters"]
    rows = []
    for entry in series.entries:
        parameters = " ".join(f"--{name} {value}" for name, value in entry.parameters.items())
        rows.append([entry.label, parameters or "-", ", ".join(series.masters)])
    each = f"{series.warmup} warm-up, {series.repeat} measured"
    runs = len(series.design().turns())
    return [
        *table(Screen.of(), head, rows),
        "",
        f"{counted(runs, 'run')}; of each job and master: {each}",
    ]


def _go(offer: catalogue.Catalogue, series: Series, results: Results, quiet: Quiet) -> None:
    turns = set(series.design().turns())
    made = sum(trial.turn in turns for trial in results.last if trial.failure is None)
    done = f", {made} of them made already" if made else ""
    print(f"hearth: {counted(len(turns), 'run')}{done}", file=sys.stderr, flush=True)
    progress = StudyProgress(with_subject=True, quiet=quiet, fewest=len(turns))
    with continued_with(f"lab bench --resume {results.head.id}"), progress.shown():
        run_series(offer, series, results, progress)
