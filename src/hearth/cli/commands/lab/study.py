"""Repeat an experiment of a published study, and print its table beside the published one.

Each experiment of the published studies behind hearth (docs/sources.md) is a preset: workloads with
sizes and partitions, Spark's settings, the compared configurations, repetitions, and the published
numbers. 'show' and --dry-run say what would run on this machine, and what cannot, with the reason.
Each published number is judged: reproduced, contradicted, undecided (too few runs), or not here.
--scale shrinks data, partitions, durations and counts. The steps are hearth commands, which keep
their own results; 'hearth runs' lists those and the repetition as a whole. docs/studies.md lists
every published number with its answer.

examples:
  hearth lab study list
  hearth lab study show baig-binding
  hearth lab study run baig-sweep --scale 0.01
  hearth lab study run --all --scale 0.01 --budget 3h --html studies.html
  hearth lab study run baig-sweep --scale 0.01 --steps PageRank --repeat 3 --html sweep.html
  hearth lab study run partitions-shapes --dry-run
"""

import json
import shlex
import sys
import time
from argparse import ArgumentParser, Namespace
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from hearth.base.durations import parse_seconds
from hearth.base.errors import UserError
from hearth.cli.answer import print_document
from hearth.cli.commands import split_command
from hearth.cli.main import command_parser
from hearth.cli.options import from_namespace, json_help
from hearth.cli.studies import add_study_options, show_result
from hearth.machine import paths
from hearth.machine.jvm import topology
from hearth.report.study import (
    show_chosen,
    show_missing,
    show_preset,
    show_presets,
    show_steps,
)
from hearth.report.terminal.screen import Screen
from hearth.studies.engine.progress import continued_with
from hearth.studies.engine.store import STUDY, Opening, kept_words
from hearth.studies.published.needs import Capabilities
from hearth.studies.published.preset import Preset, Request, names, preset
from hearth.studies.published.study import LEAST_S, Budget, PublishedStudy, ReadyStep, ready

_MOST_RUNS = 1000


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's options."""
    actions = parser.add_subparsers(dest="action", metavar="list|show|run", required=True)
    listing = actions.add_parser("list", help="list the experiments of all published studies")
    listing.add_argument("--json", action="store_true", help="print JSON")
    for name, words in (("show", "show an experiment, and what of it this machine can run"),
                        ("run", "run an experiment")):  # fmt: skip
        action = actions.add_parser(name, help=words)
        action.add_argument(
            "names", metavar="EXPERIMENT", nargs="*" if name == "run" else 1,
            help="a name that 'hearth lab study list' shows",
        )  # fmt: skip
        action.add_argument(
            "--scale", type=_scale, default=1.0, metavar="F",
            help="share of the published data, partitions, durations and counts (default: 1)",
        )  # fmt: skip
        action.add_argument("--steps", metavar="A,B,...", help="only these steps (default: all)")
        for often, what in (
            ("--repeat", "measured runs of each arm"),
            ("--warmup", "warm-up runs of each arm, not measured"),
        ):
            action.add_argument(
                often, type=int, metavar="N", help=f"{what} (default: as published)"
            )
        action.add_argument(
            "--warm", action="store_true", help="do not drop the page cache before each run"
        )
        if name == "run":
            action.add_argument("--all", action="store_true", help="run all experiments")
            action.add_argument(
                "--budget", metavar="TIME", help="run as many steps as this time allows, e.g. 3h"
            )
            add_study_options(action, STUDY, "list the commands", "study")
        else:
            action.add_argument("--json", action="store_true", help=json_help("study"))


def _scale(text: str) -> float:
    try:
        scale = float(text)
    except ValueError:
        scale = 0.0
    if not 0 < scale <= 1:
        raise UserError(f"--scale: '{text}' is not above 0 and up to 1: use e.g. 0.01")
    return scale


def parse(parser: ArgumentParser, words: list[str]) -> Namespace:
    """Parse the options; `run --resume ID` goes on with the words that are kept."""
    given = parser.parse_args(words)
    if given.action == "run" and not (given.names or given.all):
        if given.resume is None:
            raise UserError(
                "nothing to run: name an experiment ('hearth lab study list' lists them) or --all"
            )
        kept = kept_words(STUDY, paths.state_home(), given.resume)
        given = parser.parse_args([*kept, *words[words.index("run") + 1 :]])
    given.typed = words
    return given


