"""The `hearth` command: finds the subcommand, runs it, turns errors into one line and an exit code.

A subcommand is a module of `hearth.cli.commands`; its docstring is its help. It is imported only
when needed, so that starting is quick.
"""

import contextlib
import errno
import os
import re
import signal
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterator
from types import ModuleType
from typing import NoReturn

import hearth
from hearth.base.errors import PACKAGES, UserError, nearest, not_installed
from hearth.base.java import own_directory
from hearth.base.terminal import beneath, escaping_output, one_line
from hearth.cli.answer import Answer, tell
from hearth.cli.commands import GROUPS, command_names, load, split_command, summary
from hearth.cli.hints import elsewhere, example, options_of

_USAGE_ERROR = 2
_INTERNAL = 70
_INTERRUPTED = 128 + signal.SIGINT
_BROKEN_PIPE = 128 + signal.SIGPIPE
#: Problems with the machine or with permissions, not with hearth.
_SURROUNDINGS = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR,
     errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EMFILE, errno.ENFILE, errno.EIO,
     errno.EAGAIN)
)  # fmt: skip


#: What tempfile says, without a file's name, where no directory can be written.
_NO_TEMPORARY = "No usable temporary directory"
#: What people type for an action or an option of a command.
_MEANT = {
    **{name: f"runs {name}" for name in ("list", "delete")},
    "show": "report",
    **{name.removeprefix("lab "): name for name in GROUPS["Lab"]},
    "leases": "status --leases",
    "gather": "topology --capture FILE",
    **dict.fromkeys(("fleet", "lab fleet"), "plan --machine FILE"),
    "uninstall": "install --undo",
}
_REQUIRED = "the following arguments are required"
_NO_DIRECTORY = "the current directory has been deleted: change to another one (cd)"


class Parser(ArgumentParser):
    """A parser whose errors are user errors: one line, like every other."""

    def error(self, message: str) -> NoReturn:
        hint = self._hint(message) or f"see '{self.prog} --help'"
        message = re.sub(f"^{_REQUIRED}: (.*)", r"\1 is missing", message)
        raise UserError(f"{message}: {hint}")

    def _hint(self, message: str) -> str | None:
        """Suggest what may be meant if argparse's message is about an option or a value."""
        missing = re.match(rf"{_REQUIRED}|argument (--[^\s/]+): expected", message)
        if missing and (shown := example(self.prog, missing[1] or "")):
            return f"type for example '{shown}'"
        known = self._option_string_actions
        if option := re.match(r"unrecognized arguments: (--[^\s=]+)", message):
            return elsewhere(option[1], nearest(option[1], known))
        if program := re.match(r"unrecognized arguments: (\S+\.(?:py|jar))\b", message):
            return f"the plan of a program: hearth submit --dry-run {program[1]}"
        value = re.match(r"argument ([^\s:/]+)[^:]*: invalid choice: '(.*?)' ", message)
        action = known.get(value[1]) if value else None
        near = nearest(value[2], action.choices) if value and action and action.choices else None
        return f"did you mean '{near}'?" if near else None


