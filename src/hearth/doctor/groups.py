"""This process's own control group of version 2, as a folder of /sys/fs/cgroup (cgroups(7))."""

import re

from hearth.doctor.tree import NotSeen, Tree

MOUNT = "sys/fs/cgroup"
_MEMBER = re.compile(r"^0::(/[^\n]*)$", re.MULTILINE)


def own_group(tree: Tree) -> str:
    """Return the folder without a leading slash; raise NotSeen, also where only version 1 is
    used.
    """
    found = _MEMBER.search(tree.text("proc/self/cgroup"))
    if found is None or ".." in found[1].split("/"):
        raise NotSeen("there is no control group of version 2 in /proc/self/cgroup")
    # A container sees the path on its host, and its own group at the root.
    for folder in (f"{MOUNT}{found[1]}".rstrip("/"), MOUNT):
        if tree.has(f"{folder}/cgroup.controllers"):
            return folder
    raise NotSeen(f"control groups of version 2 are not mounted on /{MOUNT}")


def own_groups(tree: Tree) -> list[str]:
    """Return the own folder and those above it as far as they are seen; raise NotSeen."""
    folder = own_group(tree)
    found = [folder]
    while folder != MOUNT:
        folder = folder.rpartition("/")[0]
        found.append(folder)
    return found


def limit(tree: Tree, path: str) -> int | None:
    """Return the number of a limit, None for `max`; raise NotSeen."""
    return None if tree.text(path) == "max" else tree.number(path)