def run(options: Namespace) -> int:
    """Run the chosen action; return 1 if a step failed, for scripts."""
    screen = Screen.of()
    if options.action == "list":
        presets = [preset(name) for name in names()]
        return _listed(presets, show_presets(presets, screen), options.json)
    chosen = None if options.steps is None else tuple(s.strip() for s in options.steps.split(","))
    every = options.action == "run" and options.all
    experiments = [preset(name) for name in (names() if every else options.names)]
    request = from_namespace(Request, options, steps=chosen)
    _check(request, experiments)
    machine = Capabilities.of(topology(debug=options.debug))
    steps = [ready(one, request, machine) for one in experiments]
    both = list(zip(experiments, steps, strict=True))
    if options.action == "show":
        ((one, its),) = both
        return _listed(one, show_preset(one, its, screen), options.json)
    if options.dry_run:
        lines = "\n\n".join("\n".join(show_steps(one, its, screen)) for one, its in both)
        return _listed([step for its in steps for step in its], [lines], options.json)
    return _ran(options, request, both, machine)


def _ran(
    options: Namespace,
    request: Request,
    both: list[tuple[Preset, list[ReadyStep]]],
    machine: Capabilities,
) -> int:
    """Run the experiments and show their tables; return 1 if a step failed."""
    for one, steps in both:
        _show_missing(one, request, machine, steps)
    if all(step.missing for _, steps in both for step in steps):
        names = ", ".join(one.name for one, _ in both)
        raise UserError(f"{names}: no step can run here: see 'hearth lab study show NAME'")
    limit = None if options.budget is None else parse_seconds(options.budget, "--budget")
    opening = Opening(resume=options.resume, typed=options.typed)
    study = PublishedStudy.begin(
        paths.state_home(), [one.name for one, _ in both], request, machine, opening
    )
    budget = Budget() if limit is None else Budget(time.monotonic() + limit)
    failed = _run(study, [step for _, steps in both for step in steps], options.debug, budget)
    show_result(study.repeated(), options.json, options.html)
    return 1 if failed else 0


def _listed(document: object, lines: list[str], as_json: bool) -> int:
    if as_json:
        print_document(document)
    else:
        print("\n".join(lines))
    return 0


def _check(request: Request, experiments: list[Preset]) -> None:
    if request.steps is not None and len(experiments) != 1:
        raise UserError("--steps: names steps of one experiment: name one, or leave it out")
    for name, value, least in (("repeat", request.repeat, 1), ("warmup", request.warmup, 0)):
        if value is not None and not least <= value <= _MOST_RUNS:
            raise UserError(
                f"--{name}: {value} is not between {least} and {_MOST_RUNS}: use e.g. 5"
            )


def _show_missing(
    one: Preset, request: Request, machine: Capabilities, steps: list[ReadyStep]
) -> None:
    """Show what cannot run here, and why; raise UserError if no step can."""
    missing = show_missing(one, steps, Screen.of(sys.stderr))
    if one.cold and not request.warm and (why := machine.lack("cold")) is not None:
        missing.append(f"  the page cache is not dropped before each run: {why}")
    if missing:
        print("\n".join(missing), file=sys.stderr)


def _run(study: PublishedStudy, steps: list[ReadyStep], debug: bool, budget: Budget) -> bool:
    """Run the steps that have not ended and that fit the budget; whether one failed."""
    left = study.left(steps)
    chosen = budget.fitting(left)
    enough_s = LEAST_S * sum(one.takes_time for one in left)
    print("\n".join(show_chosen(left, chosen, enough_s, Screen.of(sys.stderr))), file=sys.stderr)
    try:
        with continued_with(f"lab study run --resume {study.directory.name}"):
            return study.run(chosen, lambda words: _command(words, debug), budget)
    finally:
        print(f"hearth: study {study.directory.name}", file=sys.stderr)


def _command(words: list[str], debug: bool) -> dict[str, Any]:
    """Run a command of hearth's in this process, and return the document that it prints."""
    name, arguments = split_command(words)
    module, parser = command_parser(name)
    rest = [*(["--debug"] if debug else []), "--json", *arguments]
    options = module.parse(parser, rest) if hasattr(module, "parse") else parser.parse_args(rest)
    print(f"hearth: hearth {shlex.join(words)}", file=sys.stderr, flush=True)
    with redirect_stdout(StringIO()) as printed:
        module.run(options)
    try:
        document: dict[str, Any] = json.loads(printed.getvalue())
    except ValueError:  # it said why it ran nothing
        raise UserError(f"hearth {name}: {printed.getvalue().strip()}") from None
    return document
