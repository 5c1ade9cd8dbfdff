"""The machine as a whole: ticks of each CPU, and what the kernel counts of memory."""

from collections.abc import Iterator, Sequence

from hearth.record import kernel
from hearth.record.probes.base import Probe, Row, SampledProcess, unreadable


class SystemProbe(Probe):
    """/proc/stat and /proc/vmstat."""

    name = "system"
    budget_share = 0.002
    cost = "two files for each sample"

    def supported(self) -> str | None:
        return unreadable(self.roots.proc / "stat")

    def sample(self, targets: Sequence[SampledProcess]) -> Iterator[Row]:
        yield (
            "samples/system.jsonl",
            {
                "cpu": kernel.parse_cpus((self.roots.proc / "stat").read_text()),
                "vmstat": kernel.parse_vmstat((self.roots.proc / "vmstat").read_text()),
            },
        )
