"""Run an application like spark-submit, planned for this machine and bound to it.

A drop-in replacement for spark-submit: all of its options work, in their usual place before the
application, and are passed through; whatever follows the application belongs to the application.
hearth's own options may stand anywhere before the application. A --dry-run after it is refused, in
case it was meant for hearth: if it is the application's own, put -- before the application. hearth
prints a five-line plan on standard error; the exit code is the application's.

hearth plans if you give no --master, or one of local-numa, local-numa[4] (executors) and
local-numa[4x12] (executors x cores). With any other master, hearth passes the command on to
spark-submit.

examples:
  hearth submit my_job.py
  hearth submit --input 200g --workload sql my_job.py --date 2026-11-21
  hearth submit --executors 4 --memory 20g --class org.example.Job job.jar
  hearth submit --master 'local-numa[4x12]' --conf spark.sql.shuffle.partitions=96 my_job.py
  hearth submit --dry-run my_job.py
  hearth submit --tuned my_job.py
  hearth submit --warm my_job.py
"""

import os
import shlex
import sys
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from hearth.base.durations import show_seconds
from hearth.base.errors import UserError
from hearth.base.java import collector_of
from hearth.base.redaction import KEY_PATTERN, REDACTED, Redaction, is_redacted
from hearth.cli.options import (
    OF_A_PLAN,
    add_log_option,
    add_submit_options,
    from_namespace,
    group,
    read_planning_words,
    read_submit_line,
)
from hearth.doctor.brief import findings_in_brief
from hearth.machine import paths
from hearth.machine.plan import BINDING, Plan
from hearth.report.terminal.plan import show_plan_briefly
from hearth.spark.conf import read_settings
from hearth.spark.followed import RunEnd, RunSide, follow
from hearth.spark.kept_run import MemoryWatch, keep_how_it_ended, keep_start
from hearth.spark.run_files import handed_over
from hearth.spark.saved_configs import application, kept_compared, kept_tuned
from hearth.spark.submission import (
    Occasion,
    Submission,
    check_application,
    check_py_files,
    prepare,
)
from hearth.spark.submit_args import Option, SubmitLine
from hearth.spark.warm import connect, program_command, refuse, server_line

_KEPT = "kept choice ('hearth compare --forget' removes it)"
_REDACTED_NOTE = (
    f"'{REDACTED}' hides values ({KEY_PATTERN}): the command above does not "
    "run until you put them back; without --dry-run hearth uses them as given"
)


_ENDED = {"finished": "finished in", "failed": "failed after", "interrupted": "interrupted after"}
#: A shorter run has little to gain.
_WORTH_PROFILING_S = 20


@dataclass(frozen=True)
class SubmitCommand:
    """The user's options; each field is the option of that name."""

    line: SubmitLine
    dry_run: bool
    tuned: bool
    no_kept: bool
    quiet: bool
    log: str | None
    debug: bool
    warm: bool
    reach: bool


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's own options; those of spark-submit are separated in `hearth.spark`."""
    parser.usage = "hearth submit [options of hearth or spark-submit] APPLICATION [its arguments]"
    add_submit_options(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="print the exact command; run nothing"
    )
    parser.add_argument(
        "--tuned", action="store_true", help="use the best configuration that hearth tune found"
    )
    parser.add_argument(
        "--no-kept", action="store_true", help="ignore the winner that hearth compare --keep saved"
    )
    warm = (
        "run a Python program on a Spark that stays for the next one (DataFrame API only; "
        "'hearth status' shows it, 'hearth status --stop' ends it)"
    )
    parser.add_argument("--warm", action="store_true", help=warm)
    # Prints the id of the warm server instead of running a program: for hearth.session(warm=True).
    parser.add_argument("--reach", action="store_true", help=SUPPRESS)
    quiet = "print only what the application prints, and errors"
    add_log_option(parser)
    group(parser, "output").add_argument("--quiet", action="store_true", help=quiet)


def parse(parser: ArgumentParser, words: list[str]) -> SubmitCommand:
    """Return the options, with the whole command line."""
    read = read_submit_line(parser, words)
    return from_namespace(SubmitCommand, read.own, line=read.line)


