"""The kernel's load balancer leaves isolated CPUs alone: all threads of a JVM stay on the first."""

from hearth.base.ids import brief_ids, parse_ids, show_ids
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem


def _look(machine: Machine) -> Outcome:
    isolated = machine.tree.ids("sys/devices/system/cpu/isolated")
    topology = machine.the_topology()
    ours = isolated & topology.usable_cpus
    if not ours:
        return Fine("no isolated CPU among those that may be used")
    planned = {cpu for one in machine.the_plan().executors for cpu in parse_ids(one.cpus)}
    what = f"isolated CPUs: {brief_ids(show_ids(ours))}"
    if ours & planned:
        what += ", and the plan's executors run on some of them"
    return Problem(
        what,
        "/sys/devices/system/cpu/isolated",
        "harm" if ours & planned else "advice",
        command="remove isolcpus= from the boot options",
    )


CHECK = Check(
    _look,
    group="cpu",
    concerns="cpus",
    better="none; leave CPUs to other programs by cpusets, which keep load balancing",
    source="kernel: admin-guide/kernel-parameters, isolcpus",
    touches="the programs that the CPUs were isolated for",
    reboot=True,
)
