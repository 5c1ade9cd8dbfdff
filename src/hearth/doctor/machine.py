"""What a rule may look at: a machine's files, topology and plan, and the user's own settings."""

import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from hearth.base.absent import Absent, Measured
from hearth.base.errors import UserError
from hearth.machine import paths
from hearth.machine.plan import Plan
from hearth.machine.topology import Topology
from hearth.machine.tree import NotSeen, Tree
from hearth.record.machine_settings import java_version

T = TypeVar("T")
_UNREAD = Absent("it was not read")
_CLUSTERS = ("spark://", "yarn", "k8s://")


@dataclass(frozen=True)
class Space:
    """The space left in a file system (statvfs(3)); inodes are 0 where it has no fixed number."""

    free_bytes: int
    total_bytes: int
    free_inodes: int
    total_inodes: int


@dataclass(frozen=True)
class UserSettings:
    """The user's own settings on this machine, which no capture holds.

    conf: of spark-defaults.conf, or of a run's record. local_dirs: where Spark keeps
    shuffle files. space: of the file system of a directory. resolve: the addresses of a host name.
    installed: links of `hearth install` in the Spark, and what each leads to. archive_failures: of
    the last day, the kind of archive and the reason.
    """

    environment: Mapping[str, str]
    conf: Measured[Mapping[str, str]]
    local_dirs: Sequence[str]
    temporary: str
    space: Callable[[str], Measured[Space]]
    spark_version: Measured[str] = _UNREAD
    java_version: Measured[str] = _UNREAD
    state: str = ""
    cache: str = ""
    jar: Measured[str] = _UNREAD
    installed: Mapping[str, str] = field(default_factory=dict)
    archive_failures: Measured[Sequence[tuple[str, str]]] = _UNREAD
    resolve: Callable[[str], Measured[Sequence[str]]] = lambda name: _UNREAD

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings that the user chose; raises NotSeen if they cannot be read."""
        return known(self.conf)

    @property
    def names_a_cluster(self) -> bool:
        """Whether the master that is set is a cluster's; raises NotSeen."""
        return self.settings.get("spark.master", "").startswith(_CLUSTERS)


@dataclass(frozen=True)
class Machine:
    """A machine as a rule sees it.

    workload: its kind, if the user named one.
    """

    tree: Tree
    topology: Measured[Topology]
    plan: Measured[Plan]
    user: Measured[UserSettings]
    workload: str | None = None

    def require_topology(self) -> Topology:
        return known(self.topology)

    def require_plan(self) -> Plan:
        return known(self.plan)

    def user_settings(self) -> UserSettings:
        return known(self.user)

    def is_virtual(self) -> bool:
        """Return whether /proc/cpuinfo tells of a hypervisor; raise NotSeen where it cannot."""
        lines = self.tree.table("proc/cpuinfo")
        flags = next((line for line in lines if re.match(r"flags\s*:", line)), None)
        if flags is None:
            raise NotSeen("/proc/cpuinfo has no flags, which name a hypervisor on x86")
        return "hypervisor" in flags.split()


def known(value: Measured[T]) -> T:
    """Return the value; raise NotSeen with the reason where there is none."""
    if isinstance(value, Absent):
        raise NotSeen(value.reason)
    return value


def settings_in_brief(settings: Mapping[str, str]) -> UserSettings:
    """Return those of the user's own settings that take no time to read."""
    return UserSettings(
        dict(os.environ), settings, local_dirs(settings), temporary(), space_of,
        java_version=version_of_java(),
    )  # fmt: skip


def version_of_java() -> Measured[str]:
    """Return the version of the Java that Spark takes."""
    try:
        return java_version(paths.java())
    except UserError as error:
        return Absent(str(error))


def local_dirs(settings: Mapping[str, str]) -> Sequence[str]:
    """Return where Spark keeps shuffle files (SparkConf, `spark.local.dir`)."""
    named = os.environ.get("SPARK_LOCAL_DIRS") or settings.get("spark.local.dir") or "/tmp"
    # A record's settings may hold a NUL, which no name of a file does.
    names = [name.strip() for name in named.split(",") if "\0" not in name]
    return [os.path.realpath(name) for name in names if name]


def temporary() -> str:
    """Return this process's temporary directory; its first choice if none can be written."""
    try:
        folder = tempfile.gettempdir()
    except FileNotFoundError:
        folder = os.environ.get("TMPDIR") or "/tmp"
    return os.path.realpath(folder)


def space_of(folder: str) -> Measured[Space]:
    """Return the space of the nearest directory that exists: hearth makes its own when needed."""
    at = Path(folder)
    while not _is_there(at) and at != at.parent:
        at = at.parent
    try:
        status = os.statvfs(at)
    except OSError as error:
        return Absent(f"could not ask for the space of {at}: {error.strerror}")
    size = status.f_frsize
    return Space(status.f_bavail * size, status.f_blocks * size, status.f_favail, status.f_files)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # of a folder that this user may not enter
        return False
