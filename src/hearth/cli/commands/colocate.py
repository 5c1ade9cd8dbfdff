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
  hearth colocate --split 2-2 --protocol loop --minutes 90 --ramp 15 a.py -- b.py
  hearth colocate --applications two-lines.txt --split 1-3
  hearth colocate --dry-run --scaling speedups.csv SQL -- SVM
"""

import contextlib
import json
import shlex
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hearth.base.codec import to_json
from hearth.base.durations import parse_seconds
from hearth.base.errors import UserError
from hearth.base.ids import brief_ids, parse_ids, show_ids
from hearth.base.redaction import Redaction
from hearth.cli.options import (
    RunOptions,
    add_run_options,
    add_submit_options,
    from_namespace,
    group,
    read_line,
    run_options,
    split_words,
    submit_line,
)
from hearth.cli.pages import add_html_option, write_html
from hearth.cli.resumed import RESUME_HELP, with_kept_words
from hearth.machine import paths
from hearth.machine.described import machine_source
from hearth.machine.jvm import topology
from hearth.machine.leases import read_leases
from hearth.machine.topology import Topology
from hearth.report.terminal.colocate import show_colocation
from hearth.report.terminal.screen import Screen, table
from hearth.spark.submit_args import SubmitLine
from hearth.studies.colocate.applications import ColocatedApplication, applications_of, with_data
from hearth.studies.colocate.partition import Units
from hearth.studies.colocate.prediction import from_runs, from_table, known_of
from hearth.studies.colocate.result import SCHEMA, Colocated, Predicted, colocated, predicted
from hearth.studies.colocate.study import (
    ARMS,
    NEEDED,
    Colocation,
    ColocationSettings,
    Member,
    PriorCurves,
    profile_alone,
    ways_of,
)
from hearth.studies.colocate.study import run as run_study
from hearth.studies.engine.arms import profile_words
from hearth.studies.engine.progress import Quiet, StudyProgress, continued_with
from hearth.studies.engine.store import COLOCATE
from hearth.studies.engine.target import ApplicationTarget
from hearth.studies.models.colocation import Objective, parse_split, splits
from hearth.studies.models.space import MachineSize

_OBJECTIVES = ("throughput", "slowdown", "fairness")
_MINUTES, _RAMP = 90.0, 15.0
_MOST_APPLICATIONS = 64
#: `--` stands between applications here.
_MARKED = "if {name} takes one itself, write '-- {name} ...' in a file of --applications"
_EACH_WAY = "set by each arm: leave it out"
_REFUSED = {
    "--unbound": _EACH_WAY,
    "--docker": _EACH_WAY,
    "--bind": _EACH_WAY,
    "--reserve-cpus": "start hearth itself without them: taskset --cpu-list CPUS hearth ...",
}


@dataclass(frozen=True)
class ColocateCommand:
    """The user's options; each field is the option of that name. lines: one for each application.

    runs_of: of `--from`.
    """

    lines: list[SubmitLine]
    applications: Path | None
    split: str | None
    objective: Objective
    runs_of: list[str]
    profile_first: bool
    scaling: Path | None
    machine: str | None
    arms: str | None
    protocol: str
    minutes: float | None
    ramp: float | None
    limit: str
    runs: RunOptions
    resume: str | None
    dry_run: bool
    html: Path | None
    json: bool
    debug: bool
    typed: tuple[str, ...]


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
    known.add_argument(
        "--scaling", metavar="TABLE.csv", type=Path,
        help="predict from a table of speedups between numbers of nodes (see hearth predict)",
    )  # fmt: skip
    split.add_argument(
        "--machine",
        metavar="CAPTURE|SPEC",
        type=machine_source,
        help="predict for another machine (only with --dry-run)",
    )
    split.add_argument(
        "--arms", metavar="A,B,...", help="split, unbound, whole, serial (default: all)"
    )
    _add_run_arguments(parser)
    add_html_option(parser)
    group(parser, "output").add_argument(
        "--json", action="store_true", help="print JSON (see contract/)"
    )


def _add_run_arguments(parser: ArgumentParser) -> None:
    runs = group(parser, "runs")
    runs.add_argument(
        "--protocol", choices=("once", "loop"), default="once",
        help="run each application once (default), or repeatedly for --minutes",
    )  # fmt: skip
    runs.add_argument(
        "--minutes", metavar="N", type=float, help=f"length of the loop (default: {_MINUTES:g})"
    )
    runs.add_argument(
        "--ramp", metavar="N", type=float,
        help=f"minutes to ignore at each end of the loop (default: {_RAMP:g})",
    )  # fmt: skip
    runs.add_argument(
        "--limit", metavar="TIME", default="1h", help="stop a run after TIME (default: 1h)"
    )
    add_run_options(parser, repeat=5, warmup=1)
    runs.add_argument("--resume", metavar="ID", help=RESUME_HELP.format("colocation"))
    runs.add_argument(
        "--dry-run", action="store_true", help="predict and list what would run; run nothing"
    )


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
    parts: list[list[str]] = [[]]
    for word in words:
        if word == "--":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _lines_of(file: Path) -> list[SubmitLine]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--applications: '{file}' cannot be read: {error}") from error
    found = []
    for number, line in enumerate(lines, start=1):
        where = f"--applications: '{file}', line {number}"
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise UserError(f"{where}: {error}") from error
        found += [read_line(words, where, _REFUSED)] if words else []
    return found


def run(options: ColocateCommand) -> int:
    """Predict, run and show; return 1 if an application failed, for scripts."""
    if options.applications is not None:
        options = replace(options, lines=_lines_of(options.applications))
    _check(options)
    if options.scaling is not None or options.machine is not None:
        return _elsewhere(options)
    settings = _settings(options)
    applications = applications_of(options.lines)
    machine = topology(debug=options.debug)
    units = Units.of(machine)
    ways = _ways(options, len(units.cpus))
    known = _known_before(options, [one.name for one in applications], units, machine)
    _warn_of_leases(units, options.debug)
    if options.dry_run and options.profile_first and len(ways) > 1:
        print("\n".join(_listed_alone(applications, units, settings, ways)))
        return 0
    if options.dry_run:
        _dry(options, applications, units, settings, known, ways)
        return 0
    return _colocate(options, with_data(applications), units, settings, known, ways)


def _warn_of_leases(units: Units, debug: bool) -> None:
    """Say which applications hold CPUs that are to be split."""

    with contextlib.suppress(UserError):  # 'hearth leases' says what is wrong with them
        for lease in read_leases(debug).leases:
            if lease.state == "holds" and {*parse_ids(lease.cpus)} & {*units.all}:
                print(
                    f"hearth: CPUs {brief_ids(lease.cpus, 24)} are leased by {lease.name} of "
                    f"{lease.user}: results measured there are valid only beside it",
                    file=sys.stderr,
                )


def _check(options: ColocateCommand) -> None:
    for line in options.lines:
        if not line.application:
            raise UserError(
                "an application is missing: name a workload, a jar or a Python file on each side "
                "of --, as in: hearth colocate a.py -- b.py"
            )
    number = len(options.lines)
    if not 2 <= number <= _MOST_APPLICATIONS:
        raise UserError(
            f"cannot colocate {number} application{'s' if number > 1 else ''}: give 2 to "
            f"{_MOST_APPLICATIONS}, separated by --"
        )
    if options.runs_of and len(options.runs_of) != number:
        raise UserError(
            f"--from: {len(options.runs_of)} runs for {number} applications: give one run per "
            "application, in the same order"
        )
    for name in ("scaling", "machine"):
        if getattr(options, name) is not None and not options.dry_run:
            raise UserError(f"--{name}: only predicts: add --dry-run, or leave it out")
    if options.machine is not None and not options.runs_of:
        raise UserError("--machine: needs a recorded run of each application: add --from")
    if options.resume is not None and options.dry_run:
        raise UserError("--dry-run: cannot be combined with --resume: leave one of them out")


def _settings(options: ColocateCommand) -> ColocationSettings:

    runs = options.runs
    limit_s = parse_seconds(options.limit, "--limit")
    if limit_s <= 0:
        raise UserError(f"--limit: '{options.limit}' is not a positive duration: use e.g. 30m")
    return ColocationSettings(
        objective=options.objective,
        arms=_arms(options),
        repeat=runs.repeat,
        warmup=runs.warmup,
        seed=runs.seed,
        limit_s=limit_s,
        profile_first=options.profile_first,
        split=options.split,
        loop=_loop(options),
    )


def _arms(options: ColocateCommand) -> list[str]:

    if options.arms is None:
        return list(ARMS)
    names = [name.strip() for name in options.arms.split(",")]
    for name in names:
        if name not in ARMS or names.count(name) > 1:
            raise UserError(
                f"--arms: '{name}' is unknown or repeated: use {', '.join(ARMS)}, each at most once"
            )
    for name in NEEDED:
        if name not in names:
            raise UserError(
                f"--arms: '{options.arms}' lacks {name}, with which the others are compared: add it"
            )
    return names


def _loop(options: ColocateCommand) -> list[float] | None:
    if options.protocol == "once":
        for name in ("minutes", "ramp"):
            if getattr(options, name) is not None:
                raise UserError(f"--{name}: needs --protocol loop: add that, or leave it out")
        return None
    minutes = _MINUTES if options.minutes is None else options.minutes
    ramp = _RAMP if options.ramp is None else options.ramp
    if not 0 < minutes < float("inf") or not 0 <= ramp < minutes / 2:
        raise UserError(
            f"--minutes, --ramp: {minutes:g} minutes leave nothing to measure between two ramps of "
            f"{ramp:g}: use more minutes, or a shorter ramp"
        )
    return [minutes * 60, ramp * 60]


def _ways(options: ColocateCommand, units: int) -> list[tuple[int, ...]]:
    """Return the splits to choose from: the user's, or all."""

    number = len(options.lines)
    if options.split is not None:
        return [parse_split(options.split, number, units)]
    return splits(units, number)


