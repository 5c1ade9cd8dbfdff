"""What the kernel counts of the whole machine while applications share it.

Baig 2018 looked at the same two, by vmstat and numastat: context switches, and allocations of
memory on another node than the task ran on (numastat's `other_node`).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from hearth.base.absent import Absent, Measured
from hearth.record import kernel
from hearth.record.probes.base import Roots
from hearth.studies.colocate.concurrent_runs import Loop

#: The measures, and the words for them.
WORDS = {
    "switches_per_s": "context switches of the machine a second",
    "remote_per_s": "allocations on another node a second",
}


@dataclass(frozen=True)
class KernelCounts:
    """Both at one moment, since the machine's start; other_node: allocations, None without NUMA."""

    at_s: float
    switches: int
    other_node: int | None

    @staticmethod
    def now(roots: Roots | None = None) -> "KernelCounts":
        roots = roots or Roots()
        stat = (roots.proc / "stat").read_text()
        switches = next(line.split()[1] for line in stat.splitlines() if line.startswith("ctxt "))
        files = sorted((roots.sys / "devices" / "system" / "node").glob("node*/numastat"))
        nodes = [kernel.parse_numbers(file.read_text())["other_node"] for file in files]
        return KernelCounts(time.monotonic(), int(switches), sum(nodes) if len(nodes) > 1 else None)


def between(first: KernelCounts, last: KernelCounts) -> dict[str, Measured[float]]:
    """Return what was counted in between, for each second.

    An allocation is not a size: the kernel counts a huge page as it counts a small one.
    """
    seconds = max(last.at_s - first.at_s, 1e-3)
    remote: Measured[float] = Absent("one NUMA node: no memory is on another")
    if first.other_node is not None and last.other_node is not None:
        remote = (last.other_node - first.other_node) / seconds
    return {"switches_per_s": (last.switches - first.switches) / seconds, "remote_per_s": remote}


@dataclass
class Counting:
    """KernelCounts while a round runs: of a loop, in its middle, where runs count too."""

    loop: Loop | None
    count: Callable[[], KernelCounts] = KernelCounts.now
    first: KernelCounts | None = None
    last: KernelCounts | None = None
    fault: str = ""

    def look(self, since_s: float) -> None:
        """Take what is due so long after the start of the round."""
        begin, end = (0.0, None) if self.loop is None else self.loop.middle
        if self.first is None and since_s >= begin:
            self.first = self._count()
        if self.last is None and end is not None and since_s >= end:
            self.last = self._count()

    def counted(self) -> dict[str, Measured[float]] | None:
        """Return what was counted up to here, or to the end of the middle; None without any."""
        last = self.last or (self._count() if self.first else None)
        if self.fault:
            return dict.fromkeys(WORDS, Absent(self.fault))
        return between(self.first, last) if self.first and last else None

    def _count(self) -> KernelCounts | None:
        """Return the counts; None where they cannot be read, which ends no study."""
        try:
            return self.count()
        except (OSError, StopIteration, LookupError, ValueError) as error:
            self.fault = f"the kernel's counts could not be read: {error!r}"
            return None
