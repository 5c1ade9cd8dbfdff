"""Docker's seccomp profile refuses the calls that bind memory, unless the container may change
priorities.
"""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen

_FILE = "proc/self/status"
_SYS_NICE = 23


def _look(machine: Machine) -> Outcome:
    lines = dict(line.partition(":")[::2] for line in machine.tree.table(_FILE))
    filtered, rights = lines.get("Seccomp", "").strip(), lines.get("CapEff", "").strip()
    try:
        allowed = int(rights, 16) >> _SYS_NICE & 1
    except ValueError:
        raise NotSeen(f"could not read /{_FILE}: it has no sound CapEff") from None
    if filtered not in ("0", "1", "2"):
        raise NotSeen(f"could not read /{_FILE}: it has no sound Seccomp")
    plan = machine.the_plan()
    if filtered != "2" or allowed or plan.is_native:
        return Fine(
            f"Seccomp {filtered}, CAP_SYS_NICE {'yes' if allowed else 'no'}, plan {plan.mode}"
        )
    return Problem(
        "system calls are filtered, and CAP_SYS_NICE is missing: memory may not be bound",
        f"/{_FILE}",
        command="docker run --cap-add SYS_NICE",
    )


CHECK = Check(
    _look,
    group="container",
    concerns="placement",
    better="CAP_SYS_NICE, or a profile that allows set_mempolicy and mbind",
    source="Docker: seccomp security profiles",
    touches="the container may change priorities of its processes",
)