def run(options: SubmitCommand) -> int:
    """Run spark-submit, whose exit code is the application's, and say how it ended.

    With --quiet this process becomes spark-submit; a dry run only shows what would run.
    """
    if options.quiet or options.dry_run or options.reach:
        return _submit(options, None)
    memory = MemoryWatch()
    end = follow(lambda side: _submit(options, side))
    if end.began:
        kills = memory.kills()
        notes = keep_how_it_ended(end, kills)
        notes += [kills.sentence] if kills is not None else []
        for note in [*notes, how_it_ended(end, options.line, warm=options.warm)]:
            print(f"hearth: {note}", file=sys.stderr)
    return end.code


def how_it_ended(end: RunEnd, line: SubmitLine, *, warm: bool = False) -> str:
    """Return the line behind a run: its time, CPU seconds and exit code, and what to run next.

    warm: whether a server did its work, whose CPU seconds are not the run's.
    """
    how = _ENDED[end.state]
    if warm:
        return f"{how} {show_seconds(end.wall_s)} on a warm server, exit code {end.code}"
    used = f"{end.cpu.total:.1f} CPU s ({end.cpu.user:.1f} user, {end.cpu.system:.1f} system)"
    ended = f"{how} {show_seconds(end.wall_s)}, {used}, exit code {end.code}"
    if not line.application or end.code or end.wall_s < _WORTH_PROFILING_S:
        return ended
    next_ = f"hearth profile {shlex.quote(line.application[0])}"
    return f"{ended}; to see where the time goes: {next_}"


def _submit(options: SubmitCommand, side: RunSide | None) -> int:
    """Become spark-submit; come back from a dry run."""
    line, settings = options.line, read_settings(options.line)
    if options.tuned:
        line, settings = with_tuned(line, settings)
    elif not options.no_kept:
        line = _with_kept_compared(line, quiet=options.quiet)
    if options.warm:
        refuse(line, settings)
        if not options.dry_run:
            return _become_client(options, line, settings, side)
        line = server_line(line)
    submission = _prepared(options, line, settings)
    if not options.dry_run:
        _become(submission, options.line, side)
    text = submission.launch.shell_text(Redaction.of(submission.settings))
    print(text)
    if is_redacted([text]):
        print(f"hearth: {_REDACTED_NOTE}", file=sys.stderr)
    return 0


def _prepared(options: SubmitCommand, line: SubmitLine, settings: Mapping[str, str]) -> Submission:
    """Return the submission of a line, after its plan and notes for the user."""
    occasion = Occasion(options.dry_run, log=options.log, quiet=options.quiet, debug=options.debug)
    show = _silent if options.quiet else shown_plan(line, settings)
    submission = prepare(line, settings, show, occasion)
    name = line.application[0] if line.application else None
    findings = [] if options.quiet else findings_in_brief(settings, submission.plan, name)
    for note in [] if options.quiet else [*findings, *submission.launch.notes]:
        print(f"hearth: {note}", file=sys.stderr)
    return submission


def _become_client(
    options: SubmitCommand, line: SubmitLine, settings: Mapping[str, str], side: RunSide | None
) -> int:
    """Become the program on a warm server, which is started if there is none for this line.

    With --reach, come back when the server is there.
    """
    if not options.reach:
        check_application(line.application[0])
        check_py_files(line)
    client = connect(line, settings, partial(_prepared, options))
    if not options.quiet:
        print(f"hearth: {client.told}", file=sys.stderr)
    sys.stderr.flush()
    if not options.reach:
        launch = program_command(client, line, settings)
        os.set_inheritable(client.descriptor, True)
        if side is not None:
            side.begins()
        os.execve(launch.command[0], launch.command, launch.environment)
    print(client.server.id)
    return 0


def _silent(_plan: Plan) -> None:
    """Show nothing of a plan."""


