"""The one exception that a user is meant to see."""

from collections.abc import Iterable


class UserError(Exception):
    """Something the user can correct.

    The message is one line that states the name, the value, the limit and what to do next.
    It is shown without a stack trace, and the command ends with exit code 2.
    """


#: Python packages that an installation may lack (pip install --no-deps), by their modules.
PACKAGES = {
    "sklearn": "scikit-learn",
    **{name: name for name in ("duckdb", "networkx", "numpy", "pyarrow")},
    **{name: name for name in ("scipy", "shtab", "zstandard")},
}


def not_installed(package: str) -> UserError:
    """Return the error for a Python package that hearth needs and does not find."""
    return UserError(f"{package} is not installed: pip install {package}")


def nearest(word: str, words: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the word that is probably meant: the one most like `word`, if any is at all."""
    import difflib  # only where something is wrong already

    return next(iter(difflib.get_close_matches(word, list(words), n=1, cutoff=cutoff)), None)
