"""Run a suite of workloads under several masters, interleaved, and compare the times.

Each result is written as soon as it is known: after an interruption, --resume ID continues where
it stopped ('hearth runs' lists the ids; for a series with --out, give FILE). Ratios are relative to
the first master. Exits with 1 if a run failed or gave a wrong answer; the other runs continue.
hearth report ID shows the series again.

suites: batch (Spark core, MLlib, GraphX, SQL), streaming, sql (TPC-H and the other SQL jobs),
osu (the OSU benchmarks' GroupBy and SortBy), paper-numa (the jobs of the NUMA studies).

examples:
  hearth lab bench --suite batch
  hearth lab bench --suite sql --dry-run
  hearth lab bench --suite osu --masters 'local[*],local-numa[2x4],local-numa[4x2]' --repeat 10
  hearth lab bench --jobs word-count --size 2g --repeat 10 --warmup 1 --out results.jsonl
  hearth lab bench --jobs 'sort-by --maps 480 --reduces 480,group-by' --repeat 5
  hearth lab bench --suite osu --html osu.html
"""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from hearth.base.sizes import counted, parse_bytes
from hearth.cli.options import add_run_options, group, run_options
from hearth.cli.studies import add_study_options, show_result
from hearth.machine import paths
from hearth.machine.jvm import topology
from hearth.machine.plan import parse_conf
from hearth.record.store import new_name
from hearth.report.terminal.screen import Screen, table
from hearth.studies.bench import study as running
from hearth.studies.bench.result import bench_result, is_good
from hearth.studies.bench.study import Results, Series, begun, machine_facts, resumed_by
from hearth.studies.engine.progress import Quiet, StudyProgress, continued_with
from hearth.studies.engine.store import BENCH
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
    output = group(parser, "output")
    output.add_argument(
        "--out", metavar="FILE", help="results file; runs that it already holds are not repeated"
    )
    add_study_options(parser, BENCH, "list the runs", "bench-result")


def parse(parser: ArgumentParser, words: list[str]) -> Namespace:
    """Parse the options; `--resume ID` goes on with the words that are kept, and in their file."""
    given = parser.parse_args(words)
    if given.resume is not None:
        file, kept = begun(paths.state_home(), given.resume)
        given = parser.parse_args([*kept, *words, "--out", str(file)])
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
    described = series.described(machine, options.typed)
    results = Results.begin(_file(options.out, name), described, series.redaction)
    _go(offer, series, results, Quiet(runs.wait_idle_s))
    kept = f"series {resumed_by(results.path)}"
    show_result(bench_result(results), options.json, options.html, kept)
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


def _file(out: str | None, name: str) -> Path:
    if out is not None:
        return Path(out).absolute()
    return BENCH.directory(paths.state_home(), new_name(name))


def _go(offer: catalogue.Catalogue, series: Series, results: Results, quiet: Quiet) -> None:
    turns = set(series.design().turns())
    kept = sum(trial.turn in turns for trial in results.trials if trial.failure is None)
    found = f", {kept} of them already in the file" if kept else ""
    runs = f"{counted(len(turns), 'run')}{found}; results in {results.path}"
    print(f"hearth: {runs}", file=sys.stderr, flush=True)
    progress = StudyProgress(with_subject=True, quiet=quiet)
    with continued_with(f"lab bench --resume {resumed_by(results.path)}"), progress.shown():
        running.run(offer, series, results, progress)