def _elsewhere(options: ColocateCommand) -> int:
    """Predict for a machine, or from a table, where nothing runs."""

    names = [line.application[0] for line in options.lines]
    if options.scaling is not None:
        known, number = from_table(names, options.scaling)
        kind, units = "node", [str(n) for n in range(number)]
    else:
        machine = topology(options.machine, options.debug)
        there = Units.of(machine)
        known = _from_runs(options, names, there, machine)
        kind, units, number = there.kind, [show_ids(c) for c in there.cpus], len(there.cpus)
    found = predicted(known, _ways(options, number), options.objective)
    _show(
        Colocated(
            schema=SCHEMA, id=None, started=None,
            applications=[Member(n, [n]) for n in names],
            kind=kind, units=units, objective=options.objective, confidence=0.95,
            split=_chosen(options, found, _ways(options, number)), prediction=found,
        ),
        options.json,
    )  # fmt: skip
    return 0


def _known_before(
    options: ColocateCommand, names: Sequence[str], units: Units, topology: Topology
) -> PriorCurves | None:
    return _from_runs(options, names, units, topology) if options.runs_of else None


def _from_runs(
    options: ColocateCommand, names: Sequence[str], units: Units, topology: Topology
) -> PriorCurves:
    from hearth.report.terminal.sources import read_sources

    analyses = []
    for name in options.runs_of:
        found = read_sources([name], paths.state_home()).runs
        if len(found) != 1:
            raise UserError(f"--from: '{name}' is not a single run: give a run or an event log")
        analyses += found
    machine = MachineSize.allowed(topology)
    return from_runs(names, analyses, machine, len(units.cpus), units.kind)


