"""Find settings of this machine, Java and Spark that cost speed or safety.

Each finding says what is set, and what to run to change it. --explain adds why it matters, what is
better and by which source, what a change touches, what to run to make it last, and what it is
worth: as 'hearth compare --arms as-is,fixed:NAME' measured it here, else as a published study did.
Nothing is changed. The exit code is 1 where something does harm (applications fail, or give wrong
answers, or others can read their memory), else 0.

examples:
  hearth doctor
  hearth doctor --explain
  hearth doctor --list
  hearth doctor --workload ml --all
  hearth doctor --machine big-box.tar.gz --json
  hearth doctor --html doctor.html
  hearth doctor --silence memory-maps --reason "no block is larger than 2 MB"
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path

from hearth.base.errors import UserError
from hearth.base.progress import working
from hearth.cli.answer import print_document, tell
from hearth.cli.options import MACHINE_HELP, add_html_option, json_help, write_html
from hearth.doctor.examine import Examined, examine
from hearth.doctor.reading import read_machine
from hearth.doctor.rule import Worth
from hearth.doctor.rules import RULES
from hearth.doctor.silence import read_silenced, silence, unsilence
from hearth.machine import paths
from hearth.machine.plan import KINDS, PlanRequest
from hearth.report.doctor import doctor_blocks, list_checks
from hearth.report.terminal.blocks import show_blocks
from hearth.report.terminal.screen import Screen
from hearth.studies.engine.store import COMPARE


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("--machine", metavar="CAPTURE|SPEC", help=MACHINE_HELP)
    parser.add_argument("--workload", choices=KINDS, help="kind of workload, if known")
    parser.add_argument("--explain", action="store_true", help="say all that is known of findings")
    parser.add_argument(
        "--all", action="store_true", help="also show what is fine, and what could not be checked"
    )
    parser.add_argument("--json", action="store_true", help=json_help("doctor"))
    add_html_option(parser, "write an HTML page to FILE")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--list", action="store_true", help="list all checks, with their sources")
    action.add_argument(
        "--silence", metavar="NAME", help="ignore this finding from now on; needs --reason"
    )
    action.add_argument("--unsilence", metavar="NAME", help="no longer ignore it")
    parser.add_argument("--reason", metavar="TEXT", help="why it is silenced; shown with it")


def parse(parser: ArgumentParser, words: list[str]) -> Namespace:
    """Return the options; raise UserError for those that do not go together."""
    given = parser.parse_args(words)
    if (given.silence is None) != (given.reason is None):
        raise UserError(
            "--silence and --reason go together: hearth doctor --silence NAME --reason TEXT"
        )
    return given


def run(options: Namespace) -> int:
    """Examine the machine, or do what is asked with one finding."""
    if options.list:
        print("\n".join(list_checks(RULES.values(), Screen.of())))
        return 0
    silenced = paths.state_home() / "doctor" / "silenced.json"
    if options.silence:
        silence(silenced, options.silence, options.reason)
        return _reported(
            f"silenced {options.silence}: 'hearth doctor --unsilence {options.silence}' undoes that"
        )
    if options.unsilence:
        unsilence(silenced, options.unsilence)
        return _reported(f"{options.unsilence} is no longer silenced")
    request = PlanRequest(machine=options.machine, workload=options.workload)
    with (
        read_machine(options.machine, request, options.debug) as machine,
        working("examining the machine"),
    ):
        measured = _measured() if options.machine is None else {}
        examined = examine(machine, options.machine, _silenced(silenced), measured=measured)
    _show(examined, options)
    return 1 if examined.does_harm else 0


def _silenced(file: Path) -> Mapping[str, str]:
    """Return those that this user may read: a home that `su` has kept is another's."""
    try:
        return read_silenced(file)
    except PermissionError as error:
        print(f"hearth: '{file}': {error.strerror}: no finding is silenced", file=sys.stderr)
        return {}


def _measured() -> Mapping[str, Worth]:
    """Return what changes were worth here, as comparisons measured it."""
    try:
        if not COMPARE.directories(paths.state_home()):
            return {}
        from hearth.doctor.measured import measured_fixes  # what it imports takes a second

        measured, problems = measured_fixes(paths.state_home())
    except PermissionError as error:  # as above
        measured = {}
        problems = [f"'{error.filename}': {error.strerror}: earlier measurements are not shown"]
    for problem in problems:
        print(f"hearth: {problem}", file=sys.stderr)
    return measured


def _show(examined: Examined, options: Namespace) -> None:
    html = options.html
    if html:
        from hearth.report.html.page import page  # the only option that needs templates

        write_html(html, page([], examined))
    if options.json:
        print_document(examined)
    elif not html:
        blocks = doctor_blocks(examined, explain=options.explain, everything=options.all)
        print("\n".join(show_blocks(blocks, Screen.of())))


def _reported(words: str) -> int:
    tell(words)
    return 0
