"""One file for each subcommand: its docstring is its help; `add_arguments` and `run`."""

import pkgutil


def command_names() -> list[str]:
    """The subcommands, which are the modules of this package."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))
