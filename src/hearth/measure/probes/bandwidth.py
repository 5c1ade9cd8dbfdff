"""Memory bandwidth of the machine, where the kernel counts it: resctrl's monitoring groups.

Documentation/arch/x86/resctrl.rst: `mon_data/mon_L3_NN/mbm_total_bytes` and `mbm_local_bytes`
count, for each last-level cache, the bytes from all memory and from memory of its own node.
"""

from collections.abc import Iterator, Sequence

from hearth.measure.probes.base import Probe, Row, Target, unreadable
from hearth.measure.probes.perf import uncore_events

_PREFIX = "mon_L3_"
_COUNTS = {"total_bytes": "mbm_total_bytes", "local_bytes": "mbm_local_bytes"}


class BandwidthProbe(Probe):
    """Bytes to and from memory by L3 domain; of the whole machine, not of one process."""

    name = "bandwidth"
    cost = "two files for each last-level cache"

    @property
    def _data(self):
        return self.roots.sys / "fs" / "resctrl" / "mon_data"

    def supported(self) -> str | None:
        domains = sorted(self._data.glob(f"{_PREFIX}*"))
        if domains:
            return unreadable(domains[0] / _COUNTS["total_bytes"])
        if uncore_events(self.roots.sys):
            return (
                "resctrl is not mounted, and the memory controllers' own counters are not read by "
                "this version: mount -t resctrl resctrl /sys/fs/resctrl"
            )
        return (
            "neither resctrl (mount -t resctrl resctrl /sys/fs/resctrl, where the processor has "
            "memory bandwidth monitoring) nor memory controller counters are on this machine"
        )

    def sample(self, targets: Sequence[Target]) -> Iterator[Row]:
        domains = {}
        for folder in sorted(self._data.glob(f"{_PREFIX}*")):
            read = {name: (folder / file).read_text().strip() for name, file in _COUNTS.items()}
            # The kernel answers "Unavailable" where a counter was taken meanwhile.
            counts = {name: int(text) for name, text in read.items() if text.isdigit()}
            domains[f"L3:{folder.name.removeprefix(_PREFIX)}"] = counts
        yield "samples/bandwidth.jsonl", {"source": "resctrl", "domains": domains}
