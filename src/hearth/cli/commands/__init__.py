"""One file for each subcommand: its docstring is its help; `add_arguments` and `run`."""

import pkgutil

#: The commands as `hearth --help` shows them: what most people need every day stands first.
GROUPS = {
    "Every day": ("submit", "plan", "status", "compare", "report"),
    "Run": ("run", "demo", "leases", "workers"),
    "Understand": ("topology", "doctor", "fleet", "profile", "runs", "predict", "affinity"),
    "Measure": ("tune", "colocate", "characterise", "bench", "study"),
    "Manage": ("install", "uninstall", "jar", "cache", "gather", "schema", "completion"),
}


def summary(name: str) -> str:
    """Return the first line of a command's help without importing it: all take half a second."""
    source = pkgutil.get_data(__name__, f"{name}.py") or b""
    return source.split(b"\n", 1)[0].decode("utf-8").strip('" ')


def command_names() -> list[str]:
    """Return the subcommands, which are the modules of this package."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))
