"""With one queue, one CPU takes all packets of a fast network in."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen

_FOLDER = "sys/class/net"
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
        seen.append(f"{name}: {len(queues)} queues")
        if len(queues) == 1 and speed >= _FAST and len(machine.the_topology().usable_cpus) >= _CPUS:
            mask = tree.text(f"{place}/queues/{queues[0]}/rps_cpus")
            if mask and not mask.strip("0,"):
                return Problem(
                    f"{name}: one queue at {speed} Mbit/s, and RPS is off",
                    f"/{place}/queues",
                    command=f"ethtool -L {name} combined 8; or RPS: CPUs of its node to "
                    f"/{place}/queues/rx-0/rps_cpus",
                )
    return Fine("; ".join(seen) or "no network device")


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
    better="several queues, or receive packet steering",
    source="kernel: networking/scaling; Redpanda: tuner net",
    touches="which CPUs serve the network",
)
