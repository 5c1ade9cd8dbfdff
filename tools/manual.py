"""Print the reference of hearth's commands, made from their parsers.

usage: tools/manual.py man|markdown
"""

import sys
from argparse import SUPPRESS, Action, ArgumentParser
from collections.abc import Iterable, Iterator
from pathlib import Path

import hearth
from hearth.cli.commands import command_names
from hearth.cli.main import command_parser

EXIT_CODES = Path(__file__).resolve().parent.parent / "docs" / "files.md"


def main(form: str) -> int:
    """Print the manual in one of its two forms."""
    forms = {"man": man_page, "markdown": markdown}
    if form not in forms:
        print(f"manual: '{form}' is not a form: use man or markdown", file=sys.stderr)
        return 2
    print("\n".join(forms[form]()))
    return 0


def commands() -> Iterator[tuple[str, ArgumentParser, list[tuple[str, bool]], list[str]]]:
    """Yield each command: its parser, paragraphs with whether their lines stay, its examples."""
    for name in command_names():
        module, parser = command_parser(name)
        text, _, examples = (module.__doc__ or "").partition("examples:\n")
        told = [(each, "\n  " in each) for each in text.strip().split("\n\n")]
        yield name, parser, told, [line.strip() for line in examples.strip().splitlines()]


def groups(parser: ArgumentParser) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each group of arguments: its title, and every argument with its help."""
    for group in parser._action_groups:
        shown = [each for each in group._group_actions if wanted(each)]
        rows = list(rows_of(parser, shown))
        if rows:
            yield group.title or "arguments", rows


def wanted(action: Action) -> bool:
    """Return whether an argument is shown: not if it is hidden, or the same for every command."""
    return action.help != SUPPRESS and action.dest not in ("help", "debug")


def rows_of(parser: ArgumentParser, actions: Iterable[Action]) -> Iterator[tuple[str, str]]:
    """Yield how each argument is written, and its help; subcommands follow their group."""
    formatter = parser._get_formatter()
    for action in actions:
        help_text = formatter._expand_help(action) if action.help else ""
        yield formatter._format_action_invocation(action), " ".join(help_text.split())
        for choice in formatter._iter_indented_subactions(action):
            yield formatter._format_action_invocation(choice), choice.help or ""


def usage(parser: ArgumentParser) -> str:
    """Return the usage on one line."""
    return " ".join(parser.format_usage().removeprefix("usage: ").split())


# --- roff ----------------------------------------------------------------------------------------


def man_page() -> Iterator[str]:
    """Yield the lines of hearth(1)."""
    yield f'.TH HEARTH 1 "" "hearth {hearth.__version__}" "User Commands"'
    yield ".SH NAME"
    yield "hearth \\- run Apache Spark on one big NUMA machine the way Spark runs on a cluster"
    yield ".SH SYNOPSIS"
    yield ".B hearth\n[\\-\\-debug] COMMAND ..."
    yield ".SH COMMANDS"
    for name, parser, told, examples in commands():
        yield f".SS hearth {roff(name)}"
        yield roff(usage(parser))
        for each, as_it_is in told:
            yield f".PP\n.nf\n{roff(each)}\n.fi" if as_it_is else f".PP\n{roff(each)}"
        for _, rows in groups(parser):
            for written, meaning in rows:
                yield f".TP\n.B {roff(written)}\n{roff(meaning)}"
        if examples:
            yield ".PP\nExamples:\n.PP\n.nf"
            yield from (f"    {roff(line)}" for line in examples)
            yield ".fi"
    yield ".SH EXIT STATUS"
    for code, meaning in exit_codes():
        yield f".TP\n.B {code}\n{roff(meaning)}"
    yield ".SH ENVIRONMENT"
    for variable, meaning in ENVIRONMENT:
        yield f".TP\n.B {variable}\n{meaning}"


ENVIRONMENT = (
    ("SPARK_HOME", "the Spark to run instead of the installed pyspark"),
    ("JAVA_HOME", "the Java to run"),
    ("HEARTH_STATE", "where records and plans are kept (~/.local/state/hearth)"),
    ("HEARTH_DATA", "where data of the workloads is kept (~/.cache/hearth/data)"),
    ("HEARTH_LEASES", "the directory of leases (/run/hearth, /run/lock or /dev/shm)"),
    ("XDG_STATE_HOME, XDG_CACHE_HOME", "the parents of hearth's directories"),
)


def exit_codes() -> Iterator[tuple[str, str]]:
    """Yield the rows of the table of exit codes."""
    table = EXIT_CODES.read_text().partition("## Exit codes")[2].partition("\n## ")[0]
    for line in table.splitlines():
        cells = [cell.strip().replace("`", "") for cell in line.strip("|").split("|")]
        if len(cells) == 2 and (cells[0].isdigit() or cells[0] == "any"):
            yield cells[0], cells[1]


def roff(text: str) -> str:
    """Return a text with what roff would interpret escaped."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").splitlines()
    return "\n".join(f"\\&{line}" if line.startswith(("'", ".")) else line for line in lines)


# --- Markdown ------------------------------------------------------------------------------------


def markdown() -> Iterator[str]:
    """Yield the lines of the site's page of commands."""
    yield "# Commands"
    for name, parser, told, examples in commands():
        yield f"\n## hearth {name}\n\n```text\n{usage(parser)}\n```\n"
        for each, as_it_is in told:
            yield f"```text\n{each}\n```\n" if as_it_is else f"{each}\n"
        for title, rows in groups(parser):
            yield f"| {title.capitalize()} | |\n|---|---|"
            yield from (f"| `{written}` | {cell(meaning)} |" for written, meaning in rows)
            yield ""
        if examples:
            yield "\n".join(["```sh", *examples, "```"])


def cell(text: str) -> str:
    """Return a text as it may stand in a cell of a table."""
    return text.replace("|", "&#124;").replace("<", "&lt;")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) == 2 else ""))