def _chosen(
    options: ColocateCommand, found: Predicted | None, ways: Sequence[tuple[int, ...]]
) -> str:
    """Return the split to run: the user's, the only one or the best; raise UserError if none."""
    if len(ways) == 1:
        return "-".join(map(str, ways[0]))
    if found is None or not found.splits:
        raise UserError(
            f"--split: nothing says which of {len(ways)} splits is best: choose one, or "
            "add --profile-first, or --from with a recorded run of each application"
        )
    return found.splits[0].shown


def _dry(
    options: ColocateCommand,
    applications: Sequence[ColocatedApplication],
    units: Units,
    settings: ColocationSettings,
    known: PriorCurves | None,
    ways: Sequence[tuple[int, ...]],
) -> None:
    """Show what is predicted, and what would run."""

    found = predicted(known, ways, options.objective) if known is not None else None
    split = _chosen(options, found, ways)
    result = Colocated(
        schema=SCHEMA, id=None, started=None, applications=_members(applications), kind=units.kind,
        units=[show_ids(cpus) for cpus in units.cpus], objective=options.objective,
        confidence=0.95, split=split, prediction=found, settings=settings,
    )  # fmt: skip
    _show(result, options.json)
    if not options.json:
        _list(applications, units, settings, split)


def _list(
    applications: Sequence[ColocatedApplication],
    units: Units,
    settings: ColocationSettings,
    split: str,
) -> None:
    """List what each arm would run, and where."""

    shares = tuple(int(word) for word in split.split("-"))
    rows = []
    for arm, ways in ways_of(applications, units, shares, settings).items():
        for application, way in zip(applications, ways, strict=True):
            words = [*way.arm.words, *(("--master", way.arm.master) if way.arm.master else ())]
            if isinstance(application.target, ApplicationTarget):
                words = profile_words(way.arm, application.line)
            shown = Redaction.of(application.settings).words(words)
            where = show_ids(way.cpus if way.cpus is not None else units.all)
            name = application.name if not isinstance(application.target, ApplicationTarget) else ""
            rows.append(
                [arm, where, shlex.join(["hearth", "profile", *shown]) + f" {name}".rstrip()]
            )
    print("\n".join(table(Screen.of(), ["arm", "CPUs", "command"], rows)))
    print(f"\nruns of each arm: {settings.warmup} warm-up, {settings.repeat} measured")


