"""One file for each subcommand: its docstring is its help; `add_arguments` and `run`.

Commands of two words, such as `hearth lab run`, are the modules of the package `lab`.
"""

import importlib
import pkgutil
from types import ModuleType

#: The commands as `hearth --help` shows them: what most people need every day stands first.
GROUPS = {
    "Every day": ("submit", "plan", "status", "compare", "report"),
    "Understand": ("topology", "doctor", "profile", "runs"),
    "Measure and tune": ("tune", "colocate"),
    "Manage": ("install", "jar", "workers", "cache", "schema", "completion"),
    "Lab": (
        "lab run", "lab demo", "lab bench", "lab characterise", "lab study", "lab predict",
        "lab affinity",
    ),
}  # fmt: skip


def load(name: str) -> ModuleType:
    """Import the module of a command, which is slow for all of them: half a second."""
    return importlib.import_module(f"{__name__}.{name.replace(' ', '.')}")


def summary(name: str) -> str:
    """Return the first line of a command's help without importing it."""
    source = pkgutil.get_data(__name__, f"{name.replace(' ', '/')}.py") or b""
    return source.split(b"\n", 1)[0].decode("utf-8").strip('" ')


def command_names() -> list[str]:
    """Return the names of the commands in the order of the help, `lab run` and the like as two
    words.
    """
    return [name for names in GROUPS.values() for name in names]


def split_command(words: list[str]) -> tuple[str, list[str]]:
    """Split a command line into the command's name, of one or two words, and the rest."""
    length = 2 if words[0] == "lab" else 1
    return " ".join(words[:length]), words[length:]
