"""Without the mounts of control groups neither hearth nor the JVM sees the container's limits."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.groups import mounted


def _look(machine: Machine) -> Outcome:
    groups = [line for line in machine.tree.table("proc/self/cgroup") if line.count(":") >= 2]
    if not groups:
        machine.tree.choice("proc/self/cgroup", ())
    if mounted(machine.tree):
        return Fine("control groups are mounted")
    return Problem(
        "control groups exist but are not visible",
        "/proc/self/mountinfo",
        command="mount -t cgroup2 none /sys/fs/cgroup; start the container without its own empty "
        "/sys",
    )


CHECK = Check(
    _look,
    group="container",
    better="/sys/fs/cgroup mounted, read-only is enough",
    source="man 7 cgroups; JVM: -XX:+UseContainerSupport",
    touches="nothing",
)
