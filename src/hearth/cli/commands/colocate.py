"""Run applications side by side, each on its own part of this machine, and measure if it pays off.

Separate the applications by --; each is what hearth submit takes, or the name of a workload. The
machine is split by NUMA nodes, or by cores if it has only one node. hearth predicts every split
from what each application loses on a part of the machine (--from takes one recorded run of each on
the whole machine; --profile-first runs each alone). It then runs the best split by the objective,
or the one you give with --split, and compares it with running all of them unbound and with running
one after the other. Each run is recorded ('hearth runs' lists them).

examples:
  hearth colocate --dry-run --from RUN --from RUN a.py -- b.py
  hearth colocate --profile-first --objective fairness a.py --day 1 -- --class org.example.B b.jar
  hearth colocate --split 1-1 --repeat 10 word-count --size 200m -- k-means --size 100m
  hearth colocate --split 2-2 --loop 90,15 a.py -- b.py
  hearth colocate --applications two-lines.txt --split 1-3
"""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from hearth.base.errors import UserError
from hearth.base.progress import working
from hearth.base.sizes import counted
from hearth.cli.options import (
    RunOptions,
    add_run_options,
    add_submit_options,
    from_namespace,
    group,
    parse_limit,
    read_lines,
    run_options,
    split_words,
    submit_line,
)
from hearth.cli.studies import (
    StudyCommand,
    add_study_options,
    show_result,
    with_kept_words,
)
from hearth.machine import paths
from hearth.machine.jvm import topology
from hearth.report.colocation import show_alone, show_ways
from hearth.report.terminal.screen import Screen
from hearth.report.terminal.sources import read_run
from hearth.spark.submit_args import SubmitLine
from hearth.studies.colocate.applications import applications_of, check_lines, with_data
from hearth.studies.colocate.choice import chosen, colocate, foreseen
from hearth.studies.colocate.partition import Units, leased
from hearth.studies.colocate.prediction import from_runs
from hearth.studies.colocate.study import (
    ARMS,
    Colocation,
    ColocationSettings,
    Member,
    PlannedColocation,
    parse_arms,
    parse_loop,
)
from hearth.studies.engine.progress import Quiet, StudyProgress, continued_with
from hearth.studies.engine.store import COLOCATE, Opening
from hearth.studies.models.colocation import Objective, candidates

_OBJECTIVES = ("throughput", "slowdown", "fairness")
#: `--` stands between applications here.
_MARKED = "if {name} takes one itself, write '-- {name} ...' in a file of --applications"
_EACH_WAY = "set by each arm: leave it out"
_REFUSED = {
    "--docker": _EACH_WAY,
    "--bind": _EACH_WAY,
    "--reserve-cpus": "start hearth itself without them: taskset --cpu-list CPUS hearth ...",
}


@dataclass(frozen=True)
class ColocateCommand(StudyCommand):
    """The user's options; each field is the option of that name. lines: one for each application.

    runs_of: of `--from`.
    """

    lines: list[SubmitLine]
    applications: Path | None
    split: str | None
    objective: Objective
    runs_of: list[str]
    profile_first: bool
    machine: str | None
    arms: str | None
    loop: str | None
    limit: str
    runs: RunOptions


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's own options; those of each application are separated in `parse`."""
    application = "[options of hearth or spark-submit] WORKLOAD|APPLICATION [its arguments]"
    parser.usage = f"hearth colocate [options] A -- B [-- C ...]\nwhere each is {application}"
    add_submit_options(parser, _REFUSED)
    parser.add_argument(
        "--applications", metavar="FILE", type=Path,
        help="read the applications from FILE, one per line in shell syntax; # starts a comment",
    )  # fmt: skip
    split = group(parser, "split")
    split.add_argument(
        "--split", metavar="N-M",
        help="NUMA nodes, or cores, of each application (default: the predicted best)",
    )  # fmt: skip
    split.add_argument(
        "--objective", choices=_OBJECTIVES, default="throughput",
        help="maximise throughput, minimise the worst slowdown, or equalise slowdowns",
    )  # fmt: skip
    known = group(parser, "split").add_mutually_exclusive_group()
    known.add_argument(
        "--from", dest="runs_of", metavar="RUN", action="append", default=[],
        help="a recorded run on the whole machine; once per application, in order",
    )  # fmt: skip
    known.add_argument(
        "--profile-first", action="store_true",
        help="first run each application alone, on the whole machine and on its parts",
    )  # fmt: skip
    split.add_argument(
        "--machine",
        metavar="CAPTURE|SPEC",
        help="predict for another machine (only with --dry-run)",
    )
    split.add_argument(
        "--arms", metavar="A,B,...", help="split, unbound, whole, serial (default: all)"
    )
    _add_run_arguments(parser)


def _add_run_arguments(parser: ArgumentParser) -> None:
    runs = group(parser, "runs")
    runs.add_argument(
        "--loop", metavar="MINUTES[,RAMP]",
        help="start each application again and again for so long (default: run each once); ignore "
        "RAMP minutes at each end (default: a sixth), e.g. 90,15",
    )  # fmt: skip
    runs.add_argument(
        "--limit", metavar="TIME", default="1h", help="stop a run after TIME (default: 1h)"
    )
    add_run_options(parser, repeat=5, warmup=1)
    add_study_options(parser, COLOCATE, "predict and list what would run", "colocation")


