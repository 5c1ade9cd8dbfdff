"""The options that commands share, and what a command line says as typed values.

A command's `parse` or `run` is all that sees argparse's Namespace: below it are typed values.
"""

import shlex
import sys
from argparse import ArgumentParser, Namespace, _ArgumentGroup, _MutuallyExclusiveGroup
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from hearth.base.durations import parse_seconds
from hearth.base.errors import UserError
from hearth.base.private_files import write_private
from hearth.cli.hints import elsewhere
from hearth.machine.plan import BINDINGS, KINDS
from hearth.spark.driver_log import LEVELS
from hearth.spark.submit_args import (
    DRY_RUN,
    SplitLine,
    SubmitLine,
    SubmitOptions,
    UnknownOptionError,
    has_dry_run,
    is_application,
    late_options,
    split_line,
)

MACHINE_HELP = "a capture, or a one-line description (default: this machine)"
_MOST_RUNS = 1000
#: The title of the options that few need.
ADVANCED = "advanced"
T = TypeVar("T")

#: The options of `SubmitOptions`, as argparse takes them.
_PLANNING: dict[str, dict[str, Any]] = {
    "--input": {"metavar": "SIZE", "help": "size of the input, e.g. 200g"},
    "--workload": {"choices": KINDS, "help": "kind of workload, if known"},
    "--executors": {"type": int, "metavar": "N", "help": "number of executors (default: planned)"},
    "--cores": {
        "type": int,
        "metavar": "N",
        "help": "task slots of each executor (default: planned)",
    },
    "--memory": {"metavar": "SIZE", "help": "heap of each executor, e.g. 20g (default: planned)"},
    "--bind": {
        "choices": BINDINGS,
        "help": "node (default): bind each executor to CPUs of its own, within one NUMA node if "
        "they fit; package: to all CPUs and memory nodes of a package, shared with others; none: "
        "do not bind",
    },
    "--hosts": {
        "choices": ("node", "machine"),
        "help": "what Spark treats as a host: each NUMA node (default) or the whole machine",
    },
    "--docker": {"action": "store_true", "help": "run each executor in a Docker container"},
    "--width": {
        "choices": ("fixed", "adaptive"),
        "help": "tasks of a stage at once: as planned (default), or found while it runs",
    },
    "--when-full": {
        "choices": ("share", "wait", "refuse"),
        "help": "if other applications hold the needed CPUs or memory: share them, unbound "
        "(default), wait for them, or refuse to run",
    },
    "--reserve-cpus": {
        "metavar": "CPUS",
        "help": "leave these CPUs, e.g. 0-1, to other programs; name all threads of a core",
    },
}
#: Those that `hearth plan` takes too.
OF_A_PLAN = ("--input", "--workload", "--executors", "--cores", "--memory", "--bind")


def add_plan_options(parser: ArgumentParser) -> None:
    """Add what is known of an application, and what the user fixes of its plan, `conf` included."""
    _add(parser, OF_A_PLAN)
    parser.add_argument(
        "--conf",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a Spark setting that the plan must honour; may be repeated",
    )


def add_python_option(parser: ArgumentParser) -> None:
    """Add whether the planned application is in Python; `submit` sees it by the file's name."""
    help_text = "plan for a Python application, whose workers need memory outside the heap"
    parser.add_argument("--python", action="store_true", help=help_text)


def add_submit_options(parser: ArgumentParser, refused: Mapping[str, str] = {}) -> None:
    """Add the options with which an application is planned and run.

    refused: those that this command does not accept, with what it says of each in place of running.
    """
    parser.set_defaults(refused=refused)
    _add(parser, [name for name in _PLANNING if name not in refused])


def add_log_option(parser: ArgumentParser) -> None:
    """Add how much of Spark's log is seen."""
    words = "print the driver's log from this level on (default: as your own log4j says, else warn)"
    group(parser, "output").add_argument("--log", choices=LEVELS, help=words)


def _add(parser: ArgumentParser, names: Iterable[str]) -> None:
    plan = group(parser, "plan")
    for name in names:
        plan.add_argument(name, **_PLANNING[name])


@dataclass(frozen=True)
class CommandLine:
    """A command line that is read: the application's line, and the command's own options."""

    line: SubmitLine
    own: Namespace


def read_submit_line(
    parser: ArgumentParser, words: Iterable[str], *, behind: bool = False
) -> CommandLine:
    """Read the words of a command that runs an application.

    behind: whether the command's own options may also stand behind the name of a workload.
    """
    split = split_words(parser, words, behind=behind)
    given = parser.parse_args(split.hearth)
    return CommandLine(submit_line(split, given), given)


def _with_hint(error: UnknownOptionError, prog: str) -> UserError:
    hint = elsewhere(error.shown, error.near)
    if hint is None or hint.startswith("did you mean"):
        return UnknownOptionError(error.shown, error.near, hint or f"see '{prog} --help'")
    return UserError(f"{error.shown.partition('=')[0]}: not an option of {prog}: {hint}")