def _listed_alone(
    applications: Sequence[ColocatedApplication],
    units: Units,
    settings: ColocationSettings,
    ways: Sequence[tuple[int, ...]],
) -> list[str]:
    """List what runs before a split is chosen."""
    whole, rows = len(units.cpus), []
    for number, application in enumerate(applications):
        shares = sorted({way[number] for way in ways} | {whole}, reverse=True)
        rows.append([application.name, ", ".join(map(str, shares))])
    head = ["application", f"{units.kind}s that it gets alone"]
    each = f"runs of each: {settings.warmup} warm-up, {settings.repeat} measured"
    then = f"then the best predicted split of {len(ways)}"
    return [*table(Screen.of(), head, rows), "", f"{each}; {then}"]


def _members(applications: Sequence[ColocatedApplication]) -> list[Member]:

    return [Member(one.name, one.command) for one in applications]


def _colocate(
    options: ColocateCommand,
    applications: Sequence[ColocatedApplication],
    units: Units,
    settings: ColocationSettings,
    known: PriorCurves | None,
    ways: Sequence[tuple[int, ...]],
) -> int:

    home = paths.state_home()
    secrets = {key: value for one in applications for key, value in one.settings.items()}
    redaction, members = Redaction.of(secrets), _members(applications)
    if options.resume is None:
        if known is None and not settings.profile_first:
            _chosen(options, None, ways)  # before anything is kept
        place = Colocation.begin(home, members, units, settings, known, redaction)
        place.keep_command(options.typed)
    else:
        place = Colocation.resume(home, options.resume, members, units, settings, redaction)
    budget_s = options.runs.budget_s
    progress = StudyProgress(
        budget_s is not None, with_subject=True, quiet=Quiet(options.runs.wait_idle_s)
    )
    progress.ended(sum(line.failure is None for line in place.lines))
    with continued_with(f"colocate --resume {place.head.id}"), progress.shown():
        if settings.profile_first:
            profile_alone(place, applications, units, ways, progress)
        known = known_of(place)
        found = predicted(known, ways, settings.objective) if known is not None else None
        split = _chosen(options, found, ways)
        shares = tuple(int(word) for word in split.split("-"))
        run_study(place, applications, units, shares, progress, budget_s)
    result = colocated(place, found, split)
    _show(result, options.json)
    if options.html:
        write_html(options.html, colocation=result)
    if not options.json:
        print(f"hearth: colocation {place.head.id}", file=sys.stderr)
    return 1 if _failed(place) else 0


def _failed(place: Colocation) -> bool:
    return any(line.failure for line in place.lines)


def _show(result: Colocated, as_json: bool) -> None:

    if as_json:
        print(json.dumps(to_json(result), indent=2))
        return
    print("\n".join(show_colocation(result, Screen.of())))
