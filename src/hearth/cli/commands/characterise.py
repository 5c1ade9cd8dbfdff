"""Answers the studies' questions for this machine, with your application or a workload.

Each question compares several ways of running it: 1, 2, 4 or 6 executors with the same total cores
and memory; executors x cores, and why the slower ones lose; 1 to N nodes, bound and unbound; memory
on another node; hardware threads per core; the prefetchers; memory bandwidth; batch and streaming;
the event rate. What this machine cannot answer is listed with the reason. Runs alternate in random
order after a warm-up, and every run is recorded (hearth runs).

examples:
  hearth characterise my_job.py --date 2026-11-21
  hearth characterise --dry-run my_job.py
  hearth characterise --questions executors,sweep --repeat 10 word-count --size 2g
  hearth characterise --questions rates streaming-network-word-count
  hearth characterise --html machine.html batch
"""

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from hearth.base.errors import UserError
from hearth.spark.submit_args import (
    add_submit_arguments,
    options_of,
    own_options,
    split_line,
    without,
)
from hearth.studies.engine.options import add_run_options, quiet_option, run_options

if TYPE_CHECKING:
    from hearth.studies.characterise.result import Characterised
    from hearth.studies.characterise.study import Asked, Settings

#: What the questions vary themselves.
_VARIED = ("executors", "cores", "memory")


def add_arguments(parser: ArgumentParser) -> None:
    """The command's own options; those of spark-submit are separated in `hearth.spark`."""
    parser.usage = (
        "hearth characterise [options of hearth or spark-submit] "
        "SUITE|WORKLOAD|APPLICATION [its parameters or arguments]"
    )
    add_submit_arguments(parser)
    parser.add_argument(
        "--questions", metavar="A,B,...", help="only these questions (default: all)"
    )
    add_run_options(parser, repeat=7, warmup=1)
    parser.add_argument("--sweep", metavar="NxM,...", help="executors x cores to try")
    parser.add_argument(
        "--change-prefetchers",
        action="store_true",
        help="allow changing them through model-specific registers (root; restored)",
    )
    parser.add_argument(
        "--resume", metavar="ID", help="go on with a characterisation that was interrupted"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="list questions and runs, run nothing"
    )
    parser.add_argument("--html", metavar="FILE", type=Path, help="write a page to this file")
    parser.add_argument("--json", action="store_true", help="print one JSON document (contract/)")


def parse(parser: ArgumentParser, words: list[str]) -> Namespace:
    """The options, with the whole command line."""
    from hearth.studies.engine.named_target import with_options_behind

    own = own_options(parser)
    line = with_options_behind(split_line(words, options_of(parser)), own)
    options = parser.parse_args(line.hearth)
    # From here on the line is what each run is given.
    options.line = replace(line, hearth=without(line.hearth, own))
    return options


def run(options: Namespace) -> int:
    """Runs and shows the answers; 1 if a run failed, for scripts."""
    from hearth.base.redaction import Redaction
    from hearth.machine import paths
    from hearth.spark.conf import user_settings
    from hearth.studies.characterise.study import Characterisation
    from hearth.studies.engine.progress import continued_with

    _check(options)
    asked, settings = _asked(options)
    if options.dry_run:
        print("\n".join(_listed(asked, settings)))
        return 0
    import_module("scipy.special")  # for the intervals: missed before the runs, not after them
    home = paths.state_home()
    name = options.line.application[0]
    redaction = Redaction.of(user_settings(options.line, paths.spark_home(), os.environ))
    if options.resume is None:
        kept = Characterisation.begin(home, Path(name).name, asked, settings, redaction)
    else:
        kept = Characterisation.resume(home, options.resume, asked, settings, redaction)
    number = kept.directory.name
    try:
        with continued_with(f"--resume {number}"):
            failed = kept.run(asked, settings, quiet_option(options))
    finally:
        print(f"hearth: characterisation {number}", file=sys.stderr)
    _show(kept.characterised(), options)
    return 1 if failed else 0


def _check(options: Namespace) -> None:
    from hearth.studies.engine.arms import refuse_levelling

    if not options.line.application:
        raise UserError("nothing to run: give a suite, a workload, a jar or a Python file")
    for name in _VARIED:
        if getattr(options, name) is not None:
            raise UserError(f"--{name}: each question sets it: leave it out")
    for name in ("unbound", "bind"):
        if getattr(options, name):
            raise UserError(f"--{name}: the question 'nodes' sets it: leave it out")
    if options.docker:  # numactl and taskset of a question would not reach into containers
        raise UserError("--docker: the questions need processes: see hearth compare --arms")
    refuse_levelling(options.line)
    if options.line.has("--master"):
        master = options.line.last("--master")
        raise UserError(f"--master: each question sets it: leave out '{master}'")


def _asked(options: Namespace) -> tuple[list["Asked"], "Settings"]:
    """The questions and their subjects, from the command line and this machine."""
    from hearth.studies.characterise.questions import KEYS, questions
    from hearth.studies.characterise.study import Asked, Settings
    from hearth.studies.characterise.surroundings import surroundings, sustained_gb_s
    from hearth.studies.engine.named_target import subjects

    runs = run_options(options)
    keys = KEYS if options.questions is None else [k.strip() for k in options.questions.split(",")]
    here = surroundings(options, options.change_prefetchers, options.debug)
    asked = [
        Asked(subject, questions(replace(here, job=job), keys))
        for subject, job in subjects(options.line)
    ]
    all_questions = [q for a in asked for q in a.questions]
    counts = any(q.key == "bandwidth" and q.unanswerable is None for q in all_questions)
    settings = Settings(
        repeat=runs.repeat,
        warmup=runs.warmup,
        seed=runs.seed,
        budget_s=runs.budget_s,
        sustained_gb_s=sustained_gb_s() if counts and not options.dry_run else None,
    )
    return asked, settings


def _listed(asked: list["Asked"], settings: "Settings") -> list[str]:
    """What would run, and what this machine cannot answer."""
    from hearth.report.terminal.characterisation import show_questions
    from hearth.report.terminal.screen import Screen

    lines = []
    for one in asked:
        lines += [one.subject.name, *show_questions(one.questions, Screen.of()), ""]
    each = f"{settings.warmup} warm-up and {settings.repeat} counted"
    return [*lines, f"{settings.runs(asked)} runs; for each way {each}"]


def _show(found: "Characterised", options: Namespace) -> None:
    from hearth.base.codec import to_json
    from hearth.report.terminal.characterisation import show_characterisation
    from hearth.report.terminal.screen import Screen

    if options.html:
        from hearth.report.html.page import write_page

        write_page(options.html, [], characterisation=found)
        print(f"hearth: wrote {options.html}", file=sys.stderr)
    if options.json:
        print(json.dumps(to_json(found), indent=2))
    else:
        print("\n".join(show_characterisation(found, Screen.of())))
