"""Without the mounts of control groups neither hearth nor the JVM sees the container's limits."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem


def _look(machine: Machine) -> Outcome:
    groups = [line for line in machine.tree.table("proc/self/cgroup") if line.count(":") >= 2]
    kinds = {mount.kind for mount in machine.tree.mounts()}
    if not groups:
        machine.tree.choice("proc/self/cgroup", ())
    if kinds & {"cgroup", "cgroup2"}:
        return Fine("control groups are mounted")
    return Problem(
        "control groups exist and are not mounted",
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
