"""The parts into which a machine is split between applications: its NUMA nodes, or its cores."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hearth.base.errors import UserError
from hearth.base.ids import brief_ids, parse_ids, show_ids
from hearth.machine.leases import read_leases
from hearth.machine.topology import Core, NumaNode, Topology

#: How a part is called, one and several.
NAMES = {"node": "NUMA node", "core": "core"}


@dataclass(frozen=True)
class Units:
    """The parts of a machine, in the order in which they are given away, each with its CPUs."""

    kind: Literal["node", "core"]
    cpus: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(topology: Topology) -> "Units":
        """Return the parts of a machine that may be used: its nodes if there are several, else
        cores.

        All hardware threads of a core stay together. Raises UserError where nothing can be split.
        """
        allowed = topology.usable_cpus
        nodes = _parts(topology.nodes, allowed)
        if len(nodes) > 1:
            return Units("node", nodes)
        cores = _parts(topology.cores, allowed)
        if len(cores) < 2:
            raise UserError(
                f"one core ({topology.allowed.cpus or 'no CPU'}) cannot be split between "
                "applications: use a machine, or a cpuset, with two cores or more"
            )
        return Units("core", cores)

    @property
    def all(self) -> tuple[int, ...]:
        """All CPUs."""
        return tuple(sorted(cpu for part in self.cpus for cpu in part))

    @property
    def shown(self) -> list[str]:
        """The CPUs of each part."""
        return [show_ids(cpus) for cpus in self.cpus]

    def shares(self, split: Sequence[int]) -> list[tuple[int, ...]]:
        """Return each application's CPUs: neighbouring parts, the first application's first."""
        shares, first = [], 0
        for count in split:
            parts = self.cpus[first : first + count]
            shares.append(tuple(sorted(cpu for part in parts for cpu in part)))
            first += count
        return shares

    def described(self, count: int) -> str:
        """Return `1 core`, `3 NUMA nodes`."""
        return f"{count} {NAMES[self.kind]}{'' if count == 1 else 's'}"


def leased(units: Units, debug: bool) -> list[str]:
    """Say which applications hold CPUs that are to be split."""
    with contextlib.suppress(UserError):  # 'hearth status --leases' says what is wrong with them
        return [
            f"CPUs {brief_ids(lease.cpus, 24)} are leased by {lease.name} of {lease.user}: results "
            "measured there are valid only beside it"
            for lease in read_leases(debug).leases
            if lease.state == "holds" and {*parse_ids(lease.cpus)} & {*units.all}
        ]
    return []


def _parts(parts: Sequence[NumaNode | Core], allowed: set[int]) -> tuple[tuple[int, ...], ...]:
    usable = (sorted(allowed & set(parse_ids(part.cpus))) for part in parts)
    return tuple(sorted(tuple(cpus) for cpus in usable if cpus))
