"""This process's own control group of version 2, as a folder of /sys/fs/cgroup (cgroups(7))."""

import re

from hearth.machine.tree import Mount, NotSeen, Tree

MOUNT = "sys/fs/cgroup"
_MEMBER = re.compile(r"^0::(/[^\n]*)$", re.MULTILINE)


def own_group(tree: Tree) -> str:
    """Return the folder without a leading slash; raise NotSeen, also where only version 1 is
    used.
    """
    member = _MEMBER.search(tree.text("proc/self/cgroup"))
    if tree.has("proc/self/mountinfo") and any(map(_is_foreign, _mounts(tree))):
        raise NotSeen(f"the control groups on /{MOUNT} belong to another namespace")
    if member is None or ".." in member[1].split("/"):
        raise NotSeen("there is no control group of version 2 in /proc/self/cgroup")
    # A container sees the path on its host, and its own group at the root.
    for folder in (f"{MOUNT}{member[1]}".rstrip("/"), MOUNT):
        if tree.has(f"{folder}/cgroup.controllers"):
            return folder
    raise NotSeen(f"control groups of version 2 are not mounted on /{MOUNT}")


def need_groups(tree: Tree) -> None:
    """Raise NotSeen where the limits of control groups cannot be seen: none seen is not none."""
    tree.table("proc/self/cgroup")
    # A capture of hwloc's has no list of mounts that is the process's own.
    if tree.has("proc/self/mountinfo") and not mounted(tree):
        raise NotSeen("control groups exist but are not visible")


def mounted(tree: Tree) -> bool:
    """Return whether a mount of the own groups is seen; another may lie over those listed."""
    points = [one.point for one in _mounts(tree) if not _is_foreign(one)]
    return any(tree.has(point.lstrip("/")) for point in points)


def _mounts(tree: Tree) -> list[Mount]:
    return [one for one in tree.mounts() if one.kind in ("cgroup", "cgroup2")]


def _is_foreign(mount: Mount) -> bool:
    """Return whether it was made in a namespace above this process's: its root is then `/..`."""
    return mount.root.startswith("/..")
