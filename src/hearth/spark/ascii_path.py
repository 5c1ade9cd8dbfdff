"""A path that JVM options accept, for a directory whose name they do not.

`-Xlog` separates its words by colons and quotes, and a JVM under LC_ALL=C cannot write non-ASCII
letters: the logs then go through a link in the directory for temporary files.
"""

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from hearth.base.errors import UserError
from hearth.base.temporary import working_directory

_PLAIN = re.compile(r"[A-Za-z0-9_./+=@-]+")


def is_plain(directory: Path) -> bool:
    return _PLAIN.fullmatch(str(directory)) is not None


@contextlib.contextmanager
def plain_path(directory: Path) -> Iterator[Path]:
    """The directory itself or, if its name is not plain, a link to it for as long as needed."""
    if is_plain(directory):
        yield directory
        return
    with working_directory(keep=False, prefix="hearth-record-") as folder:
        link = folder / "record"
        link.symlink_to(directory, target_is_directory=True)
        yield link


def check_locale(state: Path, environment: Mapping[str, str]) -> None:
    """Raises UserError where Spark could not write an event log, and would fail."""
    names = ("LC_ALL", "LC_CTYPE", "LANG")
    chosen = next((environment[name] for name in names if environment.get(name)), "C")
    if not str(state).isascii() and "utf" not in chosen.lower():
        raise UserError(
            f"the state directory '{state}' has characters that Spark cannot write in the locale "
            f"'{chosen}': set LC_ALL=C.UTF-8, or HEARTH_STATE to a directory with a plain name"
        )
