"""What all commands of a study have: `--resume`, `--dry-run`, `--json`, `--html`, its result."""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hearth.analysis.document import Analysis
from hearth.cli.answer import print_document
from hearth.cli.options import add_html_option, group, in_parts, json_help, write_html
from hearth.machine import paths
from hearth.report.html.page import page
from hearth.report.kinds import show_document
from hearth.report.terminal.screen import Screen
from hearth.studies.engine.store import StudyKind, kept_words


@dataclass(frozen=True)
class StudyCommand:
    """The options that all have; each field is the option of that name. typed: all words."""

    resume: str | None
    dry_run: bool
    html: Path | None
    json: bool
    debug: bool
    typed: tuple[str, ...]


def add_study_options(
    parser: ArgumentParser, kind: StudyKind, listed: str, schema: str, runs: str = "runs"
) -> None:
    """Add them. listed: what `--dry-run` does; schema: the document's; runs: their group."""
    words = f"continue an interrupted {kind.name} by its ID; no need to repeat its command"
    group(parser, runs).add_argument("--resume", metavar="ID", help=words)
    group(parser, runs).add_argument(
        "--dry-run", action="store_true", help=f"{listed}; run nothing"
    )
    add_html_option(parser)
    group(parser, "output").add_argument("--json", action="store_true", help=json_help(schema))


def with_kept_words(
    parser: ArgumentParser, kind: StudyKind, words: list[str], apart: str = ""
) -> list[str]:
    """Return the words of a command line; as `typed` the parser gives what a study keeps of them.

    Without an application they are those that began the study, and what is typed now stands before
    its application: what that would change is refused when the study is opened.

    apart: the word behind which another application begins.
    """
    parser.set_defaults(typed=tuple(words))
    if not any(word.partition("=")[0] == "--resume" for word in words):
        return words
    now = in_parts(parser, words, behind=False)
    if now.application or any(word.startswith("--applications") for word in now.hearth):
        return words
    kept = kept_words(kind, paths.state_home(), parser.parse_args(now.hearth).resume)
    end = kept.index(apart) if apart in kept else len(kept)
    then = in_parts(parser, kept[:end], behind=True)
    options = [word for one in then.options for word in (one.name, one.value) if word is not None]
    marked = ["--"] if then.marked else []
    return [*then.hearth, *options, *words, *marked, *then.application, *kept[end:]]


def show_result(
    document: object,
    as_json: bool,
    html: Path | None,
    kept: str = "",
    runs: Sequence[Analysis] = (),
    *,
    explain: bool = False,
) -> None:
    """Print the document of a study, and write it as a page with these runs.

    kept: its kind and its id, said above the text, whose last line is the answer.
    """
    if html is not None:
        write_html(html, page(runs, document))
    if as_json:
        print_document(document)
        return
    if kept:
        print(f"hearth: {kept}", file=sys.stderr, flush=True)
    print("\n".join(show_document(document, Screen.of(), explain=explain)))
