"""Bytes and operations of network interfaces and disks, of the machine as a whole."""

from collections.abc import Iterator, Sequence

from hearth.record import kernel
from hearth.record.probes.base import Probe, Row, SampledProcess, unreadable


class NetworkProbe(Probe):
    """/proc/net/dev, of the network namespace that hearth runs in."""

    name = "network"
    cost = "one file for each sample"

    def supported(self) -> str | None:
        return unreadable(self.roots.proc / "net" / "dev")

    def sample(self, targets: Sequence[SampledProcess]) -> Iterator[Row]:
        text = (self.roots.proc / "net" / "dev").read_text()
        yield "samples/network.jsonl", {"interfaces": kernel.parse_network(text)}


class DiskProbe(Probe):
    """/proc/diskstats of whole devices (Documentation/admin-guide/iostats.rst)."""

    name = "disk"
    cost = "one file for each sample"

    def supported(self) -> str | None:
        return unreadable(self.roots.proc / "diskstats")

    def sample(self, targets: Sequence[SampledProcess]) -> Iterator[Row]:
        whole = {path.name for path in (self.roots.sys / "block").glob("*")}
        text = (self.roots.proc / "diskstats").read_text()
        yield "samples/disk.jsonl", {"disks": kernel.parse_disks(text, whole)}
