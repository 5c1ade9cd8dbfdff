"""The kernel has ended a process here because memory was short: exit code 137 in Spark's log."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.groups import own_group
from hearth.doctor.tree import NotSeen


def _look(machine: Machine) -> Outcome:
    kills, where = machine.tree.field("proc/vmstat", "oom_kill"), "/proc/vmstat"
    try:
        events = f"{own_group(machine.tree)}/memory.events"
        own = machine.tree.field(events, "oom_kill")
        kills, where = (own, f"/{events}") if own else (kills, where)
    except NotSeen:  # version 1, or the root group, which counts none
        pass
    if not kills:
        return Fine("no process killed for memory since the machine started")
    return Problem(
        f"processes killed for memory: {kills}",
        where,
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
