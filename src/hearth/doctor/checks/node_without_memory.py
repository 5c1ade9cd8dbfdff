"""CPUs of a node without memory reach all of it over the interconnect."""

from collections.abc import Sequence

from hearth.base.ids import brief_ids, named
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem, published
from hearth.doctor.virtual import modules_or_settings
from hearth.machine.topology import NumaNode


def _look(machine: Machine) -> Outcome:
    nodes = machine.the_topology().nodes
    empty = [one for one in nodes if one.cpus and not one.memory_bytes]
    if not empty:
        return Fine("every node with CPUs has memory")
    bare = [one for one in empty if not _is_beside_memory(one, nodes)]
    if not bare:
        ids = named("node", [one.id for one in empty])
        return Fine(f"no memory on {ids}, and the nearest nodes are memory alone")
    listed = ", ".join(f"node {one.id} (CPUs {brief_ids(one.cpus)})" for one in bare[:4])
    return Problem(
        f"no memory: {listed}",
        "/sys/devices/system/node",
        command=modules_or_settings(
            machine.tree, "add modules to that node", "give that node memory (libvirt: <numa>)"
        ),
    )


def _is_beside_memory(node: NumaNode, nodes: Sequence[NumaNode]) -> bool:
    """Return whether a node of memory alone is nearer than every other node with CPUs: some
    firmware puts the memory of a processor on a node of its own.
    """
    away = {one.id: node.distances.get(str(one.id)) for one in nodes if one.id != node.id}
    own = [away[one.id] for one in nodes if not one.cpus and one.memory_bytes]
    others = [away[one.id] for one in nodes if one.cpus and one.id != node.id]
    known = [distance for distance in own + others if distance is not None]
    if not own or len(known) < len(own) + len(others):
        return False
    return min(known[: len(own)]) < min(known[len(own) :], default=1 << 16)


CHECK = Check(
    _look,
    group="memory",
    concerns="placement",
    better="memory on every node that has CPUs",
    source="Awan 2016",
    worth=published("remote memory cost 10 % on average (Awan 2016)", 10),
    touches="the machine has to be opened, or the virtual machine started again",
    reboot=True,
)
