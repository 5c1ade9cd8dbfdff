"""The network: the host's name and its address."""

from hearth.base.absent import Absent
from hearth.doctor.machine import Machine, known
from hearth.doctor.rule import Fine, Outcome, Problem, Rule
from hearth.machine.tree import NotSeen

_HOST = "proc/sys/kernel/hostname"


def _host_name(machine: Machine) -> Outcome:
    name, user = _name(machine), machine.user
    if not all(c.isalnum() or c in "-._" for c in name):
        raise _no_name()
    renamed = not isinstance(user, Absent) and user.environment.get("SPARK_LOCAL_HOSTNAME")
    if "_" not in name or renamed:
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
    if machine.user_settings().environment.get("SPARK_LOCAL_IP"):
        return Fine("SPARK_LOCAL_IP is set")
    name = _name(machine)
    addresses = known(machine.user_settings().resolve(name))
    if addresses:
        return Fine(f"{name} is {addresses[0]}")
    return Problem(
        f"host name {name}: no address",
        "harm",
        how=f"a line '127.0.1.1 {name}' in /etc/hosts; or export SPARK_LOCAL_IP=127.0.0.1",
    )


NETWORK = {
    "host-name": Rule(
        _host_name,
        why="Spark makes a URL of the host's name; an underscore is not allowed there, and the "
        "driver fails.",
        reads=f"/{_HOST}",
        better="letters, digits and hyphens",
        source="RFC 952, RFC 1123; Spark: RpcEndpointAddress",
        touches="whoever knows the machine by its name",
        how="export SPARK_LOCAL_HOSTNAME=localhost; or hostnamectl set-hostname with another name",
    ),
    "host-resolves": Rule(
        _host_resolves,
        why="Spark asks for the address of its own host: without an answer it does not start, or "
        "waits long.",
        reads="getaddrinfo(3)",
        better="a line in /etc/hosts",
        source="Java: InetAddress.getLocalHost; Spark: configuration, SPARK_LOCAL_IP",
    ),
}
