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

    seen: what is set. how: what changes it, in words, where `changes` do not.
    reads, how, better, worth: instead of the rule's own.
    """

    seen: str
    severity: Severity = "advice"
    changes: tuple[Change, ...] = ()
    how: str = ""
    reads: str = ""
    better: str = ""
    worth: Worth | None = None


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
        """Return what changes it, in words; for what `changes` do, their command: of many files the
        first, and how many there are.
        """
        if problem.how or not problem.changes:
            return problem.how or self.how or "nothing"
        first, more = problem.changes[0].command, len(problem.changes) - 1
        return f"{first} (and {more} more: --dry-run)" if more else first
