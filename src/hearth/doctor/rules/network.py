"""The network: the host's name and its addresses, and where network devices are."""

import re
from collections.abc import Sequence

from hearth.base.absent import Absent
from hearth.base.ids import brief_ids, parse_ids, show_ids
from hearth.doctor.machine import Machine, known
from hearth.doctor.rule import Fine, Outcome, Problem, Rule
from hearth.machine.tree import NotSeen

_HOST = "proc/sys/kernel/hostname"
_DEVICES = "sys/class/net"
_LOOPBACK = f"{_DEVICES}/lo/flags"
_UP = 1  # IFF_UP of netdevice(7)
_PREFER_IPV6 = "SPARK_PREFER_IPV6"


def _host_name(machine: Machine) -> Outcome:
    name, own = _name(machine), machine.own
    if not all(c.isalnum() or c in "-._" for c in name):
        raise _no_name()
    told = not isinstance(own, Absent) and own.environment.get("SPARK_LOCAL_HOSTNAME")
    if "_" not in name or told:
        return Fine(f"host name: {name}")
    return Problem(f"host name {name}: an underscore", "harm")


def _name(machine: Machine) -> str:
    """Return the host's name; raise NotSeen where the kernel shows none."""
    name = machine.tree.text(_HOST)
    if not 0 < len(name) <= 64 or not name.isascii() or not name.isprintable() or " " in name:
        raise _no_name()
    return name


def _no_name() -> NotSeen:
    return NotSeen(f"could not read /{_HOST}: it is not a host name")


def _host_resolves(machine: Machine) -> Outcome:
    if machine.the_own().environment.get("SPARK_LOCAL_IP"):
        return Fine("SPARK_LOCAL_IP is set")
    name, addresses = _addresses(machine)
    if addresses:
        return Fine(f"{name} is {addresses[0]}")
    return Problem(
        f"host name {name}: no address",
        "harm",
        command=f"a line '127.0.1.1 {name}' in /etc/hosts; or export SPARK_LOCAL_IP=127.0.0.1",
    )


def _addresses(machine: Machine) -> tuple[str, Sequence[str]]:
    name = _name(machine)
    return name, known(machine.the_own().resolve(name))


def _ipv6_only(machine: Machine) -> Outcome:
    environment = machine.the_own().environment
    name, addresses = _addresses(machine)
    if not addresses:
        raise NotSeen(f"{name} has no address")
    if any(":" not in address for address in addresses):
        return Fine(f"{name} has an IPv4 address")
    is_preferred = environment.get(_PREFER_IPV6, "").lower() == "true"
    if is_preferred or environment.get("SPARK_LOCAL_IP"):
        return Fine(f"{name} has IPv6 addresses only, and Spark is told")
    return Problem(
        f"host name {name}: IPv6 addresses only ({addresses[0][:60]})",
        command=f"export {_PREFER_IPV6}=true; or a line '127.0.1.1 {name}' in /etc/hosts",
    )


def _loopback_down(machine: Machine) -> Outcome:
    text = machine.tree.text(_LOOPBACK)
    if not re.fullmatch(r"0x[0-9a-f]{1,8}", text):
        raise NotSeen(f"could not read /{_LOOPBACK}: it is not what the kernel writes there")
    if int(text, 16) & _UP:
        return Fine("the loopback interface is up")
    return Problem("the loopback interface is down", "harm")


