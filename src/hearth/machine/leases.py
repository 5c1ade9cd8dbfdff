"""Who holds what of a machine: the document of the verb `leases`, as dataclasses."""

from dataclasses import dataclass, field
from typing import Literal

from hearth.base.codec import LEFT_OUT, typed
from hearth.machine import jvm
from hearth.machine.topology import Topology


@dataclass(frozen=True)
class Lease:
    """What an application holds. since: seconds since 1970. memory_bytes: by memory node.

    state: it holds its CPUs; nothing was free, so that it runs unbound beside others; it waits,
    with this ticket. ours: whether it is the caller's own.
    """

    schema: str
    boot: str
    state: Literal["holds", "shares", "waits"]
    app_id: str
    name: str
    pid: int
    start_ticks: int
    since: int
    cpus: str
    memory_bytes: dict[str, int]
    user: str
    ours: bool
    ticket: int | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class OfferedCpus:
    """CPUs that their holder leaves to others for now; since_ms: since 1970."""

    app_id: str
    user: str
    cpus: str
    since_ms: int


@dataclass(frozen=True)
class Borrower:
    """The executor that uses lent CPUs."""

    app_id: str
    user: str
    executor_id: str


@dataclass(frozen=True)
class LendingApplication:
    """The application whose CPUs are lent."""

    app_id: str
    user: str


@dataclass(frozen=True)
class LentCpus:
    """Offered CPUs that another application uses; from_: None while they are on their way back."""

    cpus: str
    since_ms: int
    to: Borrower
    from_: LendingApplication | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class Leases:
    """All of it. directory: where the leases are. problems: files that could not be believed."""

    schema: Literal["hearth/leases/1"]
    directory: str
    leases: list[Lease]
    offers: list[OfferedCpus]
    loans: list[LentCpus]
    problems: list[str]
    topology: Topology


def read_leases(debug: bool) -> Leases:
    """The leases of this machine; raises UserError where they cannot be read."""
    return typed(jvm.call("leases", debug=debug), Leases)
