"""Ask all checks, and put what they find in order; the document is `hearth schema doctor`."""

import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from hearth.base.absent import Absent
from hearth.base.codec import LEFT_OUT
from hearth.base.limits import Text
from hearth.doctor.check import Check, Group, Machine, Problem, Severity, Worth, all_checks, looked
from hearth.doctor.run import InRun, JudgedRun
from hearth.doctor.tree import NotSeen, Tree

#: What checks call the user's settings, and what they are where a run is judged.
_CONF, _OF_THE_RUN = "spark-defaults.conf", "the settings of the run"


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
    command: Text  #: what changes it
    fixable: bool  #: whether --fix can change it
    reboot: bool  #: whether the change needs a reboot
    touches: Text  #: what else the change changes
    #: what of the run that is judged it acts on; absent where its record does not tell
    in_run: InRun | None = field(default=None, metadata=LEFT_OUT)
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
class ExaminedRun:
    """The run that is judged."""

    id: Text
    application: str
    changed: list[str]  #: settings of the machine and versions that are others now


@dataclass(frozen=True)
class Examined:
    """The settings of a machine, of Java and of Spark that cost speed or safety.

    Written by `hearth doctor --json`.
    """

    machine: str  #: `live`, or the capture
    kernel: str  #: of this machine; empty for a capture
    workload: str | None  #: its kind, if one was named
    findings: list[CheckFinding]  #: harm first, then by what a change is worth to the run or here
    silenced: list[CheckFinding]
    sound: list[Sound]
    not_checked: list[NotChecked]
    run: ExaminedRun | None = field(default=None, metadata=LEFT_OUT)
    schema: Literal["hearth/doctor/1"] = "hearth/doctor/1"

    @property
    def telling(self) -> list[CheckFinding]:
        """The findings without the advice that does not matter to the judged run."""
        return [
            one
            for one in self.findings
            if one.severity == "harm" or one.in_run is None or one.in_run.matters
        ]

    @property
    def does_harm(self) -> bool:
        """Return whether one of the findings does harm."""
        return any(one.severity == "harm" for one in self.findings)


def examine(
    machine: Machine,
    source: str | None,
    silenced: Mapping[str, str],
    checks: Iterable[Check] | None = None,
    *,
    measured: Mapping[str, Worth] = MappingProxyType({}),
    run: JudgedRun | None = None,
) -> Examined:
    """Return what the checks find.

    source: the capture, None for this machine. silenced: the reason by the name of a check.
    measured: what a change was worth here, by the same. run: the one that is judged.
    """
    findings: list[CheckFinding] = []
    sound: list[Sound] = []
    unseen: list[NotChecked] = []
    for check in all_checks() if checks is None else checks:
        outcome = looked(check, machine)
        if isinstance(outcome, Absent):
            unseen.append(NotChecked(check.name, _worded_for_run(outcome.reason, run)))
        elif isinstance(outcome, Problem):
            worth = worth_of(outcome.worth or check.worth, measured.get(check.name))
            one = _finding(check, outcome, worth, run)
            one = _here(one, outcome, machine.tree, source)
            findings.append(replace(one, silenced=silenced.get(check.name)))
        else:
            sound.append(Sound(check.name, _worded_for_run(outcome.seen, run)))
    findings.sort(key=_rank)
    return Examined(
        machine=source or "live",
        kernel="" if source else platform.release(),
        workload=machine.workload,
        findings=[one for one in findings if one.silenced is None],
        silenced=[one for one in findings if one.silenced is not None],
        sound=sound,
        not_checked=unseen,
        run=ExaminedRun(run.id, run.application, run.changed) if run else None,
    )


def worth_of(known: Worth, measured: Worth | None) -> Worth:
    """Return what was measured here, with what is published behind it, or else that alone."""
    if measured is None or known.kind != "published":
        return measured or known
    return replace(measured, text=f"{measured.text}; published: {known.text}")


def _rank(finding: CheckFinding) -> tuple[bool, bool, bool, int, float]:
    """Put harm first, then what matters to the run, then what is known to be worth most.

    What was measured to be worth nothing here comes last; the order of the checks decides the rest.
    """
    worth, matters = finding.worth, finding.in_run is None or finding.in_run.matters
    gains = worth.kind != "measured" or worth.percent > 0
    place = {"measured": 0, "published": 1, "undecided": 2, "unknown": 2}[worth.kind]
    return (finding.severity != "harm", not matters, not gains, place, -worth.percent)


def _finding(check: Check, found: Problem, worth: Worth, run: JudgedRun | None) -> CheckFinding:
    return CheckFinding(
        name=check.name,
        group=check.group,
        severity=found.severity,
        seen=_worded_for_run(found.seen, run),
        evidence=_worded_for_run(found.evidence, run),
        why=check.why,
        better=found.better or check.better,
        source=check.source,
        worth=worth,
        command=_worded_for_run(command_of(found), run),
        fixable=bool(found.changes),
        reboot=check.reboot,
        touches=check.touches,
        in_run=run.concerns.get(check.concerns) if run and check.concerns else None,
    )


def _here(one: CheckFinding, found: Problem, tree: Tree, source: str | None) -> CheckFinding:
    """Mark a finding that --fix cannot change: of a capture, or read-only in a container."""
    if source is not None:
        return replace(one, fixable=False)
    try:
        read_only = any("ro" in tree.mount_of(f"/{c.path}").options for c in found.changes)
    except NotSeen:
        read_only = False
    if not read_only:
        return one
    return replace(one, fixable=False, command=f"on the host: {one.command}")


def _worded_for_run(text: str, run: JudgedRun | None) -> str:
    return text if run is None else text.replace(_CONF, _OF_THE_RUN)


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