def _nic_node(machine: Machine) -> Outcome:
    nodes = {one.id: set(parse_ids(one.cpus)) for one in machine.the_topology().nodes if one.cpus}
    if len(nodes) < 2:
        return Fine("one node with CPUs")
    told = []
    for name in machine.tree.names(_DEVICES):
        node = _node(machine, f"{_DEVICES}/{name}/device/numa_node")
        if node not in nodes or machine.tree.text(f"{_DEVICES}/{name}/operstate") != "up":
            continue
        for what, reads, cpus in (_interrupts(machine, name), _steering(machine, name)):
            if cpus and not cpus & nodes[node]:
                return Problem(
                    f"{name} is on node {node}, and {what} go to CPUs {brief_ids(show_ids(cpus))} "
                    "of other nodes",
                    command=f"CPUs of node {node}, {show_ids(nodes[node])}, to each of those files",
                    reads=f"/{reads}",
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
    folder = f"{_DEVICES}/{name}/device/msi_irqs"
    cpus: set[int] = set()
    for number in machine.tree.names(folder, r"\d{1,6}"):
        kinds = [f"proc/irq/{number}/{kind}affinity_list" for kind in ("effective_", "smp_")]
        cpus |= machine.tree.ids(next(filter(machine.tree.has, kinds), kinds[-1]))
    return "its interrupts", "proc/irq/*/smp_affinity_list", cpus


def _steering(machine: Machine, name: str) -> tuple[str, str, set[int]]:
    """Return the CPUs that RPS and XPS name."""
    folder = f"{_DEVICES}/{name}/queues"
    cpus: set[int] = set()
    for queue in machine.tree.names(folder, r"[rt]x-\d{1,5}") if machine.tree.has(folder) else []:
        path = f"{folder}/{queue}/{'rps' if queue.startswith('rx') else 'xps'}_cpus"
        if machine.tree.has(path):
            cpus |= _mask(machine, path)
    return "RPS or XPS", f"{folder}/*/?ps_cpus", cpus


def _mask(machine: Machine, path: str) -> set[int]:
    """Return the CPUs of a mask such as `ff,00000000` (cpumap of networking/scaling)."""
    try:
        bits = int(machine.tree.text(path).replace(",", ""), 16)
    except ValueError:
        bits = -1
    if bits < 0 or bits.bit_length() > 1 << 14:
        raise NotSeen(f"could not read /{path}: it is not a mask of CPUs")
    return {cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1}


NETWORK = {
    "host-name": Rule(
        _host_name,
        why="Spark makes a URL of the host's name; an underscore is not allowed there, and the "
        "driver fails.",
        reads=f"/{_HOST}",
        better="letters, digits and hyphens",
        source="RFC 952, RFC 1123; Spark: RpcEndpointAddress",
        touches="whoever knows the machine by its name",
        command="export SPARK_LOCAL_HOSTNAME=localhost; or hostnamectl set-hostname with another "
        "name",
    ),
    "host-resolves": Rule(
        _host_resolves,
        why="Spark asks for the address of its own host: without an answer it does not start, or "
        "waits long.",
        reads="getaddrinfo(3)",
        better="a line in /etc/hosts",
        source="Java: InetAddress.getLocalHost; Spark: configuration, SPARK_LOCAL_IP",
    ),
    "ipv6-only": Rule(
        _ipv6_only,
        why="Spark and its Python workers listen on IPv4 addresses unless they are told to prefer "
        "IPv6.",
        reads="getaddrinfo(3)",
        better="an IPv4 address beside it, or SPARK_PREFER_IPV6=true",
        source="Spark: running on Kubernetes, IPv4 and IPv6; Java: networking properties, "
        "java.net.preferIPv6Addresses",
        touches="where Spark listens",
    ),
    "loopback-down": Rule(
        _loopback_down,
        why="hearth's executors, and the driver in local mode, talk over the loopback interface.",
        reads=f"/{_LOOPBACK}",
        better="up",
        source="man 7 netdevice, IFF_UP",
        command="ip link set lo up",
    ),
    "nic-node": Rule(
        _nic_node,
        why="Packets that a CPU of another node takes in cross the interconnect before Spark "
        "reads them.",
        reads=f"/{_DEVICES}",
        better="interrupts, RPS and XPS on CPUs of the device's node",
        source="kernel: networking/scaling, suggested configuration; Redpanda: tuner net",
        touches="which CPUs serve the network; irqbalance may move interrupts back",
        concerns="network",
    ),
}
