"""The one or two findings that matter to a run, in a line each: as far as they are seen without
starting a JVM.
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from hearth.base.absent import Absent, Measured
from hearth.base.errors import UserError
from hearth.doctor.check import Check, Machine, Own, Problem, Worth, check_of, looked
from hearth.doctor.places import local_dirs, space_of, temporary
from hearth.doctor.silence import read_silenced
from hearth.doctor.tree import Tree
from hearth.machine import paths
from hearth.machine.plan import Plan

#: What can do harm to a run.
_HARM = (
    "host_name", "open_files", "processes", "file_size", "address_space", "temporary_noexec",
    "directory_modes", "local_dirs_space", "overcommit", "free_memory", "spark_contradictions",
)  # fmt: skip
#: What costs a run speed: told where a figure says how much.
_SPEED = (
    "compressed_pointers", "collector", "huge_pages", "huge_pages_defrag", "swappiness",
    "zone_reclaim", "dirty_pages", "memory_maps", "turbo", "clock_source",
)  # fmt: skip
_MOST = 2
_UNREAD = Absent("not read for a line")

#: What changes were worth here, of those that are named.
Measurements = Callable[[Collection[str]], Mapping[str, Worth]]


def findings_in_brief(
    settings: Mapping[str, str],
    plan: Plan | None,
    measured: Measurements = lambda names: {},
    root: Path = Path("/"),
) -> list[str]:
    """Return at most two findings that are not silenced; never fail.

    First those that do harm, then those of which a figure is known: measured here, or published.
    settings: the run's. plan: its own, where there is one yet.
    """
    known: Measured[Plan] = _UNREAD if plan is None else plan
    machine = Machine(Tree(root), _UNREAD, known, _own(settings))
    harm = [line for check, found in _found(_HARM, machine) if (line := _harm(check, found))]
    slow = list(_found(_SPEED, machine)) if len(harm) < _MOST else []
    figures = measured([check.name for check, _ in slow]) if slow else {}
    worth = [(figures.get(check.name) or check.worth, check, found) for check, found in slow]
    worth.sort(key=lambda one: -one[0].percent)
    told = [_line(check, found, figure.text) for figure, check, found in worth if _gains(figure)]
    return [*harm, *told][:_MOST]


def _found(names: Iterable[str], machine: Machine) -> Iterable[tuple[Check, Problem]]:
    silenced = _silenced()
    for check in map(check_of, names):
        found = looked(check, machine)
        if isinstance(found, Problem) and check.name not in silenced:
            yield check, found


def _harm(check: Check, found: Problem) -> str | None:
    told_another = check.name == "host-name" and os.environ.get("SPARK_LOCAL_HOSTNAME")
    return None if found.severity != "harm" or told_another else _line(check, found)


def _gains(worth: Worth) -> bool:
    return worth.kind in ("measured", "published") and worth.percent > 0


def _line(check: Check, found: Problem, figure: str = "") -> str:
    why = f" ({figure})" if figure else ""
    return f"{found.seen}{why}: 'hearth doctor' says what to do ({check.name})"


def _own(settings: Mapping[str, str]) -> Measured[Own]:
    """Read the user's own settings that take no time to read."""
    return Own(
        environment=dict(os.environ),
        conf=settings,
        spark_version=_UNREAD,
        java_home=_UNREAD,
        root_log_level=_UNREAD,
        local_dirs=local_dirs(settings),
        temporary=temporary(),
        state="",
        cache="",
        jar=_UNREAD,
        installed={},
        leases=_UNREAD,
        archives=_UNREAD,
        archive_failures=_UNREAD,
        space=space_of,
        resolve=lambda name: _UNREAD,
    )


def _silenced() -> Mapping[str, str]:
    try:
        return read_silenced(paths.state_home() / "doctor" / "silenced.json")
    except (UserError, OSError):
        return {}
