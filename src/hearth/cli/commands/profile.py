"""Run an application like hearth submit, and record where its time went.

Takes any Spark application on any master, unchanged. The record holds Spark's event log, a
garbage-collection log of each JVM, and samples of every process: CPU, context switches, memory by
NUMA node, threads, and hardware counters if the machine has them. The application's output and exit
code are passed through; a summary on standard error ends with the record's id.

examples:
  hearth profile my_job.py
  hearth profile --master 'local[*]' my_job.py --date 2026-11-21
  hearth profile --executors 4 --class org.example.Job job.jar
  hearth report last
"""

import sys
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path

from hearth.analysis.analysis import analyse
from hearth.base.durations import parse_seconds
from hearth.base.progress import working
from hearth.cli.commands.submit import shown_plan, with_tuned
from hearth.cli.options import add_log_option, add_submit_options, from_namespace, read_submit_line
from hearth.doctor.brief import findings_in_brief
from hearth.report.terminal.profile import show_profile
from hearth.report.terminal.screen import Screen
from hearth.spark.conf import read_settings
from hearth.spark.profiling import profile
from hearth.spark.submission import Occasion, prepare
from hearth.spark.submit_args import SubmitLine


@dataclass(frozen=True)
class ProfileCommand:
    """The user's options; each field is the option of that name."""

    line: SubmitLine
    arm: str | None
    record: str | None
    limit: str | None
    tuned: bool
    no_summary: bool
    log: str | None
    debug: bool


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's own options; those of spark-submit are separated in `hearth.spark`."""
    parser.usage = "hearth profile [options of hearth or spark-submit] APPLICATION [its arguments]"
    add_submit_options(parser)
    parser.add_argument(
        "--tuned", action="store_true", help="use the best configuration that hearth tune found"
    )
    parser.add_argument("--arm", metavar="NAME", help="name of the arm in the record")
    parser.add_argument("--record", metavar="ID", help="id of the new record")
    parser.add_argument(
        "--limit", metavar="TIME", help="stop the application after TIME, e.g. 30m (exit code 124)"
    )
    parser.add_argument(
        "--no-summary",
        action="store_true",
        help="print only the record's id when the application ends",
    )
    add_log_option(parser)


def parse(parser: ArgumentParser, words: list[str]) -> ProfileCommand:
    """Return the options, with the whole command line."""
    read = read_submit_line(parser, words)
    return from_namespace(ProfileCommand, read.own, line=read.line)


def run(options: ProfileCommand) -> int:
    """Run and record the application; return its exit code."""
    limit_s = float("inf") if options.limit is None else parse_seconds(options.limit, "--limit")
    # A run of a study is like all others of it; anybody else waits for nothing.
    occasion = Occasion(measured=options.arm is not None, debug=options.debug, log=options.log)
    line, settings = options.line, read_settings(options.line)
    if options.tuned:
        line, settings = with_tuned(line, settings)
    submission = prepare(line, settings, shown_plan(line, settings), occasion)
    name = line.application[0] if line.application else None
    findings = findings_in_brief(settings, submission.plan, name) if options.arm is None else []
    for note in [*findings, *submission.launch.notes]:
        print(f"hearth: {note}", file=sys.stderr)
    sys.stderr.flush()
    named = (options.arm, options.record, options.debug)
    done = profile(submission, options.line, *named, limit_s)
    if done.problem is not None:
        print(f"hearth: the record is incomplete: {done.problem}; free space", file=sys.stderr)
    if done.kills is not None:
        print(f"hearth: {done.kills.sentence}", file=sys.stderr)
    if not options.no_summary:
        print("\n".join(_summary(done.directory)), file=sys.stderr)
    print(f"hearth: record {done.directory.name}", file=sys.stderr)
    return done.exit_code


def _summary(directory: Path) -> list[str]:
    try:
        with working("reading the record"):
            analysis = analyse(directory)
        return show_profile(analysis, Screen.of(sys.stderr))
    except Exception as fault:  # whatever it is: the exit code is the application's
        why = f"{type(fault).__name__}: {fault}"
        return [f"hearth: the summary failed: {why}; try 'hearth report {directory.name}'"]
