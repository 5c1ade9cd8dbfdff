"""Ask all rules, and put what they find in order; the document is `hearth schema doctor`."""

import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from hearth.base.absent import Absent
from hearth.base.codec import LEFT_OUT
from hearth.base.limits import Text
from hearth.doctor.machine import Machine
from hearth.doctor.rule import Group, Problem, Rule, Severity, Worth
from hearth.doctor.rules import RULES
from hearth.machine.tree import NotSeen


@dataclass(frozen=True)
class CheckFinding:
    """A setting that costs speed or safety."""

    name: Text  #: of the check, for --silence and the arm `fixed:NAME` of a comparison
    group: Group
    severity: Severity
    seen: Text  #: what is set
    evidence: Text  #: where that was read
    why: Text  #: why it matters
    better: Text  #: what should be set
    source: Text  #: where that is known from
    worth: Worth
    how: Text  #: what to do, in words; with a command, where it is typed and by whom
    reboot: bool  #: whether the change needs a reboot
    touches: Text  #: what else the change changes
    #: what the kernel is told, where that is all there is to do
    command: Text | None = field(default=None, metadata=LEFT_OUT)
    #: the command after which the kernel is told so at each start
    lasting: Text | None = field(default=None, metadata=LEFT_OUT)
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
    """The settings of a machine, of Java and of Spark that cost speed or safety.

    Written by `hearth doctor --json`.
    """

    machine: str  #: `live`, or the capture
    kernel: str  #: of this machine; empty for a capture
    workload: str | None  #: its kind, if one was named
    findings: list[CheckFinding]  #: harm first, then by what a change is worth
    silenced: list[CheckFinding]
    sound: list[Sound]
    not_checked: list[NotChecked]
    schema: Literal["hearth/doctor/1"] = "hearth/doctor/1"

    @property
    def does_harm(self) -> bool:
        """Return whether one of the findings does harm."""
        return any(one.severity == "harm" for one in self.findings)


def examine(
    machine: Machine,
    source: str | None,
    silenced: Mapping[str, str],
    rules: Iterable[Rule] = tuple(RULES.values()),
    *,
    measured: Mapping[str, Worth] = MappingProxyType({}),
) -> Examined:
    """Return what the rules find.

    source: the capture, None for this machine. silenced: the reason by the name of a rule.
    measured: what a change was worth here, by the same.
    """
    findings: list[CheckFinding] = []
    sound: list[Sound] = []
    unseen: list[NotChecked] = []
    for rule in rules:
        outcome = rule.outcome(machine)
        if isinstance(outcome, Absent):
            unseen.append(NotChecked(rule.name, outcome.reason))
        elif isinstance(outcome, Problem):
            worth = worth_of(outcome.worth or rule.worth, measured.get(rule.name))
            finding = _finding(rule, outcome, worth, _where(machine, outcome, source))
            findings.append(replace(finding, silenced=silenced.get(rule.name)))
        else:
            sound.append(Sound(rule.name, outcome.seen))
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


def worth_of(known: Worth, measured: Worth | None) -> Worth:
    """Return what was measured here, with what is published behind it, or else that alone."""
    if measured is None or known.kind != "published":
        return measured or known
    return replace(measured, text=f"{measured.text}; published: {known.text}")


def _rank(finding: CheckFinding) -> tuple[int, bool, int, float]:
    """Put harm first and notes last, and then what is known to be worth most.

    What was measured to be worth nothing here comes last; the order of the rules decides the rest.
    """
    grave = {"harm": 0, "advice": 1, "note": 2}[finding.severity]
    worth = finding.worth
    gains = worth.kind != "measured" or worth.percent > 0
    order = {"measured": 0, "published": 1, "undecided": 2, "unknown": 2}[worth.kind]
    return (grave, not gains, order, -worth.percent)


def _finding(rule: Rule, problem: Problem, worth: Worth, where: str) -> CheckFinding:
    command, lasting = problem.commands(rule.name) or (None, None)
    return CheckFinding(
        name=rule.name,
        group=rule.group,
        severity=problem.severity,
        seen=problem.seen,
        evidence=problem.reads or rule.reads,
        why=rule.why,
        better=problem.better or rule.better,
        source=rule.source,
        worth=worth,
        how=rule.how_for(problem) if command is None else f"{where}: {command}",
        reboot=rule.reboot,
        touches=rule.touches,
        command=command,
        lasting=lasting,
    )


def _where(machine: Machine, problem: Problem, source: str | None) -> str:
    """Return where the kernel is told, or by whom: a container may only read its settings."""
    if source is not None:
        return "there, as root"
    if _is_read_only(machine, problem):
        return "on the host"
    return "here" if os.geteuid() == 0 else "as root"


def _is_read_only(machine: Machine, problem: Problem) -> bool:
    try:
        mounts = [machine.tree.mount_of(f"/{change.path}") for change in problem.changes]
    except NotSeen:
        return False
    return any("ro" in mount.options for mount in mounts)
