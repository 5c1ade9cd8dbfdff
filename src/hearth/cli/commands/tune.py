"""Find the fastest configuration of an application on this machine in few runs.

Takes what hearth submit takes, or the name of a workload. Each trial is a recorded run ('hearth
runs' lists them). hearth first runs the plan's proposal and your own configuration, then what a
model expects to be faster: executors x cores, collector, binding, and any key of --vary. What you
fix stays fixed. A trial that can no longer win is stopped; a failed one still teaches the model.
The search ends when another trial would not pay for itself. hearth submit --tuned uses the result;
hearth report ID shows it again.

examples:
  hearth tune my_job.py --date 2026-11-21
  hearth tune --budget 12 --limit 30m --class org.example.Job job.jar
  hearth tune --vary spark.sql.shuffle.partitions=64,200,800 my_job.py
  hearth tune --dry-run my_job.py
  hearth tune word-count --size 2g --budget 5
"""

import os
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hearth.base.errors import UserError
from hearth.base.redaction import Redaction
from hearth.base.sizes import counted, show_mb
from hearth.cli.options import (
    ADVANCED,
    add_submit_options,
    add_wait_option,
    from_namespace,
    group,
    parse_limit,
    read_submit_line,
    wait_option,
)
from hearth.cli.studies import (
    StudyCommand,
    add_study_options,
    show_result,
    with_kept_words,
)
from hearth.machine import paths
from hearth.machine.jvm import topology
from hearth.report.terminal.screen import Screen, table
from hearth.report.tune import sentence
from hearth.spark.conf import read_settings, user_master
from hearth.spark.saved_configs import TunedConfig, keep_tuned, machine_key, withdraw_tuned
from hearth.spark.submission import leave_reserved, make_ready
from hearth.spark.submit_args import SubmitLine, is_application
from hearth.studies.engine.progress import Quiet, StudyProgress, continued_with
from hearth.studies.engine.store import TUNE, Opening
from hearth.studies.engine.target import Target, target_of, tuned_as
from hearth.studies.models.space import DRIVERS_JAVA_OPTIONS, JAVA_OPTIONS, MachineSize
from hearth.studies.tune.result import Tuned, TuneSettings
from hearth.studies.tune.search_space import SearchSpace, parse_vary, space
from hearth.workloads import runner

# What searches loads numpy, which `run` limits first: imported where it runs.
if TYPE_CHECKING:
    from hearth.studies.tune.study import Tune

_MOST_TRIALS = 1000
_MOST_RUNS = 1_000_000


@dataclass(frozen=True)
class TuneCommand(StudyCommand):
    """The user's options; each field is the option of that name."""

    line: SubmitLine
    budget: int
    limit: str
    vary: list[str]
    for_runs: int
    wait_quiet_s: float | None


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's own options; those of spark-submit are separated in `hearth.spark`."""
    parser.usage = (
        "hearth tune [options of hearth or spark-submit] WORKLOAD|APPLICATION [its arguments]"
    )
    add_submit_options(parser)
    _add_trial_arguments(parser)


def _add_trial_arguments(parser: ArgumentParser) -> None:
    trials = group(parser, "trials")
    trials.add_argument(
        "--budget", metavar="N", type=int, default=8, help="maximum number of trials (default: 8)"
    )
    trials.add_argument(
        "--limit", metavar="TIME", default="1h", help="stop a trial after TIME (default: 1h)"
    )
    trials.add_argument(
        "--vary", metavar="spark.KEY=A,B,...", action="append", default=[],
        help="also try these values of a setting; may be repeated",
    )  # fmt: skip
    group(parser, ADVANCED).add_argument(
        "--for-runs", metavar="N", type=int, default=100,
        help="how often you will run the application with the result: hearth skips a trial that "
        "is not expected to pay for itself over that many runs (default: 100)",
    )  # fmt: skip
    add_wait_option(parser, "trials")
    add_study_options(parser, TUNE, "list the configurations", "tune", "trials")


def parse(parser: ArgumentParser, words: list[str]) -> TuneCommand:
    """Return the options, with the line that each run is given."""
    words = with_kept_words(parser, TUNE, words)
    read = read_submit_line(parser, words, behind=True)
    return from_namespace(TuneCommand, read.own, line=read.line, wait_quiet_s=wait_option(read.own))


def run(options: TuneCommand) -> int:
    """Tune and show what was found."""
    _load_with_one_thread()
    if not options.line.application:
        raise UserError("nothing to tune: name a workload, a jar or a Python file")
    leave_reserved(options.line.planning)
    return _tune(options)


def _load_with_one_thread() -> None:
    """Limit the linear algebra to one thread: its matrices are small.

    It reads the variable when it is loaded; the applications do not inherit it.
    """
    if "OMP_NUM_THREADS" in os.environ:
        return
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        import numpy as np  # noqa: F401
        import scipy.linalg  # noqa: F401
    finally:
        del os.environ["OMP_NUM_THREADS"]


def _settings(options: TuneCommand) -> TuneSettings:
    limits = (("budget", options.budget, _MOST_TRIALS), ("for-runs", options.for_runs, _MOST_RUNS))
    for name, value, most in limits:
        if not 1 <= value <= most:
            raise UserError(f"--{name}: {value} is not between 1 and {most}: use e.g. 8")
    return TuneSettings(options.budget, parse_limit(options.limit), options.for_runs)


