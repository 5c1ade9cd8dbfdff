"""The memory bandwidth that a machine used during a run, by NUMA node, and Awan's regions of it.

Below 40 % of the sustained bandwidth memory latency is constant, up to 80 % it grows linearly,
above that exponentially (Awan 2016). The sustained bandwidth is that of hearth's own STREAM-like
kernel, `sustained_bandwidth` of the record.
"""

from collections.abc import Mapping
from typing import Any

from hearth.analysis.coverage import Coverage
from hearth.analysis.document import Bandwidth, NodeBandwidth, Regions, Series
from hearth.analysis.event_checks import numbers
from hearth.analysis.samples import SampleFile
from hearth.base.absent import Absent, Measured
from hearth.base.ids import parse_ids
from hearth.record.counters import bandwidth_region
from hearth.record.schema import RecordHead, SustainedBandwidth

REGIONS = ("constant", "linear", "exponential")


class Traffic:
    """Bytes to and from memory of one domain over time."""

    def __init__(self, step_ms: int) -> None:
        self._bytes = Coverage(0, step_ms)
        self._sampled = Coverage(0, step_ms)

    def add(self, start_s: float, end_s: float, count: int) -> None:
        """Take in what moved between two readings."""
        start_ms, end_ms = int(start_s * 1000), int(end_s * 1000)
        self._bytes.add(start_ms, end_ms, count / max(end_ms - start_ms, 1))
        self._sampled.add(start_ms, end_ms)

    def gb_s(self, count: int) -> list[float | None]:
        """Return GB/s (10^9 bytes) in each of `count` steps; None where nothing was sampled."""
        pairs = zip(self._bytes.covered_ms(), self._sampled.covered_ms(), strict=True)
        rates = [moved / sampled / 1e6 if sampled else None for moved, sampled in pairs]
        return rates[:count] + [None] * (count - len(rates))


def read_bandwidth(file: SampleFile, step_ms: int) -> dict[str, Traffic]:
    """Read samples/bandwidth.jsonl: the traffic of each domain, such as `L3:00` or `S0`.

    The counters are those of the machine, not of the run: the first reading counts nothing, nor
    does the one after a reading that says null.
    """
    domains: dict[str, Traffic] = {}
    before: dict[str, tuple[float, int]] = {}

    def take(row: dict[str, Any]) -> None:
        totals = row.get("total_bytes") or {}
        numbers(totals.values())
        for name, total in totals.items():
            time_s = row["t"]
            if total is None:
                before.pop(name, None)
                continue
            last_s, last = before.get(name, (time_s, total))
            before[name] = (time_s, total)
            if time_s > last_s and total >= last:
                domains.setdefault(name, Traffic(step_ms)).add(last_s, time_s, total - last)

    file.each(take)
    return domains


def by_node(
    domains: Mapping[str, Traffic], head: RecordHead, step_s: float, count: int
) -> Bandwidth:
    """Return the timeline's bandwidth: of each node (of several, `0,1`, where a domain spans them).

    head: the record's. A domain without CPUs in the record keeps its own name.
    """
    probe = head.probe("bandwidth")
    groups: dict[str, list[str]] = {}
    for domain in sorted(domains):
        cpus = ((probe and probe.domains) or {}).get(domain)
        groups.setdefault(_nodes(cpus, head) or domain, []).append(domain)
    sustained = head.sustained_bandwidth or Absent("the record holds none")
    return Bandwidth(
        source=(probe and probe.source) or "unknown",
        nodes={
            nodes: _of_group(nodes, [domains[d].gb_s(count) for d in named], sustained, step_s)
            for nodes, named in groups.items()
        },
    )


def _nodes(cpus: str | None, head: RecordHead) -> str | None:
    """Return the nodes to which some CPUs belong, `0` or `0,1`; None if unknown."""
    wanted = set(parse_ids(cpus)) if cpus else set()
    nodes = [n for n, ids in head.cpus_of_node.items() if wanted & set(parse_ids(ids))]
    return ",".join(sorted(nodes, key=int)) or None


def _of_group(
    nodes: str,
    series: list[list[float | None]],
    sustained: Measured[SustainedBandwidth],
    step_s: float,
) -> NodeBandwidth:
    used = [_sum(step) for step in zip(*series, strict=True)]
    gb_s: Series = [None if rate is None else round(rate, 3) for rate in used]
    most = _sustained(nodes, sustained)
    if isinstance(most, Absent):
        return NodeBandwidth(gb_s, sustained_gb_s=most, share=most, seconds=most)
    seconds = dict.fromkeys(REGIONS, 0.0)
    for rate in used:
        if rate is not None:
            seconds[bandwidth_region(rate, most)] += step_s
    return NodeBandwidth(
        gb_s,
        sustained_gb_s=round(most, 3),
        share=[None if rate is None else round(rate / most, 4) for rate in used],
        seconds=Regions(**{region: round(s, 3) for region, s in seconds.items()}),
    )


def _sum(rates: tuple[float | None, ...]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return sum(known) if len(known) == len(rates) else None


def _sustained(nodes: str, sustained: Measured[SustainedBandwidth]) -> Measured[float]:
    if isinstance(sustained, Absent):
        return sustained
    names = nodes.split(",")
    rates = [sustained.nodes[name].best_gb_s for name in names if name in sustained.nodes]
    if len(rates) < len(names) or min(rates) <= 0:
        return Absent(f"the sustained bandwidth of '{nodes}' was not measured")
    return float(sum(rates))
