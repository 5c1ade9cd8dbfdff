"""`--html FILE`: a report as one page, for every command whose result has one."""

import sys
from argparse import ArgumentParser
from pathlib import Path

from hearth.base.errors import UserError
from hearth.base.private_files import write_private
from hearth.cli.options import group, refuse_device


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


def write_html(file: Path, html: str) -> None:
    """Write the page, private, completely or not at all, and say where a browser finds it."""
    write_private(file, html.encode("utf-8", "replace"))  # a file name may not be valid text
    print(f"hearth: wrote {file}: {file.absolute().as_uri()}", file=sys.stderr)
