"""Spark makes a URL of the host's name; an underscore is not allowed there, and the driver
fails.
"""

from hearth.base.absent import Absent
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen

_FILE = "proc/sys/kernel/hostname"


def _look(machine: Machine) -> Outcome:
    name = machine.tree.text(_FILE)
    if (
        not name
        or len(name) > 64
        or not all(c.isalnum() or c in "-._" for c in name)
        or not name.isascii()
    ):
        raise NotSeen(f"could not read /{_FILE}: it is not a host name")
    own = machine.own
    if "_" not in name or (
        not isinstance(own, Absent) and own.environment.get("SPARK_LOCAL_HOSTNAME")
    ):
        return Fine(f"host name: {name}")
    return Problem(
        f"host name {name}: an underscore",
        f"/{_FILE}",
        "harm",
        command="export SPARK_LOCAL_HOSTNAME=localhost; or hostnamectl set-hostname with another "
        "name",
    )


CHECK = Check(
    _look,
    group="network",
    better="letters, digits and hyphens",
    source="RFC 952, RFC 1123; Spark: RpcEndpointAddress",
    touches="whoever knows the machine by its name",
)
