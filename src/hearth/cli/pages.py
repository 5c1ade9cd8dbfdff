"""`--html FILE`: a report as one page, for every command whose result has one."""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from hearth.analysis.document import Analysis
from hearth.base.errors import UserError
from hearth.cli.options import group, refuse_device
from hearth.report.html.page import write_page
from hearth.studies.bench.result import BenchResult
from hearth.studies.characterise.result import Characterised
from hearth.studies.colocate.result import Colocated
from hearth.studies.compare.result import Compared
from hearth.studies.published.result import Repeated
from hearth.studies.tune.result import Tuned


def add_html_option(parser: ArgumentParser, words: str = "also write an HTML page to FILE") -> None:
    """Add `--html`; a file in no directory is refused when the command line is read."""
    group(parser, "output").add_argument("--html", metavar="FILE", type=_page_file, help=words)


def _page_file(text: str) -> Path:
    file = Path(text)
    folder = file.absolute().parent
    if not folder.is_dir():
        raise UserError(f"--html: no directory '{folder}': create it, or choose another")
    refuse_device(file, "--html")
    return file


def write_html(
    file: Path,
    runs: Sequence[Analysis] = (),
    comparison: Compared | None = None,
    characterisation: Characterised | None = None,
    tune: Tuned | None = None,
    colocation: Colocated | None = None,
    study: Repeated | None = None,
    series: BenchResult | None = None,
) -> None:
    """Write the page, and say where a browser finds it."""
    write_page(file, list(runs), comparison, characterisation, tune, colocation, study, series)
    print(f"hearth: wrote {file}: {file.absolute().as_uri()}", file=sys.stderr)
