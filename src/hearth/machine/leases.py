"""Who holds what of a machine: the document of the verb `leases`, as dataclasses."""

from dataclasses import dataclass, field
from typing import Literal

from hearth.base.codec import LEFT_OUT, typed
from hearth.base.limits import Count, Positive
from hearth.machine import jvm
from hearth.machine.topology import Topology


@dataclass(frozen=True)
class Lease:
    """The part of the machine that an application holds."""

    schema: Literal["hearth/lease/1"]
    boot: str  #: /proc/sys/kernel/random/boot_id when it was taken
    #: holds: its CPUs are its own; shares: nothing was free, it runs unbound beside others; waits:
    #: it has not started
    state: Literal["holds", "shares", "waits"]
    app_id: str  #: as Spark or hearth made it
    name: str  #: the application's name, without secrets
    pid: Count  #: the driver's process, in its own PID namespace
    start_ticks: Count  #: field 22 of /proc/PID/stat
    since: Count  #: seconds since 1970
    cpus: str  #: ids in the kernel's list format; empty for none
    memory_bytes: dict[str, Count]  #: by memory node, what its processes may take there
    user: str  #: the owner of its file
    ours: bool  #: whether that is who asks
    ticket: Positive | None = field(default=None, metadata=LEFT_OUT)  #: its turn, where it waits


@dataclass(frozen=True)
class Leases:
    """Who holds what of this machine; written by the verb `leases`."""

    schema: Literal["hearth/leases/1"]
    directory: str  #: where the leases of this machine are
    leases: list[Lease]
    problems: list[str]  #: files that could not be read or believed
    topology: Topology  #: `hearth schema topology`


def read_leases(debug: bool) -> Leases:
    """Return the leases of this machine; raise UserError where they cannot be read."""
    return typed(jvm.call("leases", debug=debug), Leases)
