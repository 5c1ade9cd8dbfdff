"""Splits a `hearth submit` command line: hearth's options, spark-submit's, the application's.

spark-submit's own options are known by whether they take a value (SparkSubmitOptionParser of
Spark 4.3), which is the only way to tell the application file from a value. Whatever follows the
application file belongs to the application and is not inspected.
"""

import re
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from hearth.base.errors import UserError
from hearth.base.redaction import Redaction
from hearth.machine.plan_request import add_workload_arguments

# fmt: off
_WITH_VALUE = frozenset((
    "--archives", "--class", "--conf", "-c", "--deploy-mode", "--driver-class-path",
    "--driver-cores", "--driver-default-class-path", "--driver-java-options",
    "--driver-library-path", "--driver-memory", "--exclude-packages", "--executor-cores",
    "--executor-memory", "--extra-properties-file", "--files", "--jars", "--keytab", "--kill",
    "--master", "--name", "--num-executors", "--packages", "--principal", "--properties-file",
    "--proxy-user", "--py-files", "--queue", "--remote", "--repositories", "--status",
    "--total-executor-cores",
))
_SWITCHES = frozenset((
    "--load-spark-defaults", "--supervise", "--usage-error", "--verbose", "-v", "--version",
))
# fmt: on
_EQUALS = re.compile(r"\A(--[^=]+)=(.*)", re.DOTALL)


def add_submit_arguments(parser: ArgumentParser) -> None:
    """hearth's options for planning an application."""
    add_workload_arguments(parser)
    parser.add_argument(
        "--hosts",
        choices=("node", "machine"),
        help="what Spark treats as a host: each NUMA node (default), or the machine",
    )
    parser.add_argument(
        "--unbound", action="store_true", help="the same as --bind none, for comparison"
    )
    parser.add_argument(
        "--docker", action="store_true", help="start each executor in a Docker container"
    )
    parser.add_argument(
        "--when-full",
        choices=("share", "wait", "refuse"),
        help="where other applications hold what is needed: run beside them, unbound (default), "
        "wait until it is free, or end",
    )


def options_of(parser: ArgumentParser) -> dict[str, bool]:
    """A parser's options by name: True for those that take a value."""
    # argparse has no public list of them.
    return {name: action.nargs != 0 for name, action in parser._option_string_actions.items()}


@cache
def planning_options() -> dict[str, bool]:
    """The options of `add_submit_arguments`."""
    parser = ArgumentParser(add_help=False)
    add_submit_arguments(parser)
    return options_of(parser)


def own_options(parser: ArgumentParser) -> dict[str, bool]:
    """The options of one command alone: neither for planning nor of every command."""
    shared = {*planning_options(), "--debug", "--help", "-h"}
    return {name: takes for name, takes in options_of(parser).items() if name not in shared}


def without(words: list[str], own: Mapping[str, bool]) -> list[str]:
    """hearth's options less those of one command, with their values."""
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        takes_value = own.get(word.partition("=")[0])
        if takes_value is None:
            kept.append(word)
        elif takes_value and "=" not in word:
            next(rest)
    return kept


@dataclass(frozen=True)
class Option:
    """One option of spark-submit; `value` is None for a switch."""

    name: str
    value: str | None


@dataclass(frozen=True)
class SubmitLine:
    """The three parts of a command line.

    hearth: hearth's options, for its own parser. options: spark-submit's, in order.
    application: the application file and its arguments, untouched; empty where there is none.
    """

    hearth: list[str]
    options: list[Option]
    application: list[str]

    def last(self, name: str) -> str | None:
        """The last value given for an option: the one that Spark takes."""
        values = [option.value for option in self.options if option.name == name]
        return values[-1] if values else None

    def has(self, *names: str) -> bool:
        return any(option.name in names for option in self.options)

    @property
    def is_python(self) -> bool:
        """Whether the program is in Python, so that its workers need memory beside the heap."""
        return bool(self.application) and self.application[0].endswith(".py")


def split_line(
    arguments: list[str], hearth_options: Mapping[str, bool] | None = None
) -> SubmitLine:
    """Splits the words behind `hearth submit` or a command like it.

    hearth_options: those of the command (`options_of` its parser); by default the planning ones.
    Raises UserError for an option that is unknown to both hearth and spark-submit, or that lacks
    its value.
    """
    known = planning_options() if hearth_options is None else hearth_options
    line = SubmitLine([], [], [])
    words = iter(arguments)
    for word in words:
        if not word.startswith("-") or word == "-":
            line.application.extend([word, *words])
        elif word == "--":
            line.application.extend(words)
        else:
            _take(word, words, line, known)
    return line


#: hearth's options that an application hardly has too.
_HEARTHS_OWN = (
    *("--dry-run", "--executors", "--cores", "--bind", "--unbound", "--docker", "--hosts"),
    "--when-full",
)


def late_options(line: SubmitLine) -> list[str]:
    """A note for each word behind the application that looks like an option meant for hearth."""
    program, words = line.application[:1], line.application[1:]
    return [
        f"{name} behind {program[0]} belongs to the application; hearth's options stand before it"
        for name in _HEARTHS_OWN
        if any(word.partition("=")[0] == name for word in words)
    ]


def planning_words(line: SubmitLine) -> list[str]:
    """hearth's own planning options, with their values."""
    found: list[str] = []
    words = iter(line.hearth)
    for word in words:
        name, equals, _ = word.partition("=")
        takes_value = planning_options().get(name)
        if takes_value is not None:
            found.append(word)
        if takes_value and not equals:
            found.append(next(words))
    return found


def _take(
    word: str, words: Iterator[str], line: SubmitLine, hearth_options: Mapping[str, bool]
) -> None:
    match = _EQUALS.fullmatch(word)
    name, value = (match[1], match[2]) if match else (word, None)
    if name in hearth_options:
        line.hearth.append(word)
        if hearth_options[name] and value is None:
            line.hearth.append(_next(name, words))
    elif name in _WITH_VALUE:
        name = "--conf" if name == "-c" else name
        line.options.append(Option(name, _next(name, words) if value is None else value))
    elif name in _SWITCHES and value is None:
        line.options.append(Option(name, None))
    else:
        raise UserError(_unknown(word, hearth_options))


def _next(name: str, words: Iterator[str]) -> str:
    value = next(words, None)
    if value is None:
        raise UserError(f"{name}: its value is missing: see 'hearth submit --help'")
    return value


def _unknown(word: str, hearth_options: Mapping[str, bool]) -> str:
    import difflib

    near = difflib.get_close_matches(word, [*hearth_options, *_WITH_VALUE, *_SWITCHES], n=1)
    hint = f"did you mean '{near[0]}'?" if near else "see 'hearth submit --help'"
    shown = Redaction.of({}).words([word])[0]
    return f"'{shown}' is not an option of hearth or spark-submit: {hint}"
