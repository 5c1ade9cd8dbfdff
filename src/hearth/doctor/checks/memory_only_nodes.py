"""Memory without CPUs of its own (CXL, persistent memory, a GPU's) is mostly slower than a node's
DRAM; HBM is not.
"""

from hearth.base.ids import named, parse_ids
from hearth.base.sizes import show_bytes
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem


def _look(machine: Machine) -> Outcome:
    usable = machine.the_topology().usable_nodes
    bare = [one for one in usable if not one.cpus and one.memory_bytes]
    far = [one for one in bare if one.tier not in ("faster", "alike")]
    if not bare:
        return Fine("all usable memory is on nodes with CPUs")
    if not far:
        return Fine("memory without CPUs is as fast as that of nodes with CPUs, or faster")
    planned = {node for one in machine.the_plan().executors for node in parse_ids(one.memory_nodes)}
    ids = named("node", [one.id for one in far])
    listed = f"{ids} with {show_bytes(sum(one.memory_bytes for one in far))}"
    if not any(one.cpus and one.memory_bytes for one in usable):
        return Fine(f"{listed}: without CPUs, and there is no other memory")
    if not planned & {one.id for one in far}:
        return Fine(f"{listed}: without CPUs, and the plan uses none of it")
    return Problem(
        f"the plan's executors may use memory without CPUs: {listed}",
        "/sys/devices/system/node",
        command="hearth submit under local-numa, or numactl --membind with the other nodes",
    )


CHECK = Check(
    _look,
    group="memory",
    concerns="placement",
    better="heaps on nodes with CPUs only",
    source="kernel: admin-guide/mm/numaperf",
    touches="less memory for the application",
)