#: How an application is given a `--dry-run` of its own.
_MARKED = "if {name} takes one itself, put -- before {name}"


def in_parts(parser: ArgumentParser, words: Iterable[str], *, behind: bool) -> SplitLine:
    """Split the words into three parts; behind: as for `read_submit_line`."""
    known = _options_of(parser)
    try:
        split = split_line(words, {**_takes_value(), **known})
    except UnknownOptionError as error:
        raise _with_hint(error, parser.prog) from None
    return _with_options_behind(split, known) if behind and _is_of_workload(split) else split


def _is_of_workload(split: SplitLine) -> bool:
    return bool(split.application) and not is_application(split.application[0])


def _takes_value() -> dict[str, bool]:
    return {name: "action" not in how for name, how in _PLANNING.items()}


def split_words(
    parser: ArgumentParser, words: Iterable[str], *, behind: bool, marked: str = _MARKED
) -> SplitLine:
    """Return the words in three parts; raises UserError for an option that the command refuses.

    marked: what to do where an application is to be given a `--dry-run` of its own.
    """
    refused: Mapping[str, str] = parser.get_default("refused") or {}
    split = in_parts(parser, words, behind=behind)
    _refuse(split.hearth, {**_takes_value(), **_options_of(parser)}, refused)
    if behind and _is_of_workload(split):
        return split
    _refuse_late_dry_run(split, marked)
    for note in late_options(split.application) if behind and not split.marked else ():
        print(f"hearth: {note}", file=sys.stderr)
    return split


def submit_line(split: SplitLine, given: Namespace) -> SubmitLine:
    """Return the typed line of one that is split, whose options of hearth's the parser has read."""
    options: dict[str, Any] = {
        field.name: getattr(given, field.name, field.default) for field in fields(SubmitOptions)
    }
    return SubmitLine(SubmitOptions(**options), tuple(split.options), tuple(split.application))


class _Refusing(ArgumentParser):
    """Reads words of a file; `prog` names it in the error where they are none."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{self.prog}: {message}")


def read_line(
    words: Iterable[str], what: str = "hearth submit", refused: Mapping[str, str] = {}
) -> SubmitLine:
    """Return the line of an application that stands in a file; what: names it in an error."""
    parser = _Refusing(add_help=False, allow_abbrev=False, prog=what)
    add_submit_options(parser, refused)
    return read_submit_line(parser, words).line


def read_lines(file: Path, option: str, refused: Mapping[str, str]) -> list[SubmitLine]:
    """Return the lines of the applications in the file of an option, in shell syntax."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{option}: '{file}' cannot be read: {error}") from error
    submit_lines = []
    for number, line in enumerate(lines, start=1):
        where = f"{option}: '{file}', line {number}"
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise UserError(f"{where}: {error}") from error
        submit_lines += [read_line(words, where, refused)] if words else []
    return submit_lines


def read_planning_words(words: Iterable[str], what: str) -> SubmitOptions:
    """Return the options that the words of a file stand for; what: names it in an error."""
    parser = _Refusing(add_help=False, allow_abbrev=False, prog=what)
    add_submit_options(parser)
    return submit_line(SplitLine(), parser.parse_args(list(words))).planning


def from_namespace(kind: type[T], given: Namespace, **more: object) -> T:
    """Build the dataclass of a command's options; more: fields that no option of that name has."""
    names = {field.name for field in fields(kind)} - more.keys()  # type: ignore[arg-type]
    return kind(**{name: getattr(given, name) for name in names}, **more)


def _options_of(parser: ArgumentParser) -> dict[str, bool]:
    """Return a parser's options by name: True for those that take a value."""
    # argparse has no public list of them.
    return {name: action.nargs != 0 for name, action in parser._option_string_actions.items()}


def _refuse(words: Iterable[str], takes: Mapping[str, bool], refused: Mapping[str, str]) -> None:
    rest = iter(words)
    for word in rest:
        name, equals, _ = word.partition("=")
        if takes[name] and not equals:
            next(rest)
        if name in refused:
            raise UserError(f"{name}: {refused[name]}")


def _refuse_late_dry_run(split: SplitLine, marked: str) -> None:
    """Refuse it behind the application, which alone would be told; who types it wants no run."""
    if split.marked or DRY_RUN in split.hearth or not has_dry_run(split.application[1:]):
        return
    name = split.application[0]
    how = marked.format(name=name)
    raise UserError(f"{DRY_RUN} after {name} is not hearth's: put it before {name}; {how}")


def _with_options_behind(split: SplitLine, known: Mapping[str, bool]) -> SplitLine:
    """Return the line of a workload, the command's own options taken from behind its name."""
    commands_own = {
        name: takes for name, takes in known.items() if name not in (*_PLANNING, *_EVERYWHERE)
    }
    words, left = take_options(split.application[1:], commands_own)
    application = [split.application[0], *left]
    return replace(split, hearth=[*split.hearth, *words], application=application)


