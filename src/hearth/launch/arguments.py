"""Splits a `hearth submit` command line: hearth's options, spark-submit's, the application's.

spark-submit's own options are known by whether they take a value (SparkSubmitOptionParser of
Spark 4.3), because only so the application file can be told from a value. What comes after the
application file is the application's and is never looked at.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hearth.model.errors import UserError
from hearth.model.redaction import Redaction

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
_EQUALS = re.compile(r"(--[^=]+)=(.*)", re.DOTALL)

#: hearth's own options that say how to plan: True for those that take a value.
_PLANNING_OPTIONS = {
    "--workload": True,
    "--input": True,
    "--executors": True,
    "--cores": True,
    "--memory": True,
    "--hosts": True,
    "--unbound": False,
    "--docker": False,
}
_RUNNING_OPTIONS = {**_PLANNING_OPTIONS, "--debug": False, "--help": False, "-h": False}
#: Those of `hearth submit` and of `hearth profile`.
HEARTH_OPTIONS = {**_RUNNING_OPTIONS, "--dry-run": False, "--no-kept": False}
PROFILE_OPTIONS = {**_RUNNING_OPTIONS, "--arm": True, "--no-summary": False}
#: Those of `hearth compare` that are not for the runs that it makes.
COMPARE_OWN = {
    "--arms": True,
    "--repeat": True,
    "--until-certain": False,
    "--budget": True,
    "--warmup": True,
    "--seed": True,
    "--cold": False,
    "--keep": False,
    "--forget": False,
    "--json": False,
}
COMPARE_OPTIONS = {**_RUNNING_OPTIONS, **COMPARE_OWN}
#: Those of `hearth characterise` that are not for the runs that it makes.
CHARACTERISE_OWN = {
    "--questions": True,
    "--repeat": True,
    "--warmup": True,
    "--seed": True,
    "--budget": True,
    "--sweep": True,
    "--change-prefetchers": False,
    "--dry-run": False,
    "--html": True,
    "--json": False,
}
CHARACTERISE_OPTIONS = {**_RUNNING_OPTIONS, **CHARACTERISE_OWN}


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
        """The value of an option given last: the one that Spark takes."""
        values = [option.value for option in self.options if option.name == name]
        return values[-1] if values else None

    def has(self, *names: str) -> bool:
        return any(option.name in names for option in self.options)


def split_line(
    arguments: list[str], hearth_options: Mapping[str, bool] = HEARTH_OPTIONS
) -> SubmitLine:
    """Splits the words behind `hearth submit`, or behind a command with other options of its own.

    Raises UserError for an option that neither hearth nor spark-submit knows, or lacks its value.
    """
    line = SubmitLine([], [], [])
    words = iter(arguments)
    for word in words:
        if not word.startswith("-") or word == "-":
            line.application.extend([word, *words])
        elif word == "--":
            line.application.extend(words)
        else:
            _take(word, words, line, hearth_options)
    return line


def planning_words(line: SubmitLine) -> list[str]:
    """Those of hearth's own words that say how to plan, with their values."""
    found: list[str] = []
    words = iter(line.hearth)
    for word in words:
        name, equals, _ = word.partition("=")
        if name in _PLANNING_OPTIONS:
            found.append(word)
            if _PLANNING_OPTIONS[name] and not equals:
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
    return f"'{shown}' is an option neither of hearth nor of spark-submit: {hint}"
