"""Files of /proc that a program makes up fit a container's limits, and no longer fit /sys."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem


def _look(machine: Machine) -> Outcome:
    made_up = [
        mount.point
        for mount in machine.tree.mounts()
        if mount.kind == "fuse.lxcfs" and mount.point.startswith("/proc/")
    ]
    if not made_up:
        return Fine("no file of /proc is replaced")
    return Problem(
        f"files replaced by lxcfs: {', '.join(made_up[:4])}",
        "/proc/self/mountinfo",
        command="compare 'hearth topology' with the limits of the container; plan with "
        "--executors and --memory",
    )


CHECK = Check(
    _look,
    group="container",
    better="limits of control groups, which the JVM and hearth read themselves",
    source="lxcfs: its documentation",
    touches="programs that read /proc/meminfo and know no control groups",
)
