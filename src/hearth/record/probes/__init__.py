"""The probes: what can be seen of a run from outside, one module for each kind."""

from collections.abc import Sequence

from hearth.record.probes.bandwidth import BandwidthProbe
from hearth.record.probes.base import Probe, Roots
from hearth.record.probes.counters import CountersProbe
from hearth.record.probes.memory import MemoryProbe
from hearth.record.probes.process import ProcessProbe
from hearth.record.probes.system import SystemProbe
from hearth.record.probes.threads import ThreadProbe
from hearth.record.schema import ProbeStatus


def _probes(roots: Roots, *, deep: bool = False) -> list[Probe]:
    simple = (SystemProbe, ProcessProbe, MemoryProbe, ThreadProbe, BandwidthProbe)
    return [*(kind(roots) for kind in simple), CountersProbe(roots, deep=deep)]


def survey(roots: Roots, *, deep: bool = False) -> list[ProbeStatus]:
    """Return what each probe can do here, as recorded in `record.json`.

    deep: with levels 3 and 4 of top-down, which take counters from the others.
    """
    return [probe.survey() for probe in _probes(roots, deep=deep)]


def surveyed_probes(roots: Roots, rows: Sequence[ProbeStatus]) -> list[Probe]:
    """Return the probes that the survey of this run found to work; nothing is tried again."""
    working = {row.name: row for row in rows if row.status == "on"}
    probes = [probe for probe in _probes(roots) if probe.name in working]
    for probe in probes:
        probe.resume(working[probe.name])
    return probes
