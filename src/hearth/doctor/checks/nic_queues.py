"""With one queue, one CPU takes all packets of a fast network in."""

from hearth.base.sizes import counted
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen

_FOLDER = "sys/class/net"
_FLOWS = "proc/sys/net/core/rps_sock_flow_entries"
#: Ours: slower networks and smaller machines need no more.
_FAST, _CPUS = 10_000, 8


def _look(machine: Machine) -> Outcome:
    tree, seen = machine.tree, []
    for name in tree.names(_FOLDER):
        place = f"{_FOLDER}/{name}"
        if not tree.has(f"{place}/device"):
            continue
        queues = [q for q in tree.names(f"{place}/queues") if q.startswith("rx-")]
        speed = _speed(machine, f"{place}/speed")
        seen.append(f"{name}: {counted(len(queues), 'queue')}")
        if len(queues) == 1 and speed >= _FAST and len(machine.the_topology().usable_cpus) >= _CPUS:
            found = _steered(machine, name, speed)
            if found:
                return found
    return Fine("; ".join(seen) or "no network device")


def _steered(machine: Machine, name: str, speed: int) -> Problem | None:
    """Return what is missing where one queue takes all packets in; None for no mask at all."""
    queue = f"{_FOLDER}/{name}/queues/rx-0"
    mask = machine.tree.text(f"{queue}/rps_cpus")
    if not mask:
        return None
    if not mask.strip("0,"):
        return Problem(
            f"{name}: one queue at {speed} Mbit/s, and RPS is off",
            f"/{queue}",
            command=f"ethtool -L {name} combined 8; or RPS: CPUs of its node to /{queue}/rps_cpus",
        )
    if machine.tree.number(_FLOWS, 1 << 32):
        return None
    return Problem(
        f"{name}: RPS without RFS: packets go to any of its CPUs, not to the reader's",
        f"/{_FLOWS}",
        command=f"sysctl -w net.core.rps_sock_flow_entries=32768; and 32768 to /{queue}/"
        "rps_flow_cnt",
    )


def _speed(machine: Machine, path: str) -> int:
    """Return Mbit/s; 0 where the device does not tell, as virtual ones."""
    try:
        return machine.tree.number(path, 10_000_000)
    except NotSeen:
        return 0


CHECK = Check(
    _look,
    group="network",
    concerns="network",
    better="several queues, or receive packet and flow steering (RPS, RFS)",
    source="kernel: networking/scaling; Redpanda: tuner net",
    touches="which CPUs serve the network",
)