def main(argv: list[str] | None = None) -> int:
    """Run one command line and return its exit code.

    2 is a user error, 70 a fault in hearth, 130 an interrupt (Ctrl-C).
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    _open_standard_streams()
    with escaping_output(), _answering() as answer:
        code = _main(arguments, answer)
        if answer.as_json is None and code == _USAGE_ERROR and _asks_for_json(arguments):
            answer.expect(as_json=True)
        with contextlib.suppress(OSError):  # standard output is full or gone; the exit code tells
            answer.end(code)
        return code


@contextlib.contextmanager
def _answering() -> Iterator[Answer]:
    """Put an answer in place of standard output."""
    before = sys.stdout
    sys.stdout = answer = Answer(beneath(before))
    try:
        yield answer
    finally:
        sys.stdout = before


def _asks_for_json(arguments: list[str]) -> bool:
    """Return whether a line that could not be parsed asks for JSON, of a command that has it."""
    words = [word for word in arguments if word != "--debug"]
    if not words:
        return False
    name, rest = split_command(words)
    as_json = "--json" in rest or "--format=json" in rest or "--format json" in " ".join(rest)
    return as_json and name in command_names() and "--json" in options_of(name)


def _open_standard_streams() -> None:
    """Open those that the caller has closed on nothing, or the next file would take their number.

    A child that is given that number would then write into this file.
    """
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(opened, True)
    os.close(opened)
    # They stay open to the end of this process.
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _main(arguments: list[str], answer: Answer) -> int:
    # Only looked for, wherever it is: an application's own --debug is never removed.
    debug = "--debug" in arguments
    try:
        code = _run(arguments, answer)
        sys.stdout.flush()
        return code
    except UserError as error:
        return _failed(str(error), _USAGE_ERROR, debug)
    except KeyboardInterrupt:
        return _failed("interrupted", _INTERRUPTED, debug)
    except BrokenPipeError:
        # The reader of our output is gone (`hearth topology | head`).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except OSError as error:
        if own_directory() is not None and error.filename is None:
            return _failed(_NO_DIRECTORY, _USAGE_ERROR, debug)
        if error.errno not in _SURROUNDINGS and not str(error.strerror).startswith(_NO_TEMPORARY):
            return _fault(error, debug)
        return _failed(_surroundings(error), _USAGE_ERROR, debug)
    except ModuleNotFoundError as error:
        package = PACKAGES.get((error.name or "").partition(".")[0])
        if package is None:
            return _fault(error, debug)
        return _failed(str(not_installed(package)), _USAGE_ERROR, debug)
    except Exception as error:
        return _fault(error, debug)


def _fault(error: Exception, debug: bool) -> int:
    what = f"{type(error).__name__}: {error}"
    return _failed(f"internal error in hearth: {what} (--debug shows where)", _INTERNAL, debug)


def _surroundings(error: OSError) -> str:
    """Return the message for a full disk or a lack of permission, wherever it is met."""
    try:
        sys.stdout.flush()
    except OSError:  # the output itself cannot be written
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno == errno.EAGAIN:  # fork(2)
        limits = "at the limit of processes (ulimit -u, pids.max of the control group)"
        return f"{error.strerror}: {limits}, or an output is non-blocking and full"
    file = f"'{error.filename}': " if error.filename else ""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return f"{file}{error.strerror}: raise the limit (ulimit -n, fs.file-max)"
    variables = "HEARTH_STATE, XDG_CACHE_HOME, HEARTH_DATA and TMPDIR set hearth's own"
    remedy = "free space, or " if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
    return f"{file}{error.strerror}: {remedy}choose another place ({variables})"


def command_parser(name: str) -> tuple[ModuleType, ArgumentParser]:
    """Return the module of a subcommand and the parser of its arguments."""
    module = load(name)
    parser = Parser(
        prog=f"hearth {name}",
        description=(module.__doc__ or "").strip(),
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--debug", action="store_true", help="show a stack trace on errors")
    module.add_arguments(parser)
    return module, parser


def _run(arguments: list[str], answer: Answer) -> int:
    while arguments[:1] == ["--debug"]:
        arguments = arguments[1:]
    if not arguments:
        print(_first_steps())
        return _USAGE_ERROR
    if arguments[0] in ("-h", "--help", "help"):
        print(_overview())
        return 0
    if arguments[0] == "lab" and arguments[1:] in ([], ["-h"], ["--help"]):
        print("\n".join(["usage: hearth lab COMMAND ...", *_group("Lab")]))
        return 0 if arguments[1:] else _USAGE_ERROR
    name, rest = split_command(arguments)
    if name == "--version":
        print(f"hearth {hearth.__version__}")
        return 0
    if name not in command_names():
        raise UserError(_unknown(name))
    _take_back_abandoned()
    module, parser = command_parser(name)
    options = module.parse(parser, rest) if hasattr(module, "parse") else parser.parse_args(rest)
    answer.expect(getattr(options, "json", False) or getattr(options, "format", None) == "json")
    code: int = module.run(options)
    return code


def _take_back_abandoned() -> None:
    """Restore a setting of the machine that a killed comparison left changed."""
    from hearth.machine import paths  # a command's: no help needs it

    state = paths.state_home()
    try:
        if not any((state / "doctor" / "switched").glob("*.json")):
            return
        from hearth.machine.switch import Switch  # seldom needed

        told = Switch.of(state).take_back_abandoned()
    except PermissionError:  # another user's state: what it holds is not this user's to put back
        return
    except OSError as error:
        told = [f"a switched setting may still have to be restored: {error}"]
    for line in told:
        print(f"hearth: {line}", file=sys.stderr)


def _failed(message: str, code: int, debug: bool) -> int:
    if debug:
        import traceback

        traceback.print_exc()
    with contextlib.suppress(OSError):  # standard error is full or gone; the exit code tells
        tell(one_line(message))
    return code


def _unknown(name: str) -> str:
    kind = "option" if name.startswith("-") else "command"
    words = [*command_names(), *_MEANT, "--version", "--help"]
    near = nearest(name, words)
    near = _MEANT.get(near or "", near)
    hint = f"did you mean '{near}'?" if near else "see 'hearth --help'"
    return f"'{name}' is not a hearth {kind}: {hint}"


def _first_steps() -> str:
    name, *_ = GROUPS
    lines = [f"  {command:<8} {summary(command)}" for command in GROUPS[name]]
    return "\n".join(
        ["usage: hearth COMMAND ...", "", *lines, "", "'hearth --help' lists all commands."]
    )


def _group(group: str) -> list[str]:
    return ["", f"{group}:", *(f"  {name:<16} {summary(name)}" for name in GROUPS[group])]


def _overview() -> str:
    lines = [
        "usage: hearth [--debug] COMMAND ...",
        "",
        (hearth.__doc__ or "").strip().partition("\n")[0],
    ]
    for group in GROUPS:
        lines += _group(group)
    lines += ["", "examples:", "  hearth topology", "  hearth plan --input 200g --workload sql"]
    lines += ["  hearth submit my_job.py", ""]
    return "\n".join([*lines, "'hearth COMMAND --help' shows a command's options and examples."])


if __name__ == "__main__":
    sys.exit(main())
