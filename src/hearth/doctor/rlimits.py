"""The limits of this process, which what it starts inherits (/proc/self/limits, getrlimit(2))."""

import re
from typing import NamedTuple

from hearth.doctor.tree import NotSeen, Tree

_FILE = "proc/self/limits"


class Limit(NamedTuple):
    """None: unlimited."""

    soft: int | None
    hard: int | None


def limit_of(tree: Tree, name: str) -> Limit:
    """Return the limit of a name such as `Max open files`; raise NotSeen."""
    for line in tree.table(_FILE):
        found = re.match(
            rf"{name}\s+(unlimited|\d{{1,19}})\s+(unlimited|\d{{1,19}})(\s|$)", line, re.ASCII
        )
        if found:
            soft, hard = (None if word == "unlimited" else int(word) for word in found.groups()[:2])
            if hard is not None and (soft is None or soft > hard):
                break
            return Limit(soft, hard)
    raise NotSeen(f"could not read /{_FILE}: it has no sound line '{name}'")
