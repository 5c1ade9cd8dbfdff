"""The processes that the kernel ended for memory, and the limit that they met.

The kernel counts them in the control group of each (cgroups(7)): version 2 in `memory.events`,
version 1 in `memory.oom_control`; without a group the machine counts them all in /proc/vmstat.
"""

import os
import re
from collections import Counter
from dataclasses import dataclass, field

from hearth.base.sizes import show_bytes
from hearth.machine.tree import NotSeen, Tree

_KMSG = "/dev/kmsg"
_KILLED = re.compile(r"^\d+,\d+,(\d+),.*?;.*Killed process \d+ \(([^()]{1,16})\)")
_MOST_MESSAGES = 100_000
_NO_LIMIT = 1 << 60  # version 1 writes the largest multiple of a page


@dataclass(frozen=True)
class MemoryGroup:
    """What one control group counted; hits: how often its own limit was met."""

    folder: str
    limit_bytes: int | None
    killed: int
    hits: int


@dataclass(frozen=True)
class MemoryKills:
    """How many processes the kernel ended, their names where it says them, and by which limit."""

    count: int
    names: list[str] = field(default_factory=list)
    group: str | None = None
    limit_bytes: int | None = None

    @property
    def what(self) -> str:
        """What happened, and by which limit."""
        what = "1 process" if self.count == 1 else f"{self.count} processes"
        who = f" ({_named(self.names)})" if self.names else ""
        if self.limit_bytes is None:
            return f"the kernel ended {what} for memory{who}: the machine had none left"
        limit = show_bytes(self.limit_bytes)
        return f"the kernel ended {what} for memory{who}: limit {limit} of '{self.group}'"

    @property
    def remedy(self) -> str:
        """What to do about it."""
        less = "give Spark less memory (--memory)"
        return less if self.limit_bytes is None else f"raise the limit, or {less}"

    @property
    def sentence(self) -> str:
        """Both in one line."""
        return f"{self.what}; {self.remedy}"


def _named(names: list[str]) -> str:
    counted = Counter(names).most_common()
    return ", ".join(name if count == 1 else f"{count} x {name}" for name, count in counted)


def memory_groups(tree: Tree | None = None) -> list[MemoryGroup]:
    """Return the own group and those above it as far as they are seen; without any the machine."""
    tree = tree or Tree()
    try:
        unified, folders = _folders(tree)
    except NotSeen:
        folders = []
    groups = [_group(tree, folder, unified) for folder in folders]
    known = [one for one in groups if one is not None]
    return known or [MemoryGroup("", None, _count(tree, "proc/vmstat", "oom_kill"), 0)]


def memory_kills(
    before: list[MemoryGroup], after: list[MemoryGroup], since_us: int
) -> MemoryKills | None:
    """Return what happened between two looks; None where nothing was killed.

    since_us: the first look, on the clock of the kernel's log.
    """
    earlier = {one.folder: one for one in before}
    grown = [(one, earlier[one.folder]) for one in after if one.folder in earlier]
    count = grown[0][0].killed - grown[0][1].killed if grown else 0
    if count <= 0:
        return None
    met = [now for now, then in grown if now.hits > then.hits and now.limit_bytes is not None]
    limited = [now for now in after if now.limit_bytes is not None]
    by = met[0] if met else min(limited, key=lambda one: one.limit_bytes or 0, default=None)
    names = _names(since_us)[-count:]
    if by is None:
        return MemoryKills(count, names)
    return MemoryKills(count, names, f"/{by.folder}", by.limit_bytes)


def _folders(tree: Tree) -> tuple[bool, list[str]]:
    """Return whether they are of version 2, and the folders, the own one first; raise NotSeen."""
    lines = [line.split(":", 2) for line in tree.table("proc/self/cgroup") if line.count(":") > 1]
    older = [one for one in tree.mounts() if one.kind == "cgroup" and "memory" in one.options]
    mounts = older or [one for one in tree.mounts() if one.kind == "cgroup2"]
    wanted = "memory" if older else ""
    paths = [path for _, kinds, path in lines if wanted in kinds.split(",")]
    if not mounts or not paths:
        raise NotSeen("no control group with memory is mounted")
    mount, path = mounts[-1], paths[0]
    # A container sees the path on its host, and its own group at the mount point.
    below = path.removeprefix(mount.root.rstrip("/")) if path.startswith(mount.root) else "/"
    point = mount.point.strip("/")
    parts = [part for part in below.split("/") if part]
    if ".." in parts:
        raise NotSeen("the control groups belong to another namespace")
    folders = ["/".join([point, *parts[:n]]) for n in range(len(parts), -1, -1)]
    return not older, folders


def _group(tree: Tree, folder: str, unified: bool) -> MemoryGroup | None:
    """Return what a group counts; None for one that counts nothing, as the root of version 2."""
    try:
        if unified:
            killed = tree.field(f"{folder}/memory.events", "oom_kill")
            limit = tree.text(f"{folder}/memory.max")
            hits = _count(tree, f"{folder}/memory.events.local", "oom")
            limit_bytes = None if limit == "max" else int(limit)
        else:
            killed = tree.field(f"{folder}/memory.oom_control", "oom_kill")
            limit_bytes = tree.number(f"{folder}/memory.limit_in_bytes")
            hits = tree.number(f"{folder}/memory.failcnt")
    except (NotSeen, ValueError):
        return None
    if limit_bytes is not None and limit_bytes >= _NO_LIMIT:
        limit_bytes = None
    return MemoryGroup(folder, limit_bytes, killed, hits)


def _count(tree: Tree, file: str, name: str) -> int:
    try:
        return tree.field(file, name)
    except NotSeen:
        return 0


def _names(since_us: int) -> list[str]:
    """Return the names of the processes that the kernel's log has since then, if it may be read."""
    try:
        log = os.open(_KMSG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    names = []
    try:
        for _ in range(_MOST_MESSAGES):
            try:
                line = os.read(log, 8192).decode(errors="replace")
            except BrokenPipeError:
                continue  # overwritten meanwhile; the next one follows
            except OSError:
                break  # no more
            found = _KILLED.match(line)
            if found and int(found[1]) >= since_us:
                names.append(found[2])
    finally:
        os.close(log)
    return names
