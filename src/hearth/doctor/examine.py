"""Ask all checks, and put what they find in order; the document is contract/doctor.schema.json."""

import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from hearth.base.absent import Absent
from hearth.base.codec import LEFT_OUT
from hearth.base.limits import Text
from hearth.doctor.check import Check, Group, Machine, Problem, Severity, Worth, all_checks, looked

_KINDS = ("published", "unknown")


@dataclass(frozen=True)
class Finding:
    """A setting that costs speed or safety."""

    name: Text  #: of the check, for --fix and --silence
    group: Group
    severity: Severity
    seen: Text  #: what is set
    evidence: Text  #: where that was read
    why: Text  #: why it matters
    better: Text  #: what should be set
    source: Text  #: where that is known from
    worth: Worth
    command: Text  #: what changes it
    fixable: bool  #: whether --fix can change it
    reboot: bool  #: whether the change needs a reboot
    touches: Text  #: what else the change changes
    #: the reason for which the user silenced it
    silenced: str | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class Sound:
    """A check that found nothing to change."""

    name: Text
    seen: str  #: what it looked at


@dataclass(frozen=True)
class NotChecked:
    """A check that could not see what it needs."""

    name: Text
    reason: Text


@dataclass(frozen=True)
class Examined:
    """What of a machine, of Java and of Spark's settings costs speed or safety.

    Written by `hearth doctor --json`.
    """

    machine: str  #: `live`, or the capture
    kernel: str  #: of this machine; empty for a capture
    workload: str | None  #: its kind, if one was named
    findings: list[Finding]  #: harm first, then by what a change is worth
    silenced: list[Finding]
    sound: list[Sound]
    not_checked: list[NotChecked]
    schema: Literal["hearth/doctor/1"] = "hearth/doctor/1"

    @property
    def does_harm(self) -> bool:
        """Whether one of the findings does harm."""
        return any(one.severity == "harm" for one in self.findings)


def examine(
    machine: Machine,
    source: str | None,
    silenced: Mapping[str, str],
    checks: Iterable[Check] | None = None,
) -> Examined:
    """Return what the checks find.

    source: the capture, None for this machine. silenced: the reason by the name of a check.
    """
    findings: list[Finding] = []
    sound: list[Sound] = []
    unseen: list[NotChecked] = []
    for check in all_checks() if checks is None else checks:
        outcome = looked(check, machine)
        if isinstance(outcome, Absent):
            unseen.append(NotChecked(check.name, outcome.reason))
        elif isinstance(outcome, Problem):
            findings.append(_finding(check, outcome, silenced.get(check.name)))
        else:
            sound.append(Sound(check.name, outcome.seen))
    findings.sort(key=_rank)
    return Examined(
        machine=source or "live",
        kernel="" if source else platform.release(),
        workload=machine.workload,
        findings=[one for one in findings if one.silenced is None],
        silenced=[one for one in findings if one.silenced is not None],
        sound=sound,
        not_checked=unseen,
    )


def _rank(finding: Finding) -> tuple[bool, int, float]:
    """Harm first, then what is known to be worth most; the order of the checks decides the rest."""
    return (finding.severity != "harm", _KINDS.index(finding.worth.kind), -finding.worth.percent)


def _finding(check: Check, found: Problem, silenced: str | None) -> Finding:
    return Finding(
        name=check.name,
        group=check.group,
        severity=found.severity,
        seen=found.seen,
        evidence=found.evidence,
        why=check.why,
        better=found.better or check.better,
        source=check.source,
        worth=check.worth,
        command=command_of(found),
        fixable=bool(found.changes),
        reboot=check.reboot,
        touches=check.touches,
        silenced=silenced,
    )


def command_of(found: Problem) -> str:
    """Return what changes it: for many files the first, and how many there are."""
    if found.command or not found.changes:
        return found.command or "none"
    first = found.changes[0].command
    return (
        first
        if len(found.changes) == 1
        else f"{first} (and {len(found.changes) - 1} more: --dry-run)"
    )
