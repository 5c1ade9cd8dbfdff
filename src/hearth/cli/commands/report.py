"""Show where the time of recorded runs went: in the terminal, as an HTML page, or as JSON.

Name a run or a study (a comparison, tune, ...) by its id, the beginning or the last four letters of
it, or its directory or file ('hearth runs' lists them); the latest run by 'last'; any Spark event
log by its path. Several runs are shown side by side. The HTML file loads nothing from the network,
so you can share it as it is.

examples:
  hearth report last
  hearth report last --html report.html
  hearth report 20261121-101500-shop-1a2b --json
"""

import json
from argparse import ArgumentParser, Namespace
from dataclasses import fields

from hearth.base.codec import to_json
from hearth.cli.options import group, json_help
from hearth.cli.pages import add_html_option, write_html
from hearth.machine import paths
from hearth.report.html.page import page
from hearth.report.terminal.bench import show_series
from hearth.report.terminal.characterisation import show_characterisation
from hearth.report.terminal.colocate import show_colocation
from hearth.report.terminal.compare import show_comparison
from hearth.report.terminal.profile import show_profile
from hearth.report.terminal.screen import Screen
from hearth.report.terminal.sources import Sources, read_sources
from hearth.report.terminal.study import show_study
from hearth.report.terminal.tune import show_tune


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("runs", metavar="RUN", nargs="+", help="an id, a path, or 'last'")
    add_html_option(parser, "write an HTML page to FILE")
    group(parser, "output").add_argument(
        "--json",
        action="store_true",
        help=json_help("report", "print the analysis as JSON"),
    )


def run(options: Namespace) -> int:
    """Read the runs, then show or write them."""
    sources = read_sources(options.runs, paths.state_home())
    if options.html:
        shown = {field.name: getattr(sources, field.name) for field in fields(sources)}
        del shown["schema"]
        write_html(options.html, page(**shown))
    if options.json:
        print(json.dumps(to_json(sources), indent=2))
    elif not options.html:
        show(sources)
    return 0


def show(sources: Sources) -> None:
    """Print each of them, as a person reads it."""
    screen = Screen.of()
    if sources.comparison is not None:
        print("\n".join(show_comparison(sources.comparison, screen)), end="\n\n")
    if sources.characterisation is not None:
        print("\n".join(show_characterisation(sources.characterisation, screen)))
    if sources.tune is not None:
        print("\n".join(show_tune(sources.tune, screen)))
    if sources.colocation is not None:
        print("\n".join(show_colocation(sources.colocation, screen)))
    if sources.study is not None:
        print("\n".join(show_study(sources.study, screen)))
    if sources.series is not None:
        print("\n".join(show_series(sources.series, screen)))
    for analysis in sources.runs:
        print("\n".join(show_profile(analysis, screen)))