def parse(parser: ArgumentParser, words: list[str]) -> ColocateCommand:
    """Return the options, with the command line of each application."""
    words = with_kept_words(parser, COLOCATE, words, "--")
    parts = [split_words(parser, part, behind=True, marked=_MARKED) for part in _parts(words)]
    lines = [submit_line(part, parser.parse_args(part.hearth)) for part in parts]
    given = parser.parse_args([word for part in parts for word in part.hearth])
    if given.applications is not None and any(line != SubmitLine() for line in lines):
        raise UserError(
            "--applications: applications are given on the command line too: use one of them"
        )
    return from_namespace(ColocateCommand, given, lines=lines, runs=run_options(given))


def _parts(words: Sequence[str]) -> list[list[str]]:
    """Split words at each `--`."""
    ends = [at for at, word in enumerate(words) if word == "--"]
    return [list(words[a + 1 : b]) for a, b in pairwise([-1, *ends, len(words)])]


def run(options: ColocateCommand) -> int:
    """Predict, run and show; return 1 if an application failed, for scripts."""
    if options.applications is not None:
        named = read_lines(options.applications, "--applications", _REFUSED)
        options = replace(options, lines=named)
    check_lines(options.lines)
    _check(options)
    if options.machine is not None:
        return _elsewhere(options)
    with working("planning"):
        planned = _planned(options)
        notes = leased(planned.units, options.debug)
    for note in notes:
        print(f"hearth: {note}", file=sys.stderr)
    if options.dry_run:
        return _dry(options, planned)
    return _colocate(options, replace(planned, applications=with_data(planned.applications)))


def _check(options: ColocateCommand) -> None:
    number = len(options.lines)
    if options.runs_of and len(options.runs_of) != number:
        raise UserError(
            f"--from: {counted(len(options.runs_of), 'run')} for "
            f"{counted(number, 'application')}: give one run per "
            "application, in the same order"
        )
    if options.machine is not None and not options.dry_run:
        raise UserError("--machine: only predicts: add --dry-run, or leave it out")
    if options.machine is not None and not options.runs_of:
        raise UserError("--machine: needs a recorded run of each application: add --from")
    if options.resume is not None and options.dry_run:
        raise UserError("--dry-run: cannot be combined with --resume: leave one of them out")


def _planned(options: ColocateCommand) -> PlannedColocation:
    """Return the applications, this machine, and what the runs of `--from` say of them."""
    settings = _settings(options)
    applications = applications_of(options.lines)
    machine = topology(debug=options.debug)
    units = Units.of(machine)
    ways = candidates(options.split, len(applications), len(units.cpus))
    names = [one.name for one in applications]
    runs = [read_run(name, paths.state_home()) for name in options.runs_of]
    known = from_runs(names, runs, machine, units) if runs else None
    return PlannedColocation(applications, units, settings, known, ways)


def _settings(options: ColocateCommand) -> ColocationSettings:
    runs, limit_s = options.runs, parse_limit(options.limit)
    return ColocationSettings(
        objective=options.objective,
        arms=list(ARMS) if options.arms is None else parse_arms(options.arms),
        repeat=runs.repeat,
        warmup=runs.warmup,
        seed=runs.seed,
        limit_s=limit_s,
        profile_first=options.profile_first,
        split=options.split,
        loop=None if options.loop is None else parse_loop(options.loop),
    )


def _elsewhere(options: ColocateCommand) -> int:
    """Predict for another machine, where nothing runs."""
    names = [line.application[0] for line in options.lines]
    machine = topology(options.machine, options.debug)
    units = Units.of(machine)
    runs = [read_run(name, paths.state_home()) for name in options.runs_of]
    known = from_runs(names, runs, machine, units)
    ways = candidates(options.split, len(names), len(units.cpus))
    members = [Member(name, [name]) for name in names]
    show_result(foreseen(members, units, options.objective, known, ways), options.json, None)
    return 0


def _dry(options: ColocateCommand, planned: PlannedColocation) -> int:
    """Show what is predicted, and what would run."""
    if options.profile_first and len(planned.ways) > 1:
        print("\n".join(show_alone(planned, Screen.of())))
        return 0
    known, ways, objective = planned.known, planned.ways, options.objective
    with working("predicting ways to share the machine"):
        foretold = foreseen(
            planned.members, planned.units, objective, known, ways, planned.settings
        )
    show_result(foretold, options.json, None)
    if not options.json:
        split = chosen(ways, foretold.prediction)
        print("\n".join(show_ways(planned, split, Screen.of())))
    return 0


def _colocate(options: ColocateCommand, planned: PlannedColocation) -> int:
    colocation, budget_s = _begun(options, planned), options.runs.budget_s
    quiet = Quiet(options.runs.wait_idle_s)
    progress = StudyProgress(budget_s is not None, with_subject=True, quiet=quiet)
    with continued_with(f"colocate --resume {colocation.head.id}"), progress.shown():
        result = colocate(colocation, planned, progress, budget_s)
    show_result(result, options.json, options.html, f"colocation {colocation.head.id}")
    return 1 if any(trial.failure for trial in colocation.trials) else 0


def _begun(options: ColocateCommand, planned: PlannedColocation) -> Colocation:
    """Begin or resume the colocation."""
    new = options.resume is None
    if new and planned.known is None and not planned.settings.profile_first:
        chosen(planned.ways, None)  # before anything is kept
    opening = Opening(resume=options.resume, typed=options.typed)
    return Colocation.begin(paths.state_home(), planned, opening)
