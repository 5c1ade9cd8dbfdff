"""The one or two findings that `submit`, `profile` and `compare` quote before a run, a line each.

They are seen without starting a JVM.
"""

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from hearth.base.absent import Absent
from hearth.base.errors import UserError
from hearth.doctor.machine import Machine, settings_in_brief
from hearth.doctor.rule import Problem, Rule, Worth
from hearth.doctor.rules import RULES
from hearth.doctor.silence import read_silenced
from hearth.machine import paths
from hearth.machine.plan import Plan
from hearth.machine.tree import Tree
from hearth.studies.engine.store import COMPARE

#: What can do harm to a run.
_HARM = (
    "compact-headers", "host-name", "open-files", "processes", "address-space",
    "temporary-noexec", "directory-modes", "local-dirs-space", "overcommit", "free-memory",
)  # fmt: skip
#: What costs a run speed: told where a figure says how much.
_SPEED = (
    "compressed-pointers", "huge-pages", "huge-pages-defrag", "swappiness",
    "zone-reclaim", "dirty-pages", "memory-maps", "turbo", "clock-source",
)  # fmt: skip
_MOST = 2
_UNREAD = Absent("not read for a line")


def findings_in_brief(
    settings: Mapping[str, str],
    plan: Plan | None,
    application: str | None = None,
    root: Path = Path("/"),
) -> list[str]:
    """Return at most two findings that are not silenced; never fail.

    First those that do harm, then those of which a figure is known: measured here, or published.
    settings: the run's. plan: its own, where there is one yet.
    """
    machine = Machine(Tree(root), _UNREAD, plan or _UNREAD, settings_in_brief(settings))
    harm = [
        _line(rule, problem)
        for rule, problem in _problems(_HARM, machine)
        if problem.severity == "harm" and not _is_told(rule)
    ]
    slow = list(_problems(_SPEED, machine)) if len(harm) < _MOST else []
    figures = _measured([rule.name for rule, _ in slow], application)
    worth = [(figures.get(rule.name) or rule.worth, rule, problem) for rule, problem in slow]
    worth.sort(key=lambda one: -one[0].percent)
    lines = [_line(rule, problem, known.text) for known, rule, problem in worth if _gains(known)]
    return [*harm, *lines][:_MOST]


def _problems(names: Iterable[str], machine: Machine) -> Iterable[tuple[Rule, Problem]]:
    silenced = _silenced()
    for name in names:
        outcome = RULES[name].outcome(machine)
        if isinstance(outcome, Problem) and name not in silenced:
            yield RULES[name], outcome


def _silenced() -> Mapping[str, str]:
    try:
        return read_silenced(paths.state_home() / "doctor" / "silenced.json")
    except (UserError, OSError):
        return {}


def _is_told(rule: Rule) -> bool:
    """Return whether the user has told Spark another name of the host."""
    return rule.name == "host-name" and bool(os.environ.get("SPARK_LOCAL_HOSTNAME"))


def _measured(names: Collection[str], application: str | None) -> Mapping[str, Worth]:
    """Return what changes were worth here, where a comparison has fixed one of these findings."""
    home = paths.state_home()
    try:
        heads = [(one / COMPARE.head).read_bytes() for one in COMPARE.kept(home)]
    except OSError:
        return {}
    if not any(f'"fixed:{name}"'.encode() in head for head in heads for name in names):
        return {}
    from hearth.doctor.measured import measured_fixes  # what it imports takes a second

    return measured_fixes(home, Path(application).stem if application else None)[0]


def _gains(worth: Worth) -> bool:
    return worth.kind in ("measured", "published") and worth.percent > 0


def _line(rule: Rule, problem: Problem, figure: str = "") -> str:
    why = f" ({figure})" if figure else ""
    return f"{problem.seen}{why}: 'hearth doctor' says what to do ({rule.name})"
