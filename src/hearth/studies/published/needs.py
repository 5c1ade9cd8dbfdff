"""What a step needs of this machine, and why it is not here. Found out before anything runs."""

import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hearth.base.ids import parse_ids
from hearth.base.sizes import show_bytes
from hearth.machine.topology import Topology
from hearth.record.probes import survey
from hearth.record.probes.base import Roots
from hearth.studies.engine import kernel_settings
from hearth.studies.engine.arms import cannot_switch, no_docker
from hearth.studies.engine.runner import cannot_drop_caches
from hearth.studies.published.preset import Step, data_bytes, heap_mb

_COUNTED = re.compile(r"(?<!\d)(\d+) ([a-z]+)")
#: The share of a machine's memory that heaps of executors on every node may have.
_FOR_HEAPS = 2 / 3
#: What of it has a number, and the words for one of it.
_WORDS = {
    "nodes": "NUMA nodes with CPUs and memory", "sockets": "sockets", "cpus": "CPUs",
    "cores": "cores", "threads": "hardware threads per core",
}  # fmt: skip


def numbers_of(machine: Topology) -> dict[str, int]:
    """Return the numbers of a machine, of the part that may be used, by the names that steps use.

    slots: of one node, two for each core that has so many threads; half, quarter: of the CPUs.
    """
    cpus = machine.usable_cpus
    cores = [len(cpus & set(parse_ids(core.cpus))) for core in machine.cores]
    cores = [number for number in cores if number]
    sockets = [p for p in machine.packages if cpus & set(parse_ids(p.cpus))]
    nodes = [n for n in machine.usable_nodes if n.memory_bytes and cpus & set(parse_ids(n.cpus))]
    number = len(nodes) or 1
    return {
        "cpus": len(cpus),
        "cores": len(cores),
        "sockets": len(sockets),
        "nodes": number,
        "threads": max(cores),
        "half": max(1, len(cpus) // 2),
        "quarter": max(1, len(cpus) // 4),
        "per_node": max(1, len(cpus) // number),
        "slots": max(1, len(cores) // number * min(2, max(cores))),
        "per_socket": max(1, len(cpus) // len(sockets)),
        "pairs": max(1, len(sockets) // 2),
        "per_pair": max(1, len(cpus) // max(1, len(sockets) // 2)),
        "memory_mb": sum(node.memory_bytes for node in machine.usable_nodes) >> 20,
    }


@dataclass(frozen=True)
class Capabilities:
    """This machine: its numbers, and of other needs the reason why they are not met, or None."""

    numbers: Mapping[str, int]
    lacks: Mapping[str, Callable[[], str | None]] = field(default_factory=dict)

    @staticmethod
    def of(machine: Topology) -> "Capabilities":
        """Return that of the live machine; costly needs are looked at when they are asked for."""
        cpus = sorted(machine.usable_cpus)
        return Capabilities(
            numbers_of(machine),
            {
                "numactl": _no_numactl,
                "docker": no_docker,
                "counters": _no_counters,
                "prefetchers": lambda: kernel_settings.cannot_switch_prefetchers(cpus),
                "balancing": cannot_switch,
                "cold": cannot_drop_caches,
            },
        )

    def missing(self, step: Step, scale: float) -> list[str]:
        """Return the reasons why a step cannot be run here; none where it can."""
        reasons = [self.lack(need) for need in step.needs]
        size, memory = data_bytes(step, scale), self.numbers["memory_mb"] << 20
        if size > memory:
            reasons.append(
                f"its data of {show_bytes(size)} exceed the memory of {show_bytes(memory)}: "
                f"{self._smaller(step, scale)}"
            )
        heaps, limit = self._heaps(step, scale), int(memory * _FOR_HEAPS)
        if heaps > limit:
            reasons.append(
                f"its heaps of {show_bytes(heaps)} exceed {show_bytes(limit)}, two thirds of the "
                f"memory: {self._smaller(step, scale)}"
            )
        return [reason for reason in reasons if reason is not None]

    def _heaps(self, step: Step, scale: float) -> int:
        """Return the bytes of the heaps of an executor on each node."""
        return heap_mb(step, scale) * self.numbers["nodes"] << 20

    def _smaller(self, step: Step, scale: float) -> str:
        """Return the largest scale, of one digit, at which a step fits, with room for its files."""
        memory = self.numbers["memory_mb"] << 20
        for smaller in (n / 10**power for power in range(1, 7) for n in range(9, 0, -1)):
            fits = data_bytes(step, smaller) <= memory / 2
            if smaller < scale and fits and self._heaps(step, smaller) <= memory * _FOR_HEAPS:
                return f"--scale {smaller:g}"
        least = self._heaps(step, 0.0)
        return f"at no --scale are they below {show_bytes(least)}: use a machine with more memory"

    def lack(self, need: str) -> str | None:
        """Return why this machine does not meet a need; None where it does."""
        return few(need, self.numbers) if _COUNTED.fullmatch(need) else self.lacks[need]()


def few(need: str, numbers: Mapping[str, int]) -> str | None:
    """Return that a machine of these numbers has fewer, such as `24 cores`; None if it has them."""
    least, name = need.split()
    has = numbers[name]
    return None if has >= int(least) else f"needs {least} {_WORDS[name]}, and {has} may be used"


def _no_numactl() -> str | None:
    return None if shutil.which("numactl") else "needs numactl: apt-get install numactl"


def _no_counters() -> str | None:
    row = next(row for row in survey(Roots()) if row.name == "counters")
    return None if row.status == "on" else f"needs hardware counters: {row.reason}"
