"""CPUs of a node without memory reach all of it over the interconnect."""

from hearth.base.ids import brief_ids
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem, published


def _look(machine: Machine) -> Outcome:
    nodes = machine.the_topology().nodes
    bare = [one for one in nodes if one.cpus and not one.memory_bytes]
    if not bare:
        return Fine("every node with CPUs has memory")
    listed = ", ".join(f"node {one.id} (CPUs {brief_ids(one.cpus)})" for one in bare[:4])
    return Problem(
        f"no memory: {listed}",
        "/sys/devices/system/node",
        command="add modules to that node",
    )


CHECK = Check(
    _look,
    group="memory",
    concerns="placement",
    better="memory on every node that has CPUs",
    source="Awan 2016",
    worth=published("remote memory cost 10 % on average (Awan 2016)", 10),
    touches="the machine has to be opened",
    reboot=True,
)