def _tune(options: TuneCommand) -> int:
    from hearth.studies.tune.study import run as run_study  # loads numpy, limited by now
    from hearth.studies.tune.verdict import tuned  # likewise

    tune_settings, settings = _settings(options), read_settings(options.line)
    target, line = _target(options.line)
    if options.dry_run:
        if options.resume is not None:
            raise UserError("--dry-run: cannot be combined with --resume: leave one of them out")
        _list(_space(options, line, settings)[0], tune_settings)
        return 0
    if line.application and is_application(line.application[0]):
        make_ready(line, settings, options.debug)
    tune = _begun(options, line, target, settings, tune_settings)
    progress = StudyProgress(at_most=True, quiet=Quiet(options.wait_quiet_s))
    progress.ended(len(tune.trials))
    with continued_with(f"tune --resume {tune.head.id}"), progress.shown():
        run_study(tune, target, settings, progress, {option.key for option in line.options})
    result = tuned(tune)
    keep_or_withdraw(options.line, tune, result)
    show_result(result, options.json, options.html, f"tune {result.id}")
    return 0


def _begun(
    options: TuneCommand,
    line: SubmitLine,
    target: Target,
    settings: Mapping[str, str],
    tune_settings: "TuneSettings",
) -> "Tune":
    """Return the tune, new or resumed. line: as it is planned."""
    from hearth.studies.tune.study import Tune  # loads numpy, limited by now

    redaction, typed_line = Redaction.of(settings), options.line
    words = [*typed_line.planning.to_words(), *typed_line.option_words, *typed_line.application]
    command = [*redaction.words(words), *options.vary]
    opening = Opening(redaction, options.resume, options.typed)
    return Tune.begin(
        paths.state_home(), target, lambda: _space(options, line, settings), tune_settings, command,
        machine_key(), opening,
    )  # fmt: skip


def _target(line: SubmitLine) -> tuple[Target, SubmitLine]:
    """Return the application or workload, and the line as planned: with its kind of work."""
    target, job = target_of(line, "tune")
    if job is None:
        return target, line
    for option in ("--memory", "--docker", "--hosts", "--input", "--workload"):
        if option in line.planning.given:
            raise UserError(f"{option}: not accepted for a workload: leave it out")

    requested = replace(line.planning, workload=runner.KINDS[job.family])
    return target, replace(line, planning=requested)


def _space(
    options: TuneCommand, line: SubmitLine, settings: Mapping[str, str]
) -> tuple[SearchSpace, MachineSize]:
    vary = parse_vary(options.vary, settings)
    machine = topology(debug=options.debug)
    master = user_master(line, settings, os.environ)
    search_space = space(line, settings, master, vary, machine, options.debug)
    return search_space, MachineSize.allowed(machine)


def _list(search_space: SearchSpace, tune_settings: "TuneSettings") -> None:
    """List the configurations that may be tried, and the limit of trials."""
    screen, roles = (
        Screen.of(),
        {search_space.proposal: "the plan: first", search_space.current: "as typed: next"},
    )
    if search_space.proposal == search_space.current:
        roles = {search_space.proposal: "as typed, which is the plan: first"}
    rows = [
        [one.shown, one.binding, show_mb(one.heap_mb), roles.get(at, "")]
        for at, one in enumerate(search_space.configurations)
    ]
    print("\n".join(table(screen, ["configuration", "bound to", "heap", ""], rows, "heap")))
    for refused in search_space.refused:
        print(screen.paragraph(f"does not fit: {refused.shown}: {refused.reason}", "  ", "    "))
    among = counted(len(search_space.configurations), "configuration")
    print(f"\nat most {counted(tune_settings.budget, 'trial')} among {among}")


def keep_or_withdraw(line: SubmitLine, tune: "Tune", result: Tuned) -> None:
    """Keep the best for `hearth submit --tuned` and `lab run --tuned`, or withdraw what was."""
    from hearth.studies.tune.verdict import winner  # loads numpy, limited by now

    way = winner(tune)
    if way is None:
        print(f"hearth: nothing is saved: {result.not_kept}", file=sys.stderr)
        before = withdraw_tuned(paths.state_home(), tuned_as(line))
        if before is not None:
            gone = f"the result of {before['tune']} is withdrawn: --tuned no longer uses it"
            print(f"hearth: {gone}", file=sys.stderr)
        return
    key = JAVA_OPTIONS if way.executors else DRIVERS_JAVA_OPTIONS
    config: TunedConfig = {
        "tune": tune.head.id,
        "date": tune.head.started,
        "sentence": sentence(result),
        "master": None if way.master.startswith("local-numa") else way.master,
        "executors": way.executors or None,
        "cores": way.cores if way.executors else None,
        "unbound": bool(way.executors) and way.binding == "none",
        "conf": way.varied,
        "java": {key: way.java} if way.java else {},
    }
    name = line.application[0]
    keep_tuned(paths.state_home(), tuned_as(line), config)
    words = "hearth submit --tuned" if is_application(name) else f"hearth lab run {name} --tuned"
    print(f"hearth: saved: {words} uses this configuration", file=sys.stderr)
