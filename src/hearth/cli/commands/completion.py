"""Print a script that completes hearth's commands, options and values in your shell.

bash: add eval "$(hearth completion bash)" to ~/.bashrc. zsh: write the script to a file _hearth in
a directory of fpath. fish: write it to ~/.config/fish/completions/hearth.fish. The script knows the
commands of this version: write the file again after an upgrade.

examples:
  hearth completion bash
  hearth completion fish
"""

from argparse import ArgumentParser, Namespace

from hearth.cli.commands import command_names, load, summary
from hearth.spark.submit_args import spark_options
from hearth.studies.published.preset import names as study_names

SHELLS = ("bash", "zsh", "fish")
#: Metavars of values that are completed as files' or directories' names.
_FILES = ("FILE", "CAPTURE|SPEC", "TABLE.csv")
_DIRECTORIES = ("DIR",)
_IDS = ("RUN", "ID")
#: Prints `last` and the ids of all runs and studies, whose directories have their names.
_LIST = """\
_hearth_ids() {
  (cd "${HEARTH_STATE:-${XDG_STATE_HOME:-$HOME/.local/state}/hearth}" 2>/dev/null &&
    ls -d records/* studies/*/* 2>/dev/null | sed 's,.*/,,'; echo last)
}
"""
_FISH_LIST = """\
function _hearth_kept
  set -l state $HOME/.local/state
  test -n "$XDG_STATE_HOME"; and set state $XDG_STATE_HOME
  set -l home $state/hearth
  test -n "$HEARTH_STATE"; and set home $HEARTH_STATE
  for kept in $home/records/* $home/studies/*/*
    basename $kept
  end
  echo last
end
"""
_KEPT = {
    "bash": "_hearth_kept",
    "zsh": "_hearth_kept",
    "fish": "(_hearth_kept)",
    "preamble": {
        "bash": _LIST + '_hearth_kept() { compgen -W "$(_hearth_ids)" -- "$1"; }\n',
        "zsh": _LIST + "_hearth_kept() { compadd -- $(_hearth_ids) }\n",
        "fish": _FISH_LIST,
    },
}


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("shell", choices=SHELLS, help="your shell")


def run(options: Namespace) -> int:
    """Print the script."""
    import shtab

    print(shtab.complete(_whole_parser(), shell=options.shell))
    return 0


def _whole_parser() -> ArgumentParser:
    """Return one parser of all commands, for their words alone: it parses no command line."""
    parser = ArgumentParser(prog="hearth")
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(dest="command")
    lab = commands.add_parser("lab", help="experiments").add_subparsers(dest="experiment")
    for name in command_names():
        module = load(name)
        parent = lab if name.startswith("lab ") else commands
        command = parent.add_parser(name.removeprefix("lab "), help=summary(name))
        command.add_argument("--debug", action="store_true", help="show a stack trace on errors")
        module.add_arguments(command)
        if "APPLICATION" in (command.usage or ""):
            _add_spark_options(command)
            command.add_argument("application", nargs="*", metavar="FILE")
        _complete_names(command)
    return parser


def _add_spark_options(command: ArgumentParser) -> None:
    """Add spark-submit's options that hearth's command does not have itself."""
    for name, takes_value in spark_options().items():
        if name not in command._option_string_actions:
            action = "store" if takes_value else "store_true"
            command.add_argument(name, action=action, help="an option of spark-submit")


def _complete_names(command: ArgumentParser) -> None:
    """Complete values that are names of files as such, and ids by what is kept."""
    import shtab

    # argparse has no public list of them.
    for action in command._actions:
        if action.metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar in _DIRECTORIES:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        elif action.metavar in _IDS:
            action.complete = _KEPT  # type: ignore[attr-defined]
        elif action.metavar == "EXPERIMENT":
            action.choices = study_names()
        elif isinstance(action.choices, dict):
            for below in action.choices.values():
                _complete_names(below)
