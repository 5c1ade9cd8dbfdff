"""Where the host's name leads to the loopback, Spark takes the address of some interface: one of a
VPN goes away with the connection, and the driver's address with it.
"""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem, known
from hearth.doctor.tree import NotSeen

_FOLDER = "sys/class/net"
_NO_HARDWARE = 65534  # ARPHRD_NONE of linux/if_arp.h: tunnels
_PPP = 512
_UP = 1


def _look(machine: Machine) -> Outcome:
    own, tree = machine.the_own(), machine.tree
    tunnels = [name for name in tree.names(_FOLDER) if _is_tunnel(machine, name)]
    if not tunnels:
        return Fine("no tunnel of a VPN")
    if own.environment.get("SPARK_LOCAL_IP") or own.environment.get("SPARK_LOCAL_HOSTNAME"):
        return Fine(f"a tunnel ({tunnels[0]}), and Spark's address is set")
    name = tree.text("proc/sys/kernel/hostname")
    if not name or len(name) > 64 or not name.isascii() or not name.isprintable() or " " in name:
        raise NotSeen("could not read /proc/sys/kernel/hostname: it is not a host name")
    addresses = [address for address in known(own.resolve(name)) if ":" not in address]
    if not addresses or not all(address.startswith("127.") for address in addresses):
        return Fine(f"a tunnel ({tunnels[0]}), and {name} is not a loopback address")
    return Problem(
        f"{name} is {addresses[0]}, so Spark looks for another address; {tunnels[0]} is up",
        f"/{_FOLDER}",
        command="export SPARK_LOCAL_IP=127.0.0.1",
    )


def _is_tunnel(machine: Machine, name: str) -> bool:
    """Return whether an interface is a tunnel that is up."""
    place = f"{_FOLDER}/{name}"
    kind = machine.tree.number(f"{place}/type", 1 << 17)
    if kind not in (_NO_HARDWARE, _PPP):
        return False
    try:
        return bool(int(machine.tree.text(f"{place}/flags"), 16) & _UP)
    except ValueError:
        raise NotSeen(f"could not read /{place}/flags: it is not a number") from None


CHECK = Check(
    _look,
    group="network",
    better="SPARK_LOCAL_IP set, or a name that leads to an address that stays",
    source="Spark: Utils.findLocalInetAddress; man 7 netdevice",
    touches="machines outside cannot reach the driver",
)
