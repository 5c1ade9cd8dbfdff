"""An adapter that agreed on less than its speed with the switch, for a bad cable or port, makes its
machine the last of every shuffle.
"""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.cluster import matters
from hearth.doctor.tree import NotSeen

_FOLDER = "sys/class/net"
#: In Mbit/s, as Cloudera's test has it.
_LEAST = 1000


def _look(machine: Machine) -> Outcome:
    tree, told = machine.tree, []
    if not matters(machine):
        return Fine("of interest in a cluster only, and no setting of Spark points to one")
    for name in tree.names(_FOLDER):
        place = f"{_FOLDER}/{name}"
        if not tree.has(f"{place}/device") or tree.text(f"{place}/operstate") != "up":
            continue
        try:
            speed, duplex = tree.number(f"{place}/speed", 10_000_000), tree.text(f"{place}/duplex")
        except NotSeen:  # wireless and virtual ones do not tell
            continue
        told.append(f"{name}: {speed} Mbit/s")
        if speed < _LEAST or duplex == "half":
            return Problem(
                f"{name}: {speed} Mbit/s, {duplex[:10]} duplex",
                f"/{place}/speed, /{place}/duplex",
                command=f"ethtool {name} shows what both ends can; change the cable or the port",
            )
    if not told:
        raise NotSeen("no network adapter that is up reports its speed")
    return Fine("; ".join(told))


CHECK = Check(
    _look,
    group="network",
    concerns="network",
    better="1,000 Mbit/s or more, in both directions at once",
    source="kernel: ABI/testing/sysfs-class-net, speed and duplex; Cloudera: health test of "
    "network interfaces in slow mode",
    touches="the network is away for a moment",
)
