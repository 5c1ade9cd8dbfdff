"""The machine as a whole: ticks per CPU, virtual memory events, memory and numastat per node."""

from collections.abc import Iterator, Sequence
from typing import Any

from hearth.record import kernel
from hearth.record.probes.base import Probe, Row, SampledProcess, unreadable


class SystemProbe(Probe):
    """/proc/stat, /proc/vmstat and /sys/devices/system/node/nodeN/{numastat,meminfo}."""

    name = "system"
    budget_share = 0.002
    cost = "two files, and two more per NUMA node, for each sample"

    def supported(self) -> str | None:
        return unreadable(self.roots.proc / "stat")

    def sample(self, targets: Sequence[SampledProcess]) -> Iterator[Row]:
        stat = (self.roots.proc / "stat").read_text()
        numbers = dict(line.split(" ", 1) for line in stat.splitlines() if " " in line)
        row: dict[str, Any] = {
            "cpu": kernel.parse_cpus(stat),
            "ctxt": int(numbers["ctxt"]),
            "running": int(numbers["procs_running"]),
            "blocked": int(numbers["procs_blocked"]),
            "vmstat": kernel.parse_vmstat((self.roots.proc / "vmstat").read_text()),
            "numastat": {},
            "meminfo": {},
        }
        for node in kernel.node_ids(self.roots.sys):
            folder = self.roots.sys / "devices" / "system" / "node" / f"node{node}"
            row["numastat"][node] = kernel.parse_numbers((folder / "numastat").read_text())
            row["meminfo"][node] = kernel.parse_node_memory((folder / "meminfo").read_text())
        yield "samples/system.jsonl", row
