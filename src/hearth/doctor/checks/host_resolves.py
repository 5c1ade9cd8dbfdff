"""Spark asks for the address of its own host: without an answer it does not start, or waits
long.
"""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem, known
from hearth.doctor.tree import NotSeen


def _look(machine: Machine) -> Outcome:
    own = machine.the_own()
    if own.environment.get("SPARK_LOCAL_IP"):
        return Fine("SPARK_LOCAL_IP is set")
    name = machine.tree.text("proc/sys/kernel/hostname")
    if not name or len(name) > 64 or not name.isascii() or " " in name:
        raise NotSeen("could not read /proc/sys/kernel/hostname: it is not a host name")
    addresses = known(own.resolve(name))
    if addresses:
        return Fine(f"{name} is {addresses[0]}")
    return Problem(
        f"host name {name}: no address",
        "getaddrinfo(3)",
        "harm",
        command=f"a line '127.0.1.1 {name}' in /etc/hosts; or export SPARK_LOCAL_IP=127.0.0.1",
    )


CHECK = Check(
    _look,
    group="network",
    better="a line in /etc/hosts",
    source="Java: InetAddress.getLocalHost; Spark: configuration, SPARK_LOCAL_IP",
    touches="nothing",
)
