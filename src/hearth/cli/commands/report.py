"""Show where the time of recorded runs went: in the terminal, as an HTML page, or as JSON.

Name a run or a study (a comparison, tune, ...) by its id, the beginning or the last four letters of
it, or its directory or file ('hearth runs' lists them); the latest run by 'last'; any Spark event
log by its path. A run that was not profiled is shown as far as it is known. Several runs are shown
side by side. The HTML file loads nothing from the network, so you can share it as it is.

examples:
  hearth report last
  hearth report last --html report.html
  hearth report 20261121-101500-shop-1a2b --json
"""

from argparse import ArgumentParser, Namespace

from hearth.cli.answer import print_document
from hearth.cli.options import EXPLAIN_HELP, add_html_option, group, json_help, write_html
from hearth.machine import paths
from hearth.machine.applications import Application
from hearth.report.html.page import page
from hearth.report.kinds import show_document
from hearth.report.terminal.light import show_light
from hearth.report.terminal.profile import show_profile
from hearth.report.terminal.screen import Screen
from hearth.report.terminal.sources import Sources, read_sources
from hearth.studies.listing import find_light


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("runs", metavar="RUN", nargs="+", help="an id, a path, or 'last'")
    add_html_option(parser, "write an HTML page to FILE")
    group(parser, "output").add_argument("--explain", action="store_true", help=EXPLAIN_HELP)
    group(parser, "output").add_argument(
        "--json",
        action="store_true",
        help=json_help("report", "print the analysis as JSON"),
    )


def run(options: Namespace) -> int:
    """Read the runs, then show or write them."""
    names = []
    for name in options.runs:
        light = find_light(paths.state_home(), name)
        if light is None or options.html or (options.json and len(options.runs) > 1):
            names.append(name)
        else:
            _print_light(light, options.json)
    if not names:
        return 0
    sources = read_sources(names, paths.state_home())
    if options.html:
        write_html(options.html, page(sources.runs, *sources.studies))
    if options.json:
        print_document(sources)
    elif not options.html:
        _show(sources, explain=options.explain)
    return 0


def _print_light(application: Application, as_json: bool) -> None:
    """Print a light record as a person reads it, or as JSON."""
    if as_json:
        print_document(application.document)
    else:
        print("\n".join(show_light(application, Screen.of())))


def _show(sources: Sources, *, explain: bool = False) -> None:
    """Print each of them, as a person reads it."""
    screen = Screen.of()
    for study in sources.studies:
        print("\n".join(show_document(study, screen, explain=explain)))
    for analysis in sources.runs:
        print("\n".join(show_profile(analysis, screen)))
