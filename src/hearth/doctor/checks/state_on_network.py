"""Records are written while an application runs, and locks of a network's file system can be
lost.
"""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.checks.local_dirs_kind import NETWORK


def _look(machine: Machine) -> Outcome:
    own = machine.the_own()
    for folder, variable in ((own.state, "HEARTH_STATE"), (own.cache, "XDG_CACHE_HOME")):
        kind = machine.tree.mount_of(folder).kind
        if kind in NETWORK:
            return Problem(
                f"{folder} is on {kind}",
                "/proc/self/mountinfo",
                command=f"export {variable}=DIRECTORY of a local disk",
            )
    return Fine("hearth's state and cache are on local file systems")


CHECK = Check(
    _look,
    group="hearth",
    better="a local disk",
    source="man 2 fcntl, advisory locking over networks",
    touches="earlier records stay where they are",
)
