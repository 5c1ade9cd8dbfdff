"""Spark and its Python workers listen on IPv4 addresses unless they are told to prefer IPv6."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem, known
from hearth.doctor.tree import NotSeen

_VARIABLE = "SPARK_PREFER_IPV6"


def _look(machine: Machine) -> Outcome:
    own = machine.the_own()
    name = machine.tree.text("proc/sys/kernel/hostname")
    if not name or len(name) > 64 or not name.isascii() or not name.isprintable() or " " in name:
        raise NotSeen("could not read /proc/sys/kernel/hostname: it is not a host name")
    addresses = known(own.resolve(name))
    if not addresses:
        raise NotSeen(f"{name} has no address")
    if any(":" not in address for address in addresses):
        return Fine(f"{name} has an IPv4 address")
    if own.environment.get(_VARIABLE, "").lower() == "true" or own.environment.get(
        "SPARK_LOCAL_IP"
    ):
        return Fine(f"{name} has IPv6 addresses only, and Spark is told")
    return Problem(
        f"host name {name}: IPv6 addresses only ({addresses[0][:60]})",
        "getaddrinfo(3)",
        command=f"export {_VARIABLE}=true; or a line '127.0.1.1 {name}' in /etc/hosts",
    )


CHECK = Check(
    _look,
    group="network",
    better="an IPv4 address beside it, or SPARK_PREFER_IPV6=true",
    source="Spark: running on Kubernetes, IPv4 and IPv6; Java: networking properties, "
    "java.net.preferIPv6Addresses",
    touches="where Spark listens",
)
