"""The kernel has ended a process here because memory was short: exit code 137 in Spark's log."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.groups import MOUNT, own_group
from hearth.doctor.tree import NotSeen


def _look(machine: Machine) -> Outcome:
    tree = machine.tree
    on_machine = tree.field("proc/vmstat", "oom_kill")
    try:
        folder = own_group(tree)
        in_group = tree.field(f"{folder}/memory.events", "oom_kill")
    except NotSeen:  # version 1, or the root group, which counts none
        folder, in_group = "", 0
    if in_group:
        return _killed(f"in this control group: {in_group}", f"/{folder}/memory.events")
    if folder == MOUNT:  # a container's: what the machine counts are others' processes
        return Fine("no process of this container killed for memory")
    if on_machine:
        return _killed(f"on this machine since it started: {on_machine}", "/proc/vmstat")
    return Fine("no process killed for memory since the machine started")


def _killed(where: str, evidence: str) -> Problem:
    return Problem(
        f"processes killed for memory {where}",
        evidence,
        command="dmesg | grep -i 'killed process' says which; give executors less memory",
    )


CHECK = Check(
    _look,
    group="memory",
    concerns="heaps",
    better="none: heap, off-heap memory and overhead fit the machine and the control group",
    source="kernel: admin-guide/cgroup-v2, memory.events",
    touches="nothing",
)
