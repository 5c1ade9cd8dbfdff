"""Memory bandwidth of the machine, where it is counted: resctrl, else the memory controllers.

Documentation/arch/x86/resctrl.rst: `mon_data/mon_L3_NN/mbm_total_bytes` counts, for each last-level
cache, the bytes from and to all memory. The controllers' own counters (Intel `uncore_imc`, AMD
`amd_umc`, POWER9's nest `nest_mcs`) are read through `perf stat -a`, by socket.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hearth.base.ids import show_ids
from hearth.record.counters import CounterReading
from hearth.record.probes.base import Probe, Roots, Row, SampledProcess, unreadable
from hearth.record.probes.perf import PerfStat, read_once, start_perf
from hearth.record.schema import ProbeStatus

_PREFIX = "mon_L3_"
_TOTAL = "mbm_total_bytes"
#: Of Intel's servers, and of its processors for clients.
_OF_INTEL = ("cas_count_read", "cas_count_write", "data_reads", "data_writes")
_OF_AMD = ("umc_cas_cmd.rd", "umc_cas_cmd.wr")
_BYTES = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "MB": 10**6, "Bytes": 1}
#: Of POWER9's nest, 64 bytes a count (Linux: pmu-events/arch/powerpc/power9/nest_metrics.json).
_OF_POWER = "PM_MCS*_128B_[RW][DR]_DISP_PORT*"
#: A transfer between controller and memory moves a cache line; perf scales it where it knows.
_BYTES_PER_TRANSFER = 64


class BandwidthProbe(Probe):
    """Bytes to and from memory by L3 domain or socket; of the machine, not of one process."""

    name = "bandwidth"
    cost = "two files for each last-level cache, or one perf process for the machine"

    def __init__(self, roots: Roots, perf: str | None = None) -> None:
        super().__init__(roots)
        self._perf = perf or shutil.which("perf")
        self._stream: PerfStat | None = None
        self._totals: dict[str, int] = {}

    @property
    def _data(self) -> Path:
        return self.roots.sys / "fs" / "resctrl" / "mon_data"

    @property
    def _resctrl(self) -> bool:
        return any(self._data.glob(f"{_PREFIX}*"))

    @property
    def source(self) -> str:
        """`resctrl`, or `uncore` for the memory controllers' own counters."""
        return "resctrl" if self._resctrl else "uncore"

    def supported(self) -> str | None:
        if self._resctrl:
            return unreadable(min(self._data.glob(f"{_PREFIX}*")) / _TOTAL)
        events = uncore_events(self.roots.sys)
        if not events:
            return (
                "neither resctrl (mount -t resctrl resctrl /sys/fs/resctrl, where the processor "
                "has memory bandwidth monitoring) nor memory controller counters are on this "
                "machine"
            )
        if self._perf is None:
            return "perf is not installed (Debian: apt-get install linux-perf)"
        readings = read_once(self._perf, ["-a", "--per-socket", "-e", ",".join(events)])
        if any(reading.value is not None for reading in readings):
            return None
        return (
            "resctrl is not mounted, and perf may not count the memory controllers here: run as "
            "root, or 'sysctl kernel.perf_event_paranoid=0'"
        )

    def survey(self) -> ProbeStatus:
        """Return it with each domain's CPUs, from which a report derives NUMA nodes."""
        status = super().survey()
        if status.status == "absent":
            return status
        return replace(status, source=self.source, domains=self.domains())

    def domains(self) -> dict[str, str]:
        """Return the CPUs of each domain that is counted, as a kernel's list."""
        cpus_of = _by_cache(self.roots.sys) if self._resctrl else _by_socket(self.roots.sys)
        return {name: show_ids(cpus) for name, cpus in cpus_of.items()}

    def sample(self, targets: Sequence[SampledProcess]) -> Iterator[Row]:
        if self._resctrl:
            yield _row(self._cache_bytes())
        else:
            yield from self._controllers()

    def _cache_bytes(self) -> dict[str, int]:
        totals = {}
        for folder in sorted(self._data.glob(f"{_PREFIX}*")):
            text = (folder / _TOTAL).read_text().strip()
            # The kernel answers "Unavailable" where a counter was taken meanwhile.
            if text.isdigit():
                totals[f"L3:{folder.name.removeprefix(_PREFIX)}"] = int(text)
        return totals

    def _controllers(self) -> Iterator[Row]:
        """Yield perf's intervals added up, so that rows are cumulative as resctrl's are."""
        if self._stream is None:
            events = uncore_events(self.roots.sys)
            assert self._perf is not None
            what = ["-a", "--per-socket", "-e", ",".join(events)]
            self._stream = start_perf(self._perf, what)
            self._totals = dict.fromkeys(self.domains(), 0)
            yield _row(dict(self._totals))
            return
        readings = list(self._stream.readings())
        lost = {r.domain: None for r in readings if r.value is None and r.domain is not None}
        for reading in readings:
            if reading.domain is not None and reading.value is not None:
                total = self._totals.get(reading.domain, 0)
                self._totals[reading.domain] = total + _bytes(reading)
        if readings:
            yield _row({**self._totals, **lost})

    def close(self) -> None:
        if self._stream is not None:
            self._stream.end()


def _row(total_bytes: Mapping[str, int | None]) -> Row:
    """Return the row; None for a domain that was not counted since the row before."""
    return "samples/bandwidth.jsonl", {"total_bytes": total_bytes}


def _bytes(reading: CounterReading) -> int:
    return round((reading.value or 0.0) * _BYTES.get(reading.unit, _BYTES_PER_TRANSFER))


def uncore_events(sys: Path) -> tuple[str, ...]:
    """Return the memory controllers' read and write events, where the kernel has their counters."""
    devices = sys / "bus" / "event_source" / "devices"
    names = []
    for device in sorted(devices.glob("uncore_imc*")):
        names += [f"{device.name}/{n}/" for n in _OF_INTEL if (device / "events" / n).exists()]
    for device in sorted(devices.glob("nest_mcs*_imc")):
        events = sorted(file.name for file in device.glob(f"events/{_OF_POWER}"))
        # The unit and the scale of an event are files of their own.
        names += [f"{device.name}/{name}/" for name in events if "." not in name]
    return (*names, *_OF_AMD) if any(devices.glob("amd_umc*")) else tuple(names)


def _by_cache(sys: Path) -> dict[str, set[int]]:
    """Return the CPUs behind each last-level cache, named as resctrl names it (`mon_L3_00`)."""
    domains: dict[str, set[int]] = {}
    for index in sys.glob("devices/system/cpu/cpu[0-9]*/cache/index[0-9]*"):
        if (index / "level").read_text().strip() == "3" and (index / "id").is_file():
            name = f"L3:{int((index / 'id').read_text()):02}"
            domains.setdefault(name, set()).add(int(index.parent.parent.name[3:]))
    return domains


def _by_socket(sys: Path) -> dict[str, set[int]]:
    """Return the CPUs of each package, named as perf names it (`S0`)."""
    domains: dict[str, set[int]] = {}
    for file in sys.glob("devices/system/cpu/cpu[0-9]*/topology/physical_package_id"):
        name = f"S{int(file.read_text())}"
        domains.setdefault(name, set()).add(int(file.parent.parent.name[3:]))
    return domains
