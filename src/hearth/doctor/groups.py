"""This process's own control group of version 2, as a folder of /sys/fs/cgroup (cgroups(7))."""

import re

from hearth.doctor.tree import NotSeen, Tree

_MEMBER = re.compile(r"^0::(/[^\n]*)$", re.MULTILINE)


def own_group(tree: Tree) -> str:
    """Return the folder without a leading slash; raise NotSeen, also where only version 1 is
    used.
    """
    found = _MEMBER.search(tree.text("proc/self/cgroup"))
    if found is None or ".." in found[1].split("/"):
        raise NotSeen("there is no control group of version 2 in /proc/self/cgroup")
    folder = f"sys/fs/cgroup{found[1]}".rstrip("/")
    # A container sees the path on its host, and its own group at the root.
    return folder if tree.has(f"{folder}/cgroup.controllers") else "sys/fs/cgroup"


def limit(tree: Tree, path: str) -> int | None:
    """Return the number of a limit, None for `max`; raise NotSeen."""
    return None if tree.text(path) == "max" else tree.number(path)
