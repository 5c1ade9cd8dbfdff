"""What the kernel counts of the whole machine while applications share it.

Baig 2018 looked at the same two, by vmstat and numastat: context switches, and memory that a task
was given on another node than it ran on (numastat's `other_node`).
"""

import os
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
    "remote_gb": "GB given on another node",
}


@dataclass(frozen=True)
class KernelCounts:
    """Both at one moment, since the machine's start; other_node: pages, None without NUMA."""

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
    """Return what was counted in between."""
    seconds = last.at_s - first.at_s
    remote: Measured[float] = Absent("one NUMA node: no memory is on another")
    if first.other_node is not None and last.other_node is not None:
        pages = last.other_node - first.other_node
        remote = pages * os.sysconf("SC_PAGE_SIZE") / 1e9
    switches = last.switches - first.switches
    return {"switches_per_s": switches / seconds if seconds > 0 else 0.0, "remote_gb": remote}


@dataclass
class Counting:
    """KernelCounts while a round runs: of a loop, in its middle, where runs count too."""

    loop: Loop | None
    count: Callable[[], KernelCounts] = KernelCounts.now
    first: KernelCounts | None = None
    last: KernelCounts | None = None

    def look(self, since_s: float) -> None:
        """Take what is due so long after the start of the round."""
        begin, end = (0.0, None) if self.loop is None else self.loop.middle
        if self.first is None and since_s >= begin:
            self.first = self.count()
        if self.last is None and end is not None and since_s >= end:
            self.last = self.count()

    def counted(self) -> dict[str, Measured[float]] | None:
        """Return what was counted up to here, or to the end of the middle; None without any."""
        return None if self.first is None else between(self.first, self.last or self.count())
