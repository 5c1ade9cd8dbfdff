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

    name: Text  #: of the check, for --fix and --silence
    group: Group
    severity: Severity
    seen: Text  #: what is set
    evidence: Text  #: where that was read
    why: Text  #: why it matters
    better: Text  #: what should be set
    source: Text  #: where that is known from
    worth: Worth
    how: Text  #: what to do, in words
    fixable: bool  #: whether --fix can change it
    reboot: bool  #: whether the change needs a reboot
    touches: Text  #: what else the change changes
    #: what the kernel is told, where that is all there is to do
    command: Text | None = field(default=None, metadata=LEFT_OUT)
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
            finding = _finding(rule, outcome, worth)
            finding = _fixable_here(finding, outcome, machine, source)
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


def _finding(rule: Rule, problem: Problem, worth: Worth) -> CheckFinding:
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
        how=rule.how_for(problem),
        fixable=bool(problem.changes),
        reboot=rule.reboot,
        touches=rule.touches,
    )


def _fixable_here(
    finding: CheckFinding, problem: Problem, machine: Machine, source: str | None
) -> CheckFinding:
    """Say what to do about a setting of the kernel: --fix cannot change that of a capture, nor what
    is read-only in a container.
    """
    if not problem.changes or problem.how:
        return replace(finding, fixable=bool(problem.changes) and source is None)
    finding = replace(finding, command=finding.how)
    fix = f"hearth doctor --fix {finding.name}"
    if source is not None:
        return replace(finding, fixable=False, how=f"there, as root: {fix}")
    if _is_read_only(machine, problem):
        return replace(finding, fixable=False, how=f"on the host: {finding.how}")
    return replace(finding, how=fix if os.geteuid() == 0 else f"as root: {fix}")


def _is_read_only(machine: Machine, problem: Problem) -> bool:
    try:
        mounts = [machine.tree.mount_of(f"/{change.path}") for change in problem.changes]
    except NotSeen:
        return False
    return any("ro" in mount.options for mount in mounts)
