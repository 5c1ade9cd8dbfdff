"""A quota stops all threads of the group for the rest of a period, a collection's included."""

from hearth.base.sizes import counted
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.groups import need_groups


def _look(machine: Machine) -> Outcome:
    allowed = machine.the_topology().allowed
    quota, cpus = allowed.cpu_quota, len(machine.the_topology().usable_cpus)
    if quota is None:
        need_groups(machine.tree)
    if quota is None or quota.cpus >= cpus:
        return Fine(f"no CPU quota below the {counted(cpus, 'CPU')} that may be used")
    throttled = quota.throttled_periods
    so_far = f"; used up in {counted(throttled, 'period')} so far" if throttled else ""
    return Problem(
        f"CPU quota of {quota.cpus:g} on {counted(cpus, 'CPU')}{so_far}",
        "/sys/fs/cgroup",
        command="a cpuset of as many CPUs instead: docker run --cpuset-cpus, AllowedCPUs= of "
        "systemd",
    )


CHECK = Check(
    _look,
    group="cpu",
    concerns="cpus",
    better="a cpuset of as many whole CPUs",
    source="kernel: scheduler/sched-bwc",
    touches="what else runs on the CPUs of that cpuset",
)
