"""Measure whether a plan pays off on this machine: run an application in several ways.

The arms are native (local[*] with your own settings), plan (what hearth submit does), unbound (the
plan's executors, not bound), balanced (unbound, with the kernel's NUMA balancing on; needs root),
bound (the plan's executors, bound), package (the same, each bound to a whole package), docker
(bound, each in a container with a cpuset) and tuned (the best that hearth tune found). The default
is native, unbound and bound, or native and plan where the plan is a single JVM. Arms alternate in
random order after a warm-up, and each run is recorded ('hearth runs' lists them). The answer may
be: do not bind.

as-is and fixed:NAME are the plan, without and with a finding of 'hearth doctor' fixed during each
run (needs root; always restored, even after kill -9). 'hearth doctor' then quotes the result.

examples:
  hearth compare my_job.py
  hearth compare --arms native,bound --repeat 20 --class org.example.Job job.jar
  hearth compare --until-certain --budget 30m --executors 4 my_job.py --date 2026-11-21
  hearth compare --arms native,plan,tuned word-count --size 2g
  hearth compare --arms as-is,fixed:huge-pages my_job.py
  hearth compare --dry-run my_job.py
  hearth compare --keep my_job.py
  hearth compare --forget my_job.py
"""

import shlex
import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module

from hearth.base.durations import show_seconds, span
from hearth.base.errors import UserError
from hearth.base.redaction import Redaction
from hearth.cli.answer import tell
from hearth.cli.options import (
    EXPLAIN_HELP,
    RunOptions,
    add_cold_option,
    add_run_options,
    add_submit_options,
    from_namespace,
    group,
    read_submit_line,
    run_options,
)
from hearth.cli.studies import (
    StudyCommand,
    add_study_options,
    show_result,
    with_kept_words,
)
from hearth.doctor.brief import findings_in_brief
from hearth.doctor.reading import read_machine
from hearth.doctor.rules import changes_of
from hearth.machine import paths
from hearth.machine.plan import PlanRequest
from hearth.machine.switch import Switch
from hearth.record.store import last_wall_s
from hearth.report.terminal.screen import Screen, table
from hearth.report.terminal.sources import read_sources
from hearth.spark.conf import read_settings
from hearth.spark.saved_configs import ComparedConfig, forget_compared, keep_compared, kept_tuned
from hearth.spark.submission import make_ready, plan_of
from hearth.spark.submit_args import SubmitLine, is_application
from hearth.studies.compare.result import Compared, ComparisonHead, ComparisonSettings
from hearth.studies.compare.study import Comparison
from hearth.studies.compare.study import run as run_study
from hearth.studies.compare.verdict import compared
from hearth.studies.engine.arms import (
    AS_IS,
    DEFAULT,
    DEFAULT_NATIVE,
    FIXED,
    Arm,
    arms_named,
    fixing_arms,
    profile_words,
    reject_settings_that_equalise_arms,
    setting_words,
    tuned_arm,
    workload_words,
)
from hearth.studies.engine.progress import Quiet, StudyProgress, continued_with
from hearth.studies.engine.runner import check_cold
from hearth.studies.engine.statistics import FIRST_LOOKS, LOOKS
from hearth.studies.engine.store import COMPARE, Opening
from hearth.studies.engine.target import Target, WorkloadTarget, target_of, tuned_as
from hearth.workloads import runner

_EACH_ARM = "set by each arm: leave it out, and see --arms"
_REFUSED = {
    "--docker": _EACH_ARM,
    "--bind": _EACH_ARM,
}


@dataclass(frozen=True)
class CompareCommand(StudyCommand):
    """What the user typed; the fields are the options of these names."""

    line: SubmitLine
    arms: str | None
    runs: RunOptions
    looks: tuple[int, ...]
    cold: bool
    explain: bool
    keep: bool
    forget: bool


@dataclass(frozen=True)
class PlannedTarget:
    """What is compared, as the planner knows it, and the user's Spark settings.

    line: what is planned: the user's, with what is known of a workload.
    """

    target: Target
    line: SubmitLine
    settings: Mapping[str, str]

    @property
    def redaction(self) -> Redaction:
        return Redaction.of(self.settings)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the command's own options; those of spark-submit are separated in `hearth.spark`."""
    parser.usage = (
        "hearth compare [options of hearth or spark-submit] WORKLOAD|APPLICATION [its arguments]"
    )
    add_submit_options(parser, _REFUSED)
    arms_help = (
        "native, plan, unbound, bound, docker, tuned; the first is the baseline; advanced: "
        "balanced, package, or as-is,fixed:NAME"
    )
    parser.add_argument("--arms", metavar="A,B,...", help=arms_help)
    usual = f"{_or(FIRST_LOOKS)}: it stops when each result is clear"
    how_often = add_run_options(parser, repeat=FIRST_LOOKS[-1], warmup=1, usual=usual)
    how_often.add_argument(
        "--until-certain",
        action="store_true",
        help=f"go on for longer until each result is clear: {_or(LOOKS)} runs",
    )
    runs = group(parser, "runs")
    add_cold_option(runs)
    output = group(parser, "output")
    output.add_argument("--explain", action="store_true", help=EXPLAIN_HELP)
    output.add_argument("--keep", action="store_true", help="save the winner for hearth submit")
    output.add_argument(
        "--forget", action="store_true", help="delete the saved winner; run nothing"
    )
    add_study_options(parser, COMPARE, "list the arms and their commands", "comparison")


