"""The kernel unmaps pages to see which node uses them: of no use to executors bound to a node."""

from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem

_FILE = "proc/sys/kernel/numa_balancing"


def _look(machine: Machine) -> Outcome:
    value = machine.tree.number(_FILE, 3)
    plan = machine.the_plan()
    if len(machine.the_topology().usable_nodes) < 2:
        return Fine(f"kernel.numa_balancing = {value}, on one usable node")
    if value and not plan.is_native:
        return Problem(
            f"kernel.numa_balancing = {value}, and the plan binds executors to nodes",
            f"/{_FILE}",
            changes=(Change(_FILE, "0"),),
        )
    if not value and plan.is_native:
        return Problem(
            f"kernel.numa_balancing = {value}, and the plan binds nothing",
            f"/{_FILE}",
            changes=(Change(_FILE, "1"),),
            better="1: nothing else moves memory to threads",
        )
    return Fine(f"kernel.numa_balancing = {value}")


CHECK = Check(
    _look,
    group="memory",
    concerns="placement",
    better="0 if executors are bound, 1 if they are not; 'hearth compare' has an arm for each",
    source="kernel: admin-guide/sysctl/kernel, numa_balancing",
    touches="every other program on the machine that is not bound",
)
