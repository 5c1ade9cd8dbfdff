"""Sample the memory of each process: pages per NUMA node, memory policies.

The kernel walks the page tables of the whole process to answer, under the lock that the process
needs to map memory, which is slow for a large heap: hence the longer period, which the sampler
lengthens further where a sample is costly.
"""

from collections.abc import Iterator, Sequence

from hearth.record import kernel
from hearth.record.probes.base import Probe, Row, SampledProcess, read_if_alive, unreadable


class MemoryProbe(Probe):
    """/proc/PID/numa_maps."""

    name = "memory"
    budget_share = 0.003
    cost = "a walk over the page tables of each process: about 1 ms for each GB of 4 KB pages"
    least_period_s = 10.0

    def supported(self) -> str | None:
        return unreadable(self.roots.proc / "self" / "numa_maps")

    def sample(self, targets: Sequence[SampledProcess]) -> Iterator[Row]:
        for target in targets:
            folder = self.roots.proc / str(target.pid)
            maps = read_if_alive(folder / "numa_maps")
            stat = read_if_alive(folder / "stat")
            if (
                not maps
                or stat is None
                or kernel.parse_stat(stat).start_ticks != target.start_ticks
            ):
                continue
            nodes, policies = kernel.parse_numa_maps(maps)
            row = {"nodes": nodes, "policies": policies}
            yield "samples/memory.jsonl", {**target.identity, **row}
