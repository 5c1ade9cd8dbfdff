"""What does harm to every run, in a line each: as far as it is seen without starting a JVM."""

import os
from collections.abc import Mapping
from pathlib import Path

from hearth.base.absent import Absent
from hearth.base.errors import UserError
from hearth.doctor.check import Machine, Problem, check_of, looked
from hearth.doctor.silence import read_silenced
from hearth.doctor.tree import Tree
from hearth.machine import paths

_QUICK = ("host_name", "open_files", "processes", "file_size", "address_space")
_MOST = 2


def harm_in_brief(root: Path = Path("/")) -> list[str]:
    """Return at most two findings that do harm and are not silenced; never fail."""
    nothing = Absent("not read for a line")
    machine = Machine(Tree(root), nothing, nothing, nothing)
    harm = {}
    for check in map(check_of, _QUICK):
        found = looked(check, machine)
        if isinstance(found, Problem) and found.severity == "harm":
            harm[check.name] = f"{found.seen}: 'hearth doctor' says what to do ({check.name})"
    if os.environ.get("SPARK_LOCAL_HOSTNAME"):
        harm.pop("host-name", None)
    silenced = _silenced() if harm else {}
    return [line for name, line in harm.items() if name not in silenced][:_MOST]


def _silenced() -> Mapping[str, str]:
    try:
        return read_silenced(paths.state_home() / "doctor" / "silenced.json")
    except (UserError, OSError):
        return {}
