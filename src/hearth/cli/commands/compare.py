"""Measures whether a plan pays on this machine: runs an application in several ways.

The arms are native (local[*] with your own settings), plan (what hearth submit does), unbound (the
plan's executors, not bound), balanced (unbound, with the kernel's NUMA balancing on; root), bound
(the plan's executors, bound), package (the same, each to a whole package), docker (bound, each in
a container with a cpuset) and tuned (what hearth tune found best). By default native, unbound and
bound, or native and plan where the plan is one JVM. They alternate in random order after a warm-up;
every run is recorded (hearth runs). The answer may be: do not bind.

examples:
  hearth compare my_job.py
  hearth compare --arms native,bound --repeat 20 --class org.example.Job job.jar
  hearth compare --until-certain --budget 30m --executors 4 my_job.py --date 2026-11-21
  hearth compare --arms native,plan,tuned word-count --size 2g
  hearth compare --dry-run my_job.py
  hearth compare --keep my_job.py
  hearth compare --forget my_job.py
"""

import json
import os
import shlex
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hearth.base.errors import UserError
from hearth.spark.submit_args import (
    add_submit_arguments,
    options_of,
    own_options,
    planning_words,
    split_line,
    without,
)
from hearth.studies.engine.options import add_run_options, quiet_option, run_options

if TYPE_CHECKING:
    from hearth.machine.plan import Plan
    from hearth.studies.compare.result import Compared
    from hearth.studies.engine.arms import Arm
    from hearth.studies.engine.target import Subject


