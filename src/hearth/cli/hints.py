"""Name the commands that have an unknown option, to explain an error."""

from argparse import ArgumentParser
from collections.abc import Iterable, Iterator

from hearth.base.errors import nearest
from hearth.cli.commands import GROUPS, load, split_command

#: Options that are gone, or that users guess, and what to type instead.
REPLACED = {
    "--heap": "--memory",
    "--runs": "--repeat",
    "--unbound": "--bind none",
    "--hadoop": "hearth jar --wire",
    "--flame": "--conf spark.executor.extraJavaOptions=-agentpath:LIBRARY=OPTIONS",
    "--out": "hearth lab bench --resume ID",
    "--engine": "--packages COORDINATES --conf spark.plugins=CLASS",
    **dict.fromkeys(("--fix", "--persist"), "hearth doctor --explain"),
    **dict.fromkeys(("--protocol", "--minutes", "--ramp"), "hearth colocate --loop MINUTES,RAMP"),
}
_MOST_NAMED = 4
#: Nearer than within one command: all commands together have an option that is like any word.
_CUTOFF = 0.75


def commands_with() -> dict[str, list[str]]:
    """Return the commands, each with its action, that have each option, by the option's name."""
    commands: dict[str, list[str]] = {}
    for name in [name for names in GROUPS.values() for name in names]:
        for option, having in _options_with(name):
            commands.setdefault(option, []).append(having)
    return commands


def options_of(name: str) -> set[str]:
    """Return the options of a command and of its actions."""
    return {option for option, _ in _options_with(name)}


def _options_with(name: str) -> Iterable[tuple[str, str]]:
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    load(name).add_arguments(parser)
    return dict.fromkeys(_options(parser, name))


def _options(parser: ArgumentParser, name: str) -> Iterator[tuple[str, str]]:
    """Yield the options of a parser and of its actions, such as `hearth runs delete`, and whose."""
    # argparse has no public list of them.
    yield from ((option, name) for option in parser._option_string_actions)
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for below, its in action.choices.items():
                yield from _options(its, f"{name} {below}")


def example(prog: str, option: str = "") -> str | None:
    """Return the first example in the help of a command, or of an action, that has the option."""
    lines = (load(split_command(prog.split()[1:])[0]).__doc__ or "").splitlines()
    shown = (line.strip() for line in lines if not option or f" {option} " in line)
    return next((line for line in shown if line.startswith(f"{prog} ")), None)


def elsewhere(word: str, nearest_own: str | None) -> str | None:
    """Return what to say of an option that a command does not have.

    nearest_own: the nearest that it has. None where no command has one of this name or like it.
    """
    name = word.partition("=")[0]
    if name in REPLACED:
        return f"use '{REPLACED[name]}'"
    having = commands_with()
    having.pop("--help", None)
    if name in having:
        shown = [f"'hearth {each}'" for each in having[name][:_MOST_NAMED]]
        which = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
        return f"{which} {'has' if len(shown) == 1 else 'have'} it"
    near = nearest(name, having, _CUTOFF)
    if nearest_own is not None and nearest(name, filter(None, [nearest_own, near])) == nearest_own:
        return f"did you mean '{nearest_own}'?"
    return f"did you mean '{near}' of 'hearth {having[near][0]}'?" if near else None