def parse(parser: ArgumentParser, words: list[str]) -> CompareCommand:
    """Parse the options, with the line that each arm's run is given."""
    words = with_kept_words(parser, COMPARE, words)
    read = read_submit_line(parser, words, behind=True)
    own = read.own
    looks: tuple[int, ...] = FIRST_LOOKS
    if own.repeat is not None or own.until_certain:
        looks = LOOKS if own.until_certain else ()
    return from_namespace(CompareCommand, own, line=read.line, runs=run_options(own), looks=looks)


def _or(numbers: Sequence[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} or {numbers[-1]}"


def run(options: CompareCommand) -> int:
    """Compare and show; return 1 if an arm failed, for scripts."""
    line = options.line
    if not line.application:
        raise UserError("nothing to compare: name a workload, a jar or a Python file")
    if options.forget:
        there = forget_compared(paths.state_home(), line)
        tell("deleted the saved winner" if there else "there was no saved winner")
        return 0
    settings = read_settings(line)
    for note in findings_in_brief(settings, None, line.application[0]):
        print(f"hearth: {note}", file=sys.stderr)
    names = [n.strip() for n in options.arms.split(",")] if options.arms else DEFAULT
    fixing = any(name == AS_IS or name.startswith(FIXED) for name in names)
    if fixing:
        arms = _fixes(options, list(names))
    else:
        arms = arms_named(list(names), tuned=partial(_tuned, options.line, settings))
    _check(options, settings, arms)
    if not options.dry_run:
        import_module("scipy.special")  # for the intervals: missed before the runs, not after them
    planned = _planned(options, settings)
    if all(arm.runs_as_one_jvm or arm.skipped for arm in arms):
        return _compare(options, planned, arms)
    because = _why_native(planned, options.debug)
    if because is None:
        return _compare(options, planned, arms)
    if options.arms:
        print(
            f"Do not bind: the plan for this machine is native ({because}), so it has no executors "
            "to bind. Compare native,plan, or fix executors: --executors 2 --cores 1."
        )
        return 0
    print(f"hearth: the plan is native ({because}): native is compared with plan", file=sys.stderr)
    return _compare(options, planned, arms_named(list(DEFAULT_NATIVE)))


def _fixes(options: CompareCommand, names: list[str]) -> list[Arm]:
    """Return the machine as it is, and with findings of the doctor's fixed."""
    if options.keep:
        raise UserError(
            "--keep: not accepted with fixed:NAME: 'hearth doctor --explain' says how it lasts"
        )
    requested = options.line.planning
    request = PlanRequest(
        workload=requested.workload, executors=requested.executors, cores=requested.cores
    )
    switch = Switch.of(paths.state_home())
    with read_machine(None, request, options.debug) as machine:
        return fixing_arms(names, lambda name: switch.plan(name, changes_of(name, machine)))


def _tuned(line: SubmitLine, settings: Mapping[str, str]) -> Arm:
    """Return the arm of what `hearth tune` found."""
    for name in ("--executors", "--cores"):
        if name in line.planning.given:
            raise UserError(
                f"{name}: conflicts with the arm tuned, which sets it: leave one of them out"
            )
    home = paths.state_home()
    config = kept_tuned(home, tuned_as(line))
    keys = {option.key for option in line.options}
    return tuned_arm(config, line.application[0], settings, keys, home)


def _planned(options: CompareCommand, settings: Mapping[str, str]) -> PlannedTarget:
    """Return the application, or the workload; its kind of work is known to the planner."""
    line = options.line
    target, job = target_of(line, "compare")
    if job is None:
        return PlannedTarget(target, line, settings)
    assert isinstance(target, WorkloadTarget)
    given = {*line.planning.given, *(["--keep"] if options.keep else [])}
    for option in ("--input", "--workload", "--keep"):
        if option in given:
            raise UserError(f"{option}: not accepted for a workload: leave it out")
    kind, size = runner.KINDS[job.family], f"{target.input_bytes}b"
    requested = replace(line.planning, workload=kind, input=size)
    return PlannedTarget(target, replace(line, planning=requested), settings)


def _check(options: CompareCommand, settings: Mapping[str, str], arms: list[Arm]) -> None:
    reject_settings_that_equalise_arms(settings)
    if arms[0].skipped or sum(arm.skipped is None for arm in arms) < 2:
        reasons = "; ".join(f"{arm.name}: {arm.skipped}" for arm in arms if arm.skipped)
        raise UserError(f"--arms: no other arm can run here ({reasons}): choose other arms")
    if options.cold:
        check_cold()
    master = options.line.last("--master")
    if master is not None and not master.startswith("local-numa"):
        raise UserError(
            f"--master: '{master}' is not planned by hearth: leave it out, or use local-numa"
        )


def _why_native(planned: PlannedTarget, debug: bool) -> str | None:
    """Return why the plan is one JVM, which arms with executors cannot be; None where it is not."""
    plan = plan_of(planned.line, planned.settings, debug)
    if plan is None or not plan.is_native:
        return None
    return next(reason.because for reason in plan.reasons if reason.decision == "partition")


def _list(options: CompareCommand, redaction: Redaction, arms: list[Arm]) -> None:
    """List what would run."""
    is_app = is_application(options.line.application[0])
    rows = []
    for arm in arms:
        words = (
            profile_words(arm, options.line)
            if is_app
            else workload_words(arm, options.line.last("--master"))
        )
        shown = shlex.join([*(["hearth", "profile"] if is_app else []), *redaction.words(words)])
        rows.append([arm.name, f"not here: {arm.skipped}" if arm.skipped else shown])
    head = "command" if is_app else "options of the workload's run"
    print("\n".join(table(Screen.of(), ["arm", head], rows)))
    for arm in arms:
        if arm.fix is not None:
            print(f"{arm.name}: {setting_words(arm)}")
    measured = _or(options.looks) if options.looks else f"{options.runs.repeat}"
    print(f"\nruns of each arm: {options.runs.warmup} warm-up, {measured} measured")


def _compare(options: CompareCommand, planned: PlannedTarget, arms: list[Arm]) -> int:
    if not is_application(options.line.application[0]):
        planning = options.line.planning.to_words()
        arms = [
            replace(one, words=(*planning, *one.words)) if one.is_planned else one for one in arms
        ]
    if options.dry_run:
        _list(options, planned.redaction, arms)
        return 0
    if is_application(options.line.application[0]) and any(arm.is_planned for arm in arms):
        make_ready(planned.line, planned.settings, options.debug)
    comparison = _begun(options, planned, arms)
    runs = options.runs
    fewest = _say_how_long(comparison.head, planned.target.name)
    at_most = bool(options.looks) or runs.budget_s is not None
    progress = StudyProgress(at_most, quiet=Quiet(runs.wait_idle_s), fewest=fewest)
    with continued_with(f"compare --resume {comparison.head.id}"), progress.shown():
        run_study(comparison, arms, planned.target, progress, budget_s=runs.budget_s)
    result = compared(comparison.head, comparison.trials)
    runs_shown = read_sources([result.id], paths.state_home()).runs if options.html else ()
    named = f"comparison {result.id}"
    if not options.explain:
        named += f" ('hearth report {result.id} --explain' shows what was counted)"
    show_result(result, options.json, options.html, named, runs_shown, explain=options.explain)
    if options.keep:
        _keep(options.line, result, arms)
    return 1 if any(trial.failure for trial in comparison.trials) else 0


def _say_how_long(head: ComparisonHead, application: str) -> int:
    """Say how many runs it takes, and how long if one was recorded before; return the fewest."""
    settings, arms = head.settings, head.running
    measured = (settings.looks or [settings.most])[0], settings.most
    fewest, most = ((settings.warmup + number) * len(arms) for number in measured)
    runs = f"{most} runs" if fewest == most else f"{fewest} to {most} runs"
    earlier_s = last_wall_s(paths.state_home(), application)
    if earlier_s is None:
        how_long = "how long they take is known after the first"
    else:
        took = f"the last run of it took {show_seconds(earlier_s, 0)}"
        how_long = f"about {span(fewest * earlier_s, most * earlier_s)}, for {took}"
    print(f"hearth: {runs} of {' and '.join(arms)}: {how_long}", file=sys.stderr, flush=True)
    return fewest


def _begun(options: CompareCommand, planned: PlannedTarget, arms: list[Arm]) -> Comparison:
    """Begin or resume the comparison."""
    line, runs, looks = options.line, options.runs, options.looks
    words = [*line.planning.to_words(), *line.application]
    settings = ComparisonSettings(
        warmup=runs.warmup,
        seed=runs.seed,
        cold=options.cold,
        command=list(planned.redaction.words(words)),
        options=list(planned.redaction.words(line.option_words)),
        repeat=None if looks else runs.repeat,
        looks=list(looks) or None,
    )
    opening = Opening(planned.redaction, options.resume, options.typed)
    return Comparison.begin(paths.state_home(), planned.target.name, arms, settings, opening)


def _keep(line: SubmitLine, result: Compared, arms: list[Arm]) -> None:
    verdict = result.verdict
    if verdict.choice is None:
        print("hearth: there is no winner to save", file=sys.stderr)
        return
    if verdict.choice == "tuned":
        print(
            "hearth: 'hearth submit --tuned' already runs the winner; nothing was saved",
            file=sys.stderr,
        )
        return
    (arm,) = (arm for arm in arms if arm.name == verdict.choice)
    config: ComparedConfig = {
        "arm": arm.name,
        "master": arm.master or line.last("--master"),
        "words": [] if arm.master else [*line.planning.to_words(), *arm.words],
        "comparison": result.id,
        "sentence": verdict.sentence,
    }
    keep_compared(paths.state_home(), line, config)
    print(f"hearth: saved: hearth submit will use the arm '{arm.name}'", file=sys.stderr)