_EVERYWHERE = ("--debug", "--help", "-h")


def take_options(words: Iterable[str], known: Mapping[str, bool]) -> tuple[list[str], list[str]]:
    """Return the words that are these options with their values, and the others."""
    taken: list[str] = []
    left: list[str] = []
    rest = iter(words)
    for word in rest:
        takes_value = known.get(word.partition("=")[0])
        (left if takes_value is None else taken).append(word)
        if takes_value and "=" not in word:
            taken += [value for value in [next(rest, None)] if value is not None]
    return taken, left


@dataclass(frozen=True)
class RunOptions:
    """The number of runs of each arm of a study, and the time for all.

    repeat: measured runs. warmup: those before. budget_s: None for no limit. wait_idle_s: how
    long to wait for the machine to be idle before each; None to wait for nothing.
    """

    repeat: int
    warmup: int
    seed: int
    budget_s: float | None
    wait_idle_s: float | None


def group(parser: ArgumentParser, title: str) -> _ArgumentGroup:
    """Return the group of options of this title, which a long help is divided by."""
    # argparse has no public list of them.
    there = (each for each in parser._action_groups if each.title == title)
    return next(there, None) or parser.add_argument_group(title)


def add_run_options(
    parser: ArgumentParser, *, repeat: int, warmup: int, usual: str | None = None
) -> _MutuallyExclusiveGroup:
    """Add them with these defaults; the group of `--repeat`, for options that exclude it.

    usual: what happens without `--repeat`, where it is not a number.
    """
    parser.set_defaults(usual_repeat=repeat)
    runs = group(parser, "runs")
    how_often = runs.add_mutually_exclusive_group()
    how_often.add_argument(
        "--repeat",
        type=int,
        metavar="N",
        help=f"measured runs of each arm (default: {usual or repeat})",
    )
    warm_ups = f"warm-up runs of each arm, not measured (default: {warmup})"
    runs.add_argument("--warmup", type=int, default=warmup, metavar="N", help=warm_ups)
    seed = "seed for the order of runs and the generated data (default: 1)"
    group(parser, ADVANCED).add_argument("--seed", type=int, default=1, metavar="N", help=seed)
    budget = "time for all runs, e.g. 30m: start none that would exceed it"
    runs.add_argument("--budget", metavar="TIME", help=budget)
    add_wait_option(parser)
    return how_often


def add_cold_option(runs: _ArgumentGroup) -> None:
    """Add `--cold`."""
    words = "drop the page cache before each run (needs root)"
    runs.add_argument("--cold", action="store_true", help=words)


def add_wait_option(parser: ArgumentParser, title: str = "runs") -> None:
    """Add what is done about other programs."""
    words = "wait up to TIME for the machine to be idle before each run"
    group(parser, title).add_argument("--wait-quiet", metavar="TIME", help=words)


def parse_limit(text: str) -> float:
    """Return the seconds of `--limit`; raise UserError for what is not a positive duration."""
    limit_s = parse_seconds(text, "--limit")
    if limit_s <= 0:
        raise UserError(f"--limit: '{text}' is not a positive duration: use e.g. 30m")
    return limit_s


def wait_option(given: Namespace) -> float | None:
    """Return the seconds of `--wait-quiet`; raises UserError for what is not a duration."""
    wait = given.wait_quiet
    return None if wait is None else parse_seconds(wait, "--wait-quiet")


def run_options(given: Namespace) -> RunOptions:
    """Return the given values or the defaults; raise UserError for one that is out of range."""
    repeat = given.usual_repeat if given.repeat is None else given.repeat
    limits = (("repeat", repeat, 1), ("warmup", given.warmup, 0))
    for name, value, least in limits:
        if not least <= value <= _MOST_RUNS:
            raise UserError(f"--{name}: {value} is out of range: give {least} to {_MOST_RUNS}")
    if given.seed < 0:
        raise UserError(f"--seed: {given.seed} is below 0: give a whole number from 0")
    budget_s = None if given.budget is None else parse_seconds(given.budget, "--budget")
    return RunOptions(repeat, given.warmup, given.seed, budget_s, wait_option(given))


def refuse_device(file: Path, option: str) -> None:
    """Refuse what a new file would replace and nobody means to lose: /dev/null, a pipe, a folder.

    Links in /dev, such as stdout, lead to what is open, and are replaced as well.
    """
    if file.absolute().parent == Path("/dev") or (file.exists() and not file.is_file()):
        raise UserError(f"{option}: '{file}' is not a regular file: name another")


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


EXPLAIN_HELP = "also show what was counted beside the times, and how intervals are made"


def json_help(name: str, what: str = "print JSON") -> str:
    """Return the help of --json, which says where the document's schema is."""
    return f"{what} (its schema: hearth schema {name})"
