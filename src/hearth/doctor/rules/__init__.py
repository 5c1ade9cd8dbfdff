"""The doctor's rules, a table for each area."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hearth.base.absent import Absent
from hearth.base.errors import UserError, nearest
from hearth.doctor.machine import Machine
from hearth.doctor.rule import Group, Problem, Rule
from hearth.doctor.rules.container import CONTAINER
from hearth.doctor.rules.cpu import CPU
from hearth.doctor.rules.files import FILES
from hearth.doctor.rules.hearth import HEARTH
from hearth.doctor.rules.java import JAVA
from hearth.doctor.rules.limits import LIMITS
from hearth.doctor.rules.memory import MEMORY
from hearth.doctor.rules.network import NETWORK
from hearth.doctor.rules.spark import SPARK
from hearth.machine.switch import Change

#: In the order in which they are shown.
_AREAS: Mapping[Group, Mapping[str, Rule]] = {
    "memory": MEMORY,
    "cpu": CPU,
    "limits": LIMITS,
    "files": FILES,
    "container": CONTAINER,
    "network": NETWORK,
    "spark": {**JAVA, **SPARK},
    "hearth": HEARTH,
}
RULES = {
    name: replace(rules[name], name=name, group=group)
    for group, rules in _AREAS.items()
    for name in sorted(rules)
}


def named(name: str, option: str) -> Rule:
    """Return the rule of a name that `option` was given; raise UserError where there is none."""
    if name not in RULES:
        near = nearest(name, RULES)
        hint = f"did you mean '{near}'?" if near else "'hearth doctor --all' lists them"
        raise UserError(f"{option}: '{name}' is not a check: {hint}")
    return RULES[name]


def changes_of(name: str, machine: Machine) -> Sequence[Change]:
    """Return what `fixed:NAME` changes; raise UserError where there is nothing to change."""
    rule = named(name, "--arms")
    outcome = rule.outcome(machine)
    if not isinstance(outcome, Problem):
        why = outcome.reason if isinstance(outcome, Absent) else outcome.seen
        raise UserError(f"there is nothing to fix in {name}: {why}")
    if not outcome.changes:
        reboot = ", and a reboot" if rule.reboot else ""
        command = rule.how_for(outcome)
        raise UserError(f"hearth cannot change {name} itself: {command}{reboot}")
    return outcome.changes