def _become(submission: Submission, typed: SubmitLine, side: RunSide | None) -> None:
    """Become spark-submit. typed: the user's own line; what is on it need not be hidden."""
    sys.stderr.flush()
    if submission.afterwards is not None:
        submission.afterwards(os.getpid())
    kept = _kept(submission, typed)
    launch = handed_over(submission.launch, typed, paths.state_home())
    for descriptor in launch.inherited:
        os.set_inheritable(descriptor, True)
    if side is not None:
        side.begins(kept)
    os.execvpe(launch.command[0], launch.command, {**os.environ, **launch.environment})


def _kept(submission: Submission, typed: SubmitLine) -> str:
    """Keep what starts, where that is an application; return where, empty if it is not kept."""
    if not typed.application:
        return ""
    home = keep_start(submission, typed, paths.state_home(), os.getpid())
    return "" if home is None else str(home)


def _with_kept_compared(line: SubmitLine, *, quiet: bool) -> SubmitLine:
    """Add the winner of `hearth compare --keep` to the line if the user leaves the choice open."""
    try:
        config = kept_compared(paths.state_home(), line)
        if config is None:
            return line
        words = read_planning_words(config["words"], _KEPT)
    except UserError as problem:
        print(f"hearth: {problem}; planning again", file=sys.stderr)
        return line
    using = f"'{config['arm']}', the winner of comparison {config['comparison']}"
    if not quiet:
        said = f"hearth: using {using}: {config['sentence']} (--no-kept ignores it)"
        print(said, file=sys.stderr)
    line = replace(line, planning=line.planning.or_else(words))
    master = config["master"]
    return line if master is None else line.adding(Option("--master", master))


def with_tuned(line: SubmitLine, settings: Mapping[str, str]) -> tuple[SubmitLine, dict[str, str]]:
    """Add what `hearth tune` found to line and settings; what the user fixed wins, and is named."""
    if not line.application:
        raise UserError("no application given: name a jar or a Python file")
    config = kept_tuned(paths.state_home(), application(line))
    if config is None:
        name = line.application[0]
        raise UserError(
            f"--tuned: no tuning result for '{name}' on this machine: "
            f"run 'hearth tune {name}' first"
        )
    given = [name for name in ("executors", "cores") if f"--{name}" in line.planning.given]
    given += ["master"] if line.has("--master") else []
    requested = replace(
        line.planning, bind=line.planning.bind or ("none" if config["unbound"] else None)
    )
    if not given:
        requested = replace(requested, executors=config["executors"], cores=config["cores"])
        if config["master"] is not None:
            line = line.adding(Option("--master", config["master"]))
    confs = dict(config["conf"])
    for key, flag in config["java"].items():
        confs[key] = " ".join([*filter(None, [settings.get(key)]), flag])
    mine = [key for key in config["conf"] if key in settings]
    mine += [key for key in config["java"] if collector_of(settings, key)]
    added = {key: value for key, value in confs.items() if key not in mine}
    yours = f"; yours instead: {', '.join([*given, *mine])}" if given or mine else ""
    print(
        f"hearth: tuned on {config['date'][:10]} ({config['tune']}): {config['sentence']}{yours}",
        file=sys.stderr,
    )
    line = line.adding(*(Option("--conf", f"{key}={value}") for key, value in added.items()))
    return replace(line, planning=requested), {**settings, **added}


def shown_plan(line: SubmitLine, settings: Mapping[str, str]) -> Callable[[Plan], None]:
    """Return what shows a plan of this line, in a few lines on standard error: the output is the
    application's.

    settings: the user's own.
    """
    unbound = line.planning.bind == "none" or settings.get(BINDING) == "off"

    def show(plan: Plan) -> None:
        lines = show_plan_briefly(plan, plan_command(line), unbound=unbound)
        print("\n".join(lines), file=sys.stderr)

    return show


def plan_command(line: SubmitLine) -> str:
    """Return the `hearth plan` that plans as this line does, without what its files set."""
    given = line.planning.given
    words = [w for name in OF_A_PLAN if name in given for w in (name, str(given[name]))]
    words += ["--python"] if line.is_python else []
    confs = Redaction.of({}).words([w for o in line.options if o.name == "--conf"
                                    for w in ("--conf", o.value or "")])  # fmt: skip
    return shlex.join(["hearth", "plan", *words, *confs])
