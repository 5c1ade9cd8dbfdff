"""Packets that a CPU of another node takes in cross the interconnect before Spark reads them."""

from hearth.base.ids import brief_ids, parse_ids, show_ids
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen

_FOLDER = "sys/class/net"


def _look(machine: Machine) -> Outcome:
    topology, told = machine.the_topology(), []
    nodes = {one.id: set(parse_ids(one.cpus)) for one in topology.nodes if one.cpus}
    if len(nodes) < 2:
        return Fine("one node with CPUs")
    for name in machine.tree.names(_FOLDER):
        node = _node(machine, f"{_FOLDER}/{name}/device/numa_node")
        if node not in nodes or machine.tree.text(f"{_FOLDER}/{name}/operstate") != "up":
            continue
        for what, evidence, cpus in (_interrupts(machine, name), _steering(machine, name)):
            if cpus and not cpus & nodes[node]:
                return Problem(
                    f"{name} is on node {node}, and {what} go to CPUs {brief_ids(show_ids(cpus))} "
                    "of other nodes",
                    f"/{evidence}",
                    command=f"CPUs of node {node}, {show_ids(nodes[node])}, to each of those files",
                )
        told.append(f"{name}: on node {node}")
    return Fine("; ".join(told) or "no network device reports its node")


def _node(machine: Machine, path: str) -> int | None:
    """Return the node of a device; None where it has none, or is not one of hardware."""
    if not machine.tree.has(path) or machine.tree.text(path) == "-1":
        return None
    return machine.tree.number(path, 1 << 16)


def _interrupts(machine: Machine, name: str) -> tuple[str, str, set[int]]:
    """Return the CPUs that serve one of its interrupts; raise NotSeen."""
    folder = f"{_FOLDER}/{name}/device/msi_irqs"
    cpus: set[int] = set()
    for number in machine.tree.names(folder, r"\d{1,6}"):
        kinds = [f"proc/irq/{number}/{kind}affinity_list" for kind in ("effective_", "smp_")]
        cpus |= machine.tree.ids(next(filter(machine.tree.has, kinds), kinds[-1]))
    return "its interrupts", "proc/irq/*/smp_affinity_list", cpus


def _steering(machine: Machine, name: str) -> tuple[str, str, set[int]]:
    """Return the CPUs that RPS and XPS name."""
    folder = f"{_FOLDER}/{name}/queues"
    cpus: set[int] = set()
    for queue in machine.tree.names(folder, r"[rt]x-\d{1,5}") if machine.tree.has(folder) else []:
        path = f"{folder}/{queue}/{'rps' if queue.startswith('rx') else 'xps'}_cpus"
        if machine.tree.has(path):
            cpus |= _mask(machine, path)
    return "RPS or XPS", f"{folder}/*/?ps_cpus", cpus


def _mask(machine: Machine, path: str) -> set[int]:
    """Return the CPUs of a mask such as `ff,00000000` (cpumap of networking/scaling)."""
    text = machine.tree.text(path)
    try:
        bits = int(text.replace(",", ""), 16)
    except ValueError:
        bits = -1
    if bits < 0 or bits.bit_length() > 1 << 14:
        raise NotSeen(f"could not read /{path}: it is not a mask of CPUs")
    return {cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1}


CHECK = Check(
    _look,
    group="network",
    concerns="network",
    better="interrupts, RPS and XPS on CPUs of the device's node",
    source="kernel: networking/scaling, suggested configuration; Redpanda: tuner net",
    touches="which CPUs serve the network; irqbalance may move interrupts back",
)
