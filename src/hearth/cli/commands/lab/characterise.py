"""Answer the published studies' questions for this machine, with your application or a workload.

Each question compares several configurations: 1, 2, 4 or 6 executors with the same total cores and
memory; executors x cores, and why the slower ones lose; 1 to N nodes, bound and unbound; memory on
another node; one JVM on 1 to all cores; hardware threads per core; the prefetchers; memory
bandwidth; what the cores wait for; batch and streaming; the event rate. Questions that this machine
cannot answer are listed with the reason. Runs alternate in random order after a warm-up, and each
is recorded ('hearth runs' lists them).

examples:
  hearth lab characterise my_job.py --date 2026-11-21
  hearth lab characterise --dry-run my_job.py
  hearth lab characterise --questions executors,sweep --repeat 10 word-count --size 2g
  hearth lab characterise --questions rates streaming-network-word-count
  hearth lab characterise --html machine.html batch
"""

import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from hearth.base.errors import UserError
from hearth.base.redaction import Redaction
from hearth.base.sizes import counted
from hearth.cli.options import (
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
from hearth.machine import paths
from hearth.report.characterisation import show_questions
from hearth.report.terminal.screen import Screen
from hearth.spark.conf import read_settings
from hearth.spark.submission import leave_reserved
from hearth.spark.submit_args import SubmitLine
from hearth.studies.characterise.questions import KEYS, Question, questions
from hearth.studies.characterise.result import CharacterisationSettings
from hearth.studies.characterise.study import Characterisation, TargetQuestion
from hearth.studies.characterise.surroundings import surroundings, sustained_gb_s
from hearth.studies.engine.arms import reject_settings_that_equalise_arms
from hearth.studies.engine.progress import Quiet, continued_with
from hearth.studies.engine.runner import check_cold
from hearth.studies.engine.store import CHARACTERISE, Opening
from hearth.studies.engine.target import targets

_EACH_QUESTION = "set by each question: leave it out"
#: The questions whose arms are bound, and those that are run, as the user says.
_BOUND_AS_ASKED = ("executors", "sweep")
_RUN_AS_ASKED = ("prefetchers", "bandwidth", "slots", "kinds", "rates")
#: What the questions vary themselves.
_REFUSED = {
    "--executors": _EACH_QUESTION,
    "--cores": _EACH_QUESTION,
    "--memory": _EACH_QUESTION,
    # numactl and taskset of a question would not reach into containers.
    "--docker": "the questions need processes: leave it out, and see hearth compare --arms",
}


@dataclass(frozen=True)
class CharacteriseCommand(StudyCommand):
    """The user's options; each field is the option of that name."""

    line: SubmitLine
    questions: str | None
    runs: RunOptions
    sweep: str | None
    search_nodes: bool
    smt_ladder: bool
    change_prefetchers: bool
    cold: bool


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's own options; those of spark-submit are separated in `hearth.spark`."""
    parser.usage = (
        "hearth lab characterise [options of hearth or spark-submit] "
        "SUITE|WORKLOAD|APPLICATION [its parameters or arguments]"
    )
    add_submit_options(parser, _REFUSED)
    parser.add_argument(
        "--questions", metavar="A,B,...", help="answer only these questions (default: all)"
    )
    add_run_options(parser, repeat=7, warmup=1)
    runs = group(parser, "runs")
    runs.add_argument("--sweep", metavar="NxM,...", help="executors x cores to try, e.g. 2x4,4x2")
    runs.add_argument(
        "--search-nodes",
        action="store_true",
        help="try 1, 2, 3, 4 and 6 executors on each node, and compare the best (question nodes)",
    )
    runs.add_argument(
        "--smt-ladder",
        action="store_true",
        help="use 1 to 12 cores of one node, with its memory (question smt)",
    )
    runs.add_argument(
        "--change-prefetchers",
        action="store_true",
        help="allow switching them through model-specific registers (needs root; always restored)",
    )
    add_cold_option(runs)
    add_study_options(parser, CHARACTERISE, "list the questions and runs", "characterisation")


def parse(parser: ArgumentParser, words: list[str]) -> CharacteriseCommand:
    """Return the options, with the line that each run is given."""
    words = with_kept_words(parser, CHARACTERISE, words)
    read = read_submit_line(parser, words, behind=True)
    return from_namespace(CharacteriseCommand, read.own, line=read.line, runs=run_options(read.own))


def run(options: CharacteriseCommand) -> int:
    """Run and show the answers; return 1 if a run failed, for scripts."""
    if not options.line.application:
        raise UserError("nothing to run: give a suite, a workload, a jar or a Python file")
    leave_reserved(options.line.planning)
    spark = read_settings(options.line)
    reject_settings_that_equalise_arms(spark)
    if options.cold:
        check_cold()
    questions = _questions(options, spark)
    runs = options.runs
    words = [
        *options.line.planning.to_words(),
        *options.line.option_words,
        *options.line.application,
    ]
    command = Redaction.of(spark).words(words)
    settings = CharacterisationSettings(
        runs.repeat, runs.warmup, runs.seed, options.cold, list(command)
    )
    if options.dry_run:
        print("\n".join(_listed(questions, settings)))
        return 0
    import_module("scipy.special")  # for the intervals: missed before the runs, not after them
    study = _begun(options, questions, settings, Redaction.of(spark))
    try:
        with continued_with(f"lab characterise --resume {study.head.id}"):
            failed = study.run(questions, runs.budget_s, Quiet(runs.wait_idle_s))
    finally:
        print(f"hearth: characterisation {study.head.id}", file=sys.stderr)
    show_result(study.characterised(), options.json, options.html)
    return 1 if failed else 0


def _check_for(option: str, value: str | None, keys: Sequence[str], takes: Sequence[str]) -> None:
    """Raise UserError where a question sets an option itself."""
    own = [key for key in keys if key in KEYS and key not in takes]
    if value is not None and own:
        raise UserError(
            f"{option}: the question '{own[0]}' sets it: leave out '{value}', or ask only "
            f"--questions {','.join(takes)}"
        )


def _questions(options: CharacteriseCommand, spark: Mapping[str, str]) -> list[TargetQuestion]:
    """Return the questions of each target, from the command line and this machine."""
    line = options.line
    keys = KEYS if options.questions is None else [k.strip() for k in options.questions.split(",")]
    _check_for("--bind", line.planning.bind, keys, _BOUND_AS_ASKED)
    _check_for("--master", line.last("--master"), keys, _RUN_AS_ASKED)
    machine = surroundings(
        line, spark, options.sweep,
        may_switch=options.change_prefetchers, debug=options.debug,
        search_nodes=options.search_nodes, smt_ladder=options.smt_ladder,
    )  # fmt: skip
    return [
        TargetQuestion(target, _bound(question, line.planning.bind if job else None))
        for target, job in targets(line)
        for question in questions(replace(machine, job=job), keys)
    ]


def _bound(question: Question, bind: str | None) -> Question:
    """Return it with arms that are bound so: a workload's runs are given no other words."""
    words = () if bind is None else ("--bind", bind)
    return replace(
        question, arms=tuple(replace(arm, words=(*arm.words, *words)) for arm in question.arms)
    )


def _begun(
    options: CharacteriseCommand,
    target_questions: list[TargetQuestion],
    settings: CharacterisationSettings,
    redaction: Redaction,
) -> Characterisation:
    """Begin or resume the characterisation."""
    name = Path(options.line.application[0]).name
    opening = Opening(redaction, options.resume, options.typed)
    answerable = [one.question.key for one in target_questions if one.question.unanswerable is None]
    sustained = sustained_gb_s() if "bandwidth" in answerable else None
    return Characterisation.begin(
        paths.state_home(), name, target_questions, settings, opening, sustained
    )


def _listed(
    target_questions: list[TargetQuestion], settings: CharacterisationSettings
) -> list[str]:
    """List what would run, and what this machine cannot answer."""
    lines = []
    for name in dict.fromkeys(one.target.name for one in target_questions):
        of_target = [one.question for one in target_questions if one.target.name == name]
        lines += [name, *show_questions(of_target, Screen.of()), ""]
    each = f"{settings.warmup} warm-up, {settings.repeat} measured"
    number = sum(len(one.turns(settings)) for one in target_questions)
    return [*lines, f"{counted(number, 'run')}; of each arm: {each}"]
