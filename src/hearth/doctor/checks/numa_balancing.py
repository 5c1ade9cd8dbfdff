"""The kernel unmaps pages to see which node uses them, and moves them there: of no use to executors
bound to a node, and all that moves memory where nothing is bound.
"""

from hearth.doctor.check import (
    UNKNOWN,
    Change,
    Check,
    Fine,
    Machine,
    Outcome,
    Problem,
    Worth,
    published,
)
from hearth.doctor.tree import NotSeen

_FILE = "proc/sys/kernel/numa_balancing"
#: The bit of it; the other one moves pages up from slow memory.
_MOVES = 1
_ON_AMD = published(
    "some loads were up to 20 % slower without it on AMD's processors; it does not say which "
    "(tuned, pull request 283)",
    20,
)


def _look(machine: Machine) -> Outcome:
    value = machine.tree.number(_FILE, 3)
    plan = machine.the_plan()
    if len(machine.the_topology().usable_nodes) < 2:
        return Fine(f"kernel.numa_balancing = {value}, on one usable node")
    if value & _MOVES and not plan.is_native:
        return Problem(
            f"kernel.numa_balancing = {value}, and the plan binds executors to nodes",
            f"/{_FILE}",
            changes=(Change(_FILE, str(value & ~_MOVES)),),
            worth=UNKNOWN,
        )
    if not value and plan.is_native:
        return Problem(
            f"kernel.numa_balancing = {value}, and the plan binds nothing",
            f"/{_FILE}",
            changes=(Change(_FILE, "1"),),
            better="1: nothing else moves memory to threads",
            worth=_without(machine),
        )
    return Fine(f"kernel.numa_balancing = {value}")


def _without(machine: Machine) -> Worth:
    """Return what turning it on is worth: a figure is known of one maker's processors."""
    try:
        is_amd = "AuthenticAMD" in "".join(machine.tree.table("proc/cpuinfo")[:2])
    except NotSeen:
        is_amd = False
    return _ON_AMD if is_amd else UNKNOWN


CHECK = Check(
    _look,
    group="memory",
    concerns="placement",
    better="0 if executors are bound, 1 if they are not; 'hearth compare' has an arm for each",
    source="kernel: admin-guide/sysctl/kernel, numa_balancing; tuned: pull request 283",
    worth=_ON_AMD,
    touches="every other program on the machine that is not bound",
)
