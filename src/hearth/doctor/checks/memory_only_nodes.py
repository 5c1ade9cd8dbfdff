"""Memory without CPUs of its own (CXL, persistent memory, a GPU's) is slower than a node's DRAM."""

from hearth.base.ids import brief_ids, parse_ids, show_ids
from hearth.base.sizes import show_bytes
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem


def _look(machine: Machine) -> Outcome:
    usable = machine.the_topology().usable_nodes
    far = [one for one in usable if not one.cpus and one.memory_bytes]
    if not far:
        return Fine("all usable memory is on nodes with CPUs")
    planned = {node for one in machine.the_plan().executors for node in parse_ids(one.memory_nodes)}
    ids = brief_ids(show_ids(one.id for one in far))
    listed = f"nodes {ids} with {show_bytes(sum(one.memory_bytes for one in far))}"
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
