"""Runs an application like spark-submit, planned for this machine and bound to it.

A drop-in for spark-submit: all its options may be given, before the application as usual, and are
passed through; whatever follows the application belongs to the application. hearth's own options
may be anywhere before the application. A five-line plan is printed on standard error; the exit code
is the application's.

With no --master, or with one of the forms local-numa, local-numa[4] (executors) and
local-numa[4x12] (executors x cores), hearth plans. With any other master, hearth only passes the
command on to spark-submit.

examples:
  hearth submit my_job.py
  hearth submit --input 200g --workload sql my_job.py --date 2026-11-21
  hearth submit --executors 4 --memory 20g --class org.example.Job job.jar
  hearth submit --master 'local-numa[4x12]' --conf spark.sql.shuffle.partitions=96 my_job.py
  hearth submit --dry-run my_job.py
  hearth submit --tuned my_job.py
"""

import os
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from hearth.base.errors import UserError
from hearth.base.java import collector_of
from hearth.base.redaction import KEY_PATTERN, REDACTED, Redaction, is_redacted
from hearth.machine import paths
from hearth.spark.private_options import handed_over
from hearth.spark.submission import prepare
from hearth.spark.submit_args import Option, add_submit_arguments, options_of, split_line

if TYPE_CHECKING:
    from hearth.machine.plan import Plan

_REDACTED_NOTE = (
    f"'{REDACTED}' hides values ({KEY_PATTERN}): the command above does not "
    "run until you put them back; without --dry-run they are used as given"
)


def add_arguments(parser: ArgumentParser) -> None:
    """The command's own options; those of spark-submit are separated in `hearth.spark`."""
    parser.usage = "hearth submit [options of hearth or spark-submit] APPLICATION [its arguments]"
    add_submit_arguments(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="print the exact command; run nothing"
    )
    parser.add_argument(
        "--tuned", action="store_true", help="run it as the last hearth tune of it found best"
    )
    parser.add_argument(
        "--no-kept", action="store_true", help="ignore what hearth compare --keep found"
    )


def parse(parser: ArgumentParser, words: list[str]) -> Namespace:
    """The options, with the whole command line."""
    line = split_line(words, options_of(parser))
    options = parser.parse_args(line.hearth)
    options.line = line
    return options


def run(options: Namespace) -> int:
    """Becomes spark-submit, whose exit code is the application's; a dry run comes back."""
    typed = replace(options.line, options=list(options.line.options))
    if options.tuned:
        _use_tuned(options)
    else:
        _use_kept_choice(options)
    submission = prepare(options, options.line, show_plan, measured=False)
    launch = submission.launch
    for note in launch.notes:
        print(f"hearth: {note}", file=sys.stderr)
    if not options.dry_run:
        sys.stderr.flush()
        if submission.afterwards is not None:
            submission.afterwards()
        launch = handed_over(launch, typed, paths.state_home())
        for descriptor in launch.inherited:
            os.set_inheritable(descriptor, True)
        os.execvpe(launch.command[0], launch.command, {**os.environ, **launch.environment})
    text = launch.shell_text(Redaction.of(submission.settings))
    print(text)
    if is_redacted([text]):
        print(f"hearth: {_REDACTED_NOTE}", file=sys.stderr)
    return 0


def _use_kept_choice(options: Namespace) -> None:
    """Applies what `hearth compare --keep` found, if the user leaves the choice open."""
    from hearth.spark.saved_configs import kept_choice

    if options.no_kept:
        return
    parser = _KeptWords()
    add_submit_arguments(parser)
    try:
        choice = kept_choice(paths.state_home(), options.line)
        words = parser.parse_args(choice["words"]) if choice else Namespace()
    except UserError as problem:
        print(f"hearth: {problem}; planning again", file=sys.stderr)
        return
    if choice is None:
        return
    if choice["master"] is not None:
        options.line.options.append(Option("--master", choice["master"]))
    for name, value in vars(words).items():
        setattr(options, name, getattr(options, name) or value)
    print(
        f"hearth: kept choice '{choice['arm']}' of comparison {choice['comparison']}: "
        f"{choice['sentence']} (--no-kept ignores it)",
        file=sys.stderr,
    )


def _use_tuned(options: Namespace) -> None:
    """Applies what `hearth tune` found; what the user fixed on this line wins, and is named."""
    from hearth.spark.conf import user_settings
    from hearth.spark.saved_configs import application, tuned_choice

    line = options.line
    if not line.application:
        raise UserError("no application is given: name a jar or a Python file")
    found = tuned_choice(paths.state_home(), application(line))
    if found is None:
        name = line.application[0]
        raise UserError(
            f"--tuned: nothing is kept for '{name}' on this machine: run 'hearth tune {name}' first"
        )
    users = user_settings(line, paths.spark_home(), os.environ)
    given = [name for name in ("executors", "cores") if getattr(options, name) is not None]
    given += ["master"] if line.has("--master") else []
    if not given:
        if found["master"] is not None:
            line.options.append(Option("--master", found["master"]))
        options.executors, options.cores = found["executors"], found["cores"]
    options.unbound = options.unbound or found["unbound"]
    confs = dict(found["conf"])
    for key, flag in found["java"].items():
        confs[key] = " ".join([*filter(None, [users.get(key)]), flag])
    mine = [key for key in found["conf"] if key in users]
    mine += [key for key in found["java"] if collector_of(users, key)]
    line.options.extend(
        Option("--conf", f"{key}={value}") for key, value in confs.items() if key not in mine
    )
    yours = f"; yours instead: {', '.join([*given, *mine])}" if given or mine else ""
    print(
        f"hearth: tuned on {found['date'][:10]} ({found['tune']}): {found['sentence']}{yours}",
        file=sys.stderr,
    )


class _KeptWords(ArgumentParser):
    """Reads the words of a kept choice; a damaged or older file may hold anything."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"kept choice: {message}; 'hearth compare --forget' removes it")


def show_plan(plan: "Plan") -> None:
    """The plan in a few lines on standard error: the output is the application's."""
    from hearth.report.terminal.plan import show_plan_briefly

    print("\n".join(show_plan_briefly(plan)), file=sys.stderr)
