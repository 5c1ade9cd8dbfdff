"""The probes: what can be seen of a run from outside, one module for each kind."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hearth.record.probes.bandwidth import BandwidthProbe
from hearth.record.probes.base import Probe, Roots
from hearth.record.probes.counters import CountersProbe
from hearth.record.probes.devices import DiskProbe, NetworkProbe
from hearth.record.probes.memory import MemoryProbe
from hearth.record.probes.process import ProcessProbe
from hearth.record.probes.system import SystemProbe
from hearth.record.probes.threads import ThreadProbe
from hearth.record.schema import ProbeStatus

_PROBES: tuple[type[Probe], ...] = (
    *(SystemProbe, ProcessProbe, MemoryProbe, ThreadProbe, NetworkProbe, DiskProbe),
    *(CountersProbe, BandwidthProbe),
)


def survey(roots: Roots, *, deep: bool = False) -> list[ProbeStatus]:
    """Return what each probe can do here, as recorded in `record.json`.

    deep: with levels 3 and 4 of top-down, which take counters from the others.
    """
    rows = []
    for kind in _PROBES:
        probe = CountersProbe(roots, deep=deep) if kind is CountersProbe else kind(roots)
        if isinstance(probe, CountersProbe):
            rows.append(
                _row("scheduler", probe, probe.scheduler_supported(), events=probe.software.counted)
            )
            reason = probe.supported()
            rows.append(
                _row(
                    probe.name,
                    probe,
                    reason,
                    events=probe.hardware.counted,
                    absent_events=probe.hardware.absent,
                    metric_group=None if reason else probe.metric_group,
                )
            )
        elif isinstance(probe, BandwidthProbe):
            rows.append(_bandwidth_row(probe))
        else:
            rows.append(_row(probe.name, probe, probe.supported()))
    return rows


def _bandwidth_row(probe: BandwidthProbe) -> ProbeStatus:
    """Return the probe's row with each domain's CPUs, from which a report derives NUMA nodes."""
    row = _row(probe.name, probe, probe.supported())
    if row.status == "absent":
        return row
    return replace(row, source=probe.source, domains=probe.domains())


def _row(name: str, probe: Probe, reason: str | None, **more: Any) -> ProbeStatus:
    return ProbeStatus(
        name=name,
        status="on" if reason is None else "absent",
        reason=reason,
        period_s=probe.least_period_s,
        more={"version": probe.version, "cost": probe.cost, **more},
    )


def surveyed_probes(roots: Roots, rows: Sequence[ProbeStatus]) -> list[Probe]:
    """Return the probes that the survey of this run found to work; nothing is tried again."""
    found = {row.name: row.more for row in rows if row.status == "on"}
    probes: list[Probe] = []
    for probe in (kind(roots) for kind in _PROBES):
        if isinstance(probe, CountersProbe):
            kinds = [found[name]["events"] for name in ("scheduler", "counters") if name in found]
            group = found.get("counters", {}).get("metric_group")
            probe.use([event for events in kinds for event in events], group)
            if kinds:
                probes.append(probe)
        elif probe.name in found:
            probes.append(probe)
    return probes
