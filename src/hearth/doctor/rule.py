"""A rule of the doctor's: a pure function of what is seen of a machine, and what is known of it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from hearth.base.absent import Absent
from hearth.doctor.machine import Machine
from hearth.machine.switch import Change
from hearth.machine.tree import NotSeen

#: Harm: applications fail, or others read their memory. Advice: speed. A note: the hardware is so.
Severity = Literal["harm", "advice", "note"]
Group = Literal["memory", "cpu", "limits", "files", "container", "network", "spark", "hearth"]
_PROC_SYS = "proc/sys/"


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

    seen: what is set. changes: of the kernel's settings, of several all to one value. files: a
    pattern of the shell's, for the names of many. how: what changes it, in words, where `changes`
    do not. reads, how, better, worth: instead of the rule's own.
    """

    seen: str
    severity: Severity = "advice"
    changes: tuple[Change, ...] = ()
    files: str = ""
    how: str = ""
    reads: str = ""
    better: str = ""
    worth: Worth | None = None

    def commands(self, name: str) -> tuple[str, str] | None:
        """Return what makes the changes until the machine starts again, and what does at each start
        (sysctl.d(5), tmpfiles.d(5)); None without changes. name: of the rule.
        """
        if not self.changes:
            return None
        path, value = self.changes[0].path, self.changes[0].value
        if path.startswith(_PROC_SYS):
            line = f"{path.removeprefix(_PROC_SYS).replace('/', '.')}={value}"
            lasting = f"sh -c 'echo {line} > /etc/sysctl.d/90-hearth-{name}.conf'"
            return f"sysctl -w {line}", lasting
        files = self.files or " ".join(f"/{one.path}" for one in self.changes)
        write = f'printf "w %s - - - - {value}\\n" {files}'
        return (
            f"sh -c 'echo {value} | tee {files}'",
            f"sh -c '{write} > /etc/tmpfiles.d/hearth-{name}.conf'",
        )


@dataclass(frozen=True)
class Fine:
    """There is nothing to change; seen: what was looked at."""

    seen: str


Outcome = Problem | Fine


@dataclass(frozen=True)
class Rule:
    """A question to a machine, and what is known about the answer.

    look: raises NotSeen where it cannot be answered. why: why it matters. reads: where the answer
    is read. better: what should be set. source: where that is known from. touches: what else a
    change changes. reboot: whether it needs one.
    """

    look: Callable[[Machine], Outcome]
    why: str
    reads: str
    better: str
    source: str
    touches: str = "nothing"
    how: str = ""
    worth: Worth = UNKNOWN
    reboot: bool = False
    name: str = ""  #: set by the table that holds it
    group: Group = "memory"  #: as well

    def outcome(self, machine: Machine) -> Outcome | Absent:
        """Return what the rule finds; why not, where it cannot see what it needs."""
        try:
            return self.look(machine)
        except NotSeen as reason:
            return Absent(str(reason))

    def how_for(self, problem: Problem) -> str:
        """Return what changes it where `changes` do not."""
        return problem.how or self.how or "nothing"
