"""A control group may hold fewer threads than executors start: Docker's and systemd's often do."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.groups import need_groups

#: Ours: an executor has some hundred threads.
_WANTED, _FEW = 4096, 512


def _look(machine: Machine) -> Outcome:
    limits = [
        one for one in machine.the_topology().allowed.task_limits if one.name != "RLIMIT_NPROC"
    ]
    left = [(one.most - (one.current or 0), one) for one in limits]
    if not left:
        need_groups(machine.tree)
        return Fine("no control group limits processes and threads")
    room, tightest = min(left, key=lambda pair: pair[0])
    if room >= _WANTED:
        return Fine(f"{tightest.name}: room for {room} more")
    return Problem(
        f"{tightest.name} = {tightest.most}: room for {max(room, 0)} more threads",
        "/sys/fs/cgroup",
        "harm" if room < _FEW else "advice",
        command="docker run --pids-limit -1; TasksMax=infinity of systemd",
    )


CHECK = Check(
    _look,
    group="limits",
    better="room for 4,096 more, or no limit",
    source="kernel: admin-guide/cgroup-v2, pids.max; the limits are hearth's",
    touches="how much a runaway program can start",
)
