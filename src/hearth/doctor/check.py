"""A check of the doctor's: a pure function of what is seen of a machine, and what is known of
it.
"""

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

from hearth.base.absent import Absent, Measured
from hearth.base.errors import UserError, nearest
from hearth.base.java import OPTION_VARIABLES
from hearth.doctor import checks
from hearth.doctor.tree import NotSeen, Tree
from hearth.machine.plan import Plan
from hearth.machine.topology import Topology

if TYPE_CHECKING:  # before each run only a few checks are asked, without it
    from hearth.machine.leases import Leases

T = TypeVar("T")
Severity = Literal["harm", "advice"]
Group = Literal["memory", "cpu", "limits", "files", "container", "network", "spark", "hearth"]
#: In the order in which they are shown.
GROUPS: tuple[Group, ...] = get_args(Group)
#: What of a run a setting acts on, where its record tells how much there was of it.
Concern = Literal["heaps", "placement", "files", "cpus", "network", "queries"]


@dataclass(frozen=True)
class Space:
    """The space left in a file system (statvfs(3)); inodes are 0 where it has no fixed number."""

    free_bytes: int
    total_bytes: int
    free_inodes: int
    total_inodes: int


@dataclass(frozen=True)
class Archive:
    """A class-data archive in hearth's cache."""

    size_bytes: int
    is_older_than_the_jar: bool


@dataclass(frozen=True)
class Own:
    """The user's own settings on this machine, which no capture holds.

    conf: of spark-defaults.conf, or of a run's record. root_log_level: of log4j2.properties, None
    where it names none. local_dirs: where Spark keeps shuffle
    files. space: of the file system of a directory. resolve: the addresses of a host name.
    installed: links of `hearth install` in the Spark, and what each leads to. archive_failures: of
    the last day, the kind of archive and the reason.
    """

    environment: Mapping[str, str]
    conf: Measured[Mapping[str, str]]
    spark_version: Measured[str]
    java_home: Measured[Path]
    root_log_level: Measured[str | None]
    local_dirs: Sequence[str]
    temporary: str
    state: str
    cache: str
    jar: Measured[str]
    installed: Mapping[str, str]
    leases: "Measured[Leases]"
    archives: Measured[Sequence[Archive]]
    archive_failures: Measured[Sequence[tuple[str, str]]]
    space: Callable[[str], Measured[Space]]
    resolve: Callable[[str], Measured[Sequence[str]]]

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings that the user chose; raises NotSeen if they cannot be read."""
        return known(self.conf)


@dataclass(frozen=True)
class Machine:
    """All that a check may look at.

    workload: its kind, if the user named one. of_fleet: whether it is one of several.
    """

    tree: Tree
    topology: Measured[Topology]
    plan: Measured[Plan]
    own: Measured[Own]
    workload: str | None = None
    of_fleet: bool = False

    def the_topology(self) -> Topology:
        return known(self.topology)

    def the_plan(self) -> Plan:
        return known(self.plan)

    def the_own(self) -> Own:
        return known(self.own)

    def java_options(self) -> str:
        """Return the options that the user gives to Spark's JVMs, wherever they are set."""
        own = self.the_own()
        names = [
            f"spark.{who}.{kind}JavaOptions"
            for who in ("driver", "executor")
            for kind in ("default", "extra")
        ]
        given = [own.environment.get(name, "") for name in (*OPTION_VARIABLES, "SPARK_SUBMIT_OPTS")]
        return " ".join(filter(None, [*given, *(own.settings.get(name, "") for name in names)]))


def known(value: Measured[T]) -> T:
    """Return the value; raise NotSeen with the reason where there is none."""
    if isinstance(value, Absent):
        raise NotSeen(value.reason)
    return value


@dataclass(frozen=True)
class Change:
    """A write to a file of /proc/sys or /sys; path: without the leading slash.

    counterpart: a file that the kernel sets to 0 when this one is written, and the other way round.
    """

    path: str
    value: str
    counterpart: str = ""

    @property
    def command(self) -> str:
        """Return the command that makes it."""
        if self.path.startswith("proc/sys/"):
            return f"sysctl -w {sysctl_name(self.path)}={self.value}"
        return f"sh -c 'echo {self.value} > /{self.path}'"


def sysctl_name(path: str) -> str:
    """Return `vm.swappiness` of `proc/sys/vm/swappiness`."""
    return path.removeprefix("proc/sys/").replace("/", ".")


@dataclass(frozen=True)
class Worth:
    """The worth of a change: measured on this machine, published by a study, or unknown.

    undecided: measured here, with an interval that does not decide. percent: the gain that was
    measured, or the largest that the study saw, for ranking.
    """

    kind: Literal["measured", "undecided", "published", "unknown"]
    text: str
    percent: float = field(default=0.0, compare=False)


UNKNOWN = Worth("unknown", "hearth knows no figure for Spark")


def published(text: str, percent: float) -> Worth:
    return Worth("published", text, percent)


@dataclass(frozen=True)
class Problem:
    """A setting that costs speed or safety here.

    seen: what is set. evidence: where that was read. better, worth: instead of the check's own.
    command: what changes it, where that is not the same as `changes`; may be in words.
    """

    seen: str
    evidence: str
    severity: Severity = "advice"
    changes: tuple[Change, ...] = ()
    command: str = ""
    better: str = ""
    worth: Worth | None = None


@dataclass(frozen=True)
class Fine:
    """There is nothing to change; seen: what was looked at."""

    seen: str


Outcome = Problem | Fine


@dataclass(frozen=True)
class Check:
    """A question to a machine, and what is known about the answer.

    look: raises NotSeen where it cannot be answered. better: what should be set. source: where
    that is known from. touches: what else a change changes. reboot: whether it needs one.
    concerns: what of a run it acts on.
    """

    look: Callable[[Machine], Outcome]
    group: Group
    better: str
    source: str
    touches: str
    worth: Worth = UNKNOWN
    reboot: bool = False
    concerns: Concern | None = None
    name: str = ""  #: set by the registry, from the name of the file
    why: str = ""  #: as well, from its docstring


@cache
def all_checks() -> tuple[Check, ...]:
    """Return every check: one file of `hearth.doctor.checks` each, in the order of their groups."""
    found = [check_of(module.name) for module in pkgutil.iter_modules(checks.__path__)]
    return tuple(sorted(found, key=lambda check: (GROUPS.index(check.group), check.name)))


def named(name: str, option: str) -> Check:
    """Return the check of a name that `option` was given; raise UserError where there is none."""
    known = {check.name: check for check in all_checks()}
    if name not in known:
        near = nearest(name, known)
        hint = f"did you mean '{near}'?" if near else "'hearth doctor --all' lists them"
        raise UserError(f"{option}: '{name}' is not a check: {hint}")
    return known[name]


def check_of(module_name: str) -> Check:
    """Return the check of a file."""
    module = importlib.import_module(f"{checks.__name__}.{module_name}")
    check: Check = module.CHECK
    why = " ".join((module.__doc__ or "").split())
    return replace(check, name=module_name.replace("_", "-"), why=why)


def looked(check: Check, machine: Machine) -> Outcome | Absent:
    """Return what a check finds; why not, where it cannot see what it needs."""
    try:
        return check.look(machine)
    except NotSeen as reason:
        return Absent(str(reason))