def add_arguments(parser: ArgumentParser) -> None:
    """The command's own options; those of spark-submit are separated in `hearth.spark`."""
    parser.usage = (
        "hearth compare [options of hearth or spark-submit] WORKLOAD|APPLICATION [its arguments]"
    )
    add_submit_arguments(parser)
    arms_help = (
        "native, plan, unbound, balanced, bound, package, docker, tuned; the first is the baseline"
    )
    parser.add_argument("--arms", metavar="A,B,...", help=arms_help)
    how_often = add_run_options(parser, repeat=10, warmup=1)
    how_often.add_argument(
        "--until-certain",
        action="store_true",
        help="run until each arm is decided, checked after 5, 7, 10, 14, 20 and 30 runs",
    )
    parser.add_argument(
        "--cold", action="store_true", help="drop the page cache before each run (root)"
    )
    parser.add_argument("--keep", action="store_true", help="make hearth submit use the winner")
    parser.add_argument("--forget", action="store_true", help="forget the kept winner; run nothing")
    parser.add_argument(
        "--resume", metavar="ID", help="go on with a comparison that was interrupted"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="list the arms with their commands, run nothing"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document (contract/)")


def parse(parser: ArgumentParser, words: list[str]) -> Namespace:
    """The options, with the whole command line."""
    from hearth.studies.engine.named_target import with_options_behind

    own = own_options(parser)
    line = with_options_behind(split_line(words, options_of(parser)), own)
    options = parser.parse_args(line.hearth)
    # From here on the line is what each arm's run is given.
    options.line = replace(line, hearth=without(line.hearth, own))
    options.runs, options.list_only = run_options(options), options.dry_run
    options.dry_run = True  # of the submission, which is prepared to know its plan
    return options


def run(options: Namespace) -> int:
    """Compares and shows; 1 if an arm failed, for scripts."""
    from hearth.machine import paths
    from hearth.spark.saved_configs import forget_choice
    from hearth.studies.engine import arms as ways

    if not options.line.application:
        raise UserError("nothing to compare: name a workload, a jar or a Python file")
    if options.forget:
        there = forget_choice(paths.state_home(), options.line)
        print("hearth: forgotten" if there else "hearth: nothing was kept", file=sys.stderr)
        return 0
    names = [n.strip() for n in options.arms.split(",")] if options.arms else ways.DEFAULT
    arms = ways.chosen(list(names), tuned=partial(_tuned, options))
    _check(options, arms)
    if not options.list_only:
        import_module("scipy.special")  # for the intervals: missed before the runs, not after them
    options.subject = _subject(options)
    if all(arm.name in ways.WITHOUT_EXECUTORS or arm.skipped for arm in arms):
        return _compare(options, arms)
    because = _why_native(options)
    if because is None:
        return _compare(options, arms)
    if options.arms:
        print(
            f"Do not bind: the plan for this machine is native ({because}), so it has no executors "
            "to bind. Compare native,plan, or fix executors: --executors 2 --cores 1."
        )
        return 0
    print(f"hearth: the plan is native ({because}): native is compared with plan", file=sys.stderr)
    return _compare(options, ways.chosen(list(ways.DEFAULT_NATIVE)))


def _tuned(options: Namespace) -> "Arm":
    """The arm of what `hearth tune` found."""
    from hearth.machine import paths
    from hearth.spark.conf import user_settings
    from hearth.spark.private_options import key_of
    from hearth.spark.saved_configs import tuned_choice
    from hearth.studies.engine.arms import tuned_arm
    from hearth.studies.engine.named_target import tuned_as

    line, home = options.line, paths.state_home()
    for name in ("executors", "cores"):
        if getattr(options, name) is not None:
            raise UserError(f"--{name}: the arm tuned sets it: leave one of them out")
    settings = user_settings(line, paths.spark_home(), os.environ)
    found = tuned_choice(home, tuned_as(line))
    typed = {key_of(option) for option in line.options}
    return tuned_arm(found, line.application[0], settings, typed, home)


def _subject(options: Namespace) -> "Subject":
    """The application, or the workload; its kind of work is known to the planner."""
    from hearth.studies.engine.named_target import subject_of

    subject, job = subject_of(options.line, "compare")
    if job is None:
        return subject
    from hearth.studies.engine.workload_target import Workload
    from hearth.workloads import runner

    assert isinstance(subject, Workload)
    for option in ("input", "workload", "keep"):
        if getattr(options, option):
            raise UserError(f"--{option}: a workload is compared without it: leave it out")
    options.workload = runner.KINDS[job.family]
    options.input = f"{subject.input_bytes}b"
    return subject


def _check(options: Namespace, arms: list["Arm"]) -> None:
    from hearth.studies.engine.arms import refuse_levelling

    for name in ("unbound", "docker"):
        if getattr(options, name):
            raise UserError(f"--{name}: each arm sets it: leave it out, see --arms")
    if options.bind == "none":
        raise UserError("--bind: none is the arm unbound: leave it out, see --arms")
    if options.bind == "package" and "package" in [arm.name for arm in arms]:
        raise UserError("--bind: package is an arm of its own: leave it out, see --arms")
    refuse_levelling(options.line)
    if arms[0].skipped or sum(arm.skipped is None for arm in arms) < 2:
        reasons = "; ".join(f"{arm.name}: {arm.skipped}" for arm in arms if arm.skipped)
        raise UserError(f"--arms: nothing to compare with the baseline: {reasons}")
    drop = Path("/proc/sys/vm/drop_caches")
    if options.cold and not os.access(drop, os.W_OK):
        raise UserError(f"--cold: {drop} can only be written by root: leave it out")
    master = options.line.last("--master")
    if master is not None and not master.startswith("local-numa"):
        raise UserError(
            f"--master: '{master}' does not use a plan: leave it out, or give local-numa[NxM]"
        )


def _why_native(options: Namespace) -> str | None:
    """Why the plan is one JVM, which the arms with executors cannot be; None where it is not."""
    from hearth.spark.submission import prepare

    said: list[Plan] = []
    prepare(options, options.line, said.append, measured=False)
    if not said or not said[0].is_native:
        return None
    return next(reason.because for reason in said[0].reasons if reason.decision == "partition")


def _list(options: Namespace, arms: list["Arm"]) -> None:
    """What would run."""
    from hearth.base.redaction import Redaction
    from hearth.machine import paths
    from hearth.report.terminal.screen import Screen, table
    from hearth.spark.conf import user_settings
    from hearth.studies.engine.arms import profile_words, workload_words
    from hearth.studies.engine.named_target import is_application
    from hearth.studies.engine.statistics import LOOKS

    redaction = Redaction.of(user_settings(options.line, paths.spark_home(), os.environ))
    is_app = is_application(options.line.application[0])
    rows = []
    for arm in arms:
        words = profile_words(arm, options.line) if is_app else workload_words(arm)
        shown = shlex.join([*(["hearth", "profile"] if is_app else []), *redaction.words(words)])
        rows.append([arm.name, f"not here: {arm.skipped}" if arm.skipped else shown])
    head = "command" if is_app else "options of the workload's run"
    print("\n".join(table(Screen.of(), ["arm", head], rows)))
    counted = f"up to {LOOKS[-1]}" if options.until_certain else f"{options.runs.repeat}"
    print(f"\nof each arm {options.runs.warmup} warm-up and {counted} counted runs")


def _compare(options: Namespace, arms: list["Arm"]) -> int:
    from hearth.studies.engine.named_target import is_application

    if not is_application(options.line.application[0]):
        own = planning_words(options.line)
        arms = [replace(one, words=(*own, *one.words)) if one.is_planned else one for one in arms]
    if options.list_only:
        _list(options, arms)
        return 0
    from hearth.base.redaction import Redaction
    from hearth.machine import paths
    from hearth.spark.conf import user_settings
    from hearth.studies.compare.result import Settings
    from hearth.studies.compare.study import Comparison, run
    from hearth.studies.compare.verdict import compared
    from hearth.studies.engine.progress import Following, continued_with
    from hearth.studies.engine.statistics import LOOKS

    line = options.line
    redaction = Redaction.of(user_settings(line, paths.spark_home(), os.environ))
    certain, runs = options.until_certain, options.runs
    settings = Settings(
        warmup=runs.warmup,
        seed=runs.seed,
        cold=options.cold,
        command=list(redaction.words([*line.hearth, *line.application])),
        repeat=None if certain else runs.repeat,
        looks=list(LOOKS) if certain else None,
    )
    subject = options.subject
    place: tuple[Any, ...] = (subject.name, arms, settings, redaction)
    if options.resume is None:
        comparison = Comparison.begin(paths.state_home(), *place)
    else:
        comparison = Comparison.resume(paths.state_home(), options.resume, *place)
    at_most = certain or runs.budget_s is not None
    following = Following(at_most, quiet=quiet_option(options))
    following.ended(sum(outcome.failure is None for outcome in comparison.outcomes))
    with continued_with(f"--resume {comparison.head.id}"), following.shown():
        run(comparison, arms, subject, following, budget_s=runs.budget_s)
    said = compared(comparison.head, comparison.outcomes)
    _show(said, options.json)
    if options.keep:
        _keep(options, said, arms)
    return 1 if any(outcome.failure for outcome in comparison.outcomes) else 0


def _show(said: "Compared", as_json: bool) -> None:
    from hearth.base.codec import to_json
    from hearth.report.terminal.compare import show_comparison
    from hearth.report.terminal.screen import Screen

    if as_json:
        print(json.dumps(to_json(said), indent=2))
        return
    print("\n".join(show_comparison(said, Screen.of())))
    print(f"hearth: comparison {said.id}", file=sys.stderr)


def _keep(options: Namespace, said: "Compared", arms: list["Arm"]) -> None:
    from hearth.machine import paths
    from hearth.spark.saved_configs import keep_choice

    verdict = said.verdict
    if verdict.choice is None:
        print("hearth: there is no winner to keep", file=sys.stderr)
        return
    if verdict.choice == "tuned":
        print("hearth: hearth submit --tuned runs the winner; nothing is kept", file=sys.stderr)
        return
    (arm,) = (arm for arm in arms if arm.name == verdict.choice)
    choice = {
        "arm": arm.name,
        "master": arm.master or options.line.last("--master"),
        "words": [] if arm.master else [*planning_words(options.line), *arm.words],
        "comparison": said.id,
        "sentence": verdict.sentence,
    }
    keep_choice(paths.state_home(), options.line, choice)
    print(f"hearth: kept: hearth submit will run it with arm '{arm.name}'", file=sys.stderr)
