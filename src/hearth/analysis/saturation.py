"""How near a run came to the memory bandwidth that its machine sustains."""

import re
import statistics

from hearth.analysis.document import Analysis, Bandwidth
from hearth.analysis.findings import OTHER_LOAD_SHARE, other_load
from hearth.base.absent import Absent, Measured, known
from hearth.machine.plan import RecordedBandwidth

_UNCOUNTED = Absent("no sample of the bandwidth")


def mean_gb_s(bandwidth: Measured[Bandwidth]) -> Measured[float]:
    """Return GB/s of the whole machine, mean over the run."""
    if isinstance(bandwidth, Absent):
        return bandwidth
    rates = [[one for one in node.gb_s if one is not None] for node in bandwidth.nodes.values()]
    return sum(map(statistics.fmean, rates)) if all(rates) else _UNCOUNTED


def bandwidth_share(analysis: Analysis) -> Measured[float]:
    """Return the share of the sustained memory bandwidth that a run used on average."""
    used, sustained = mean_gb_s(analysis.timeline.bandwidth), _sustained(analysis)
    if isinstance(used, Absent):
        return used
    return sustained if isinstance(sustained, Absent) else used / sum(sustained)


def own_bandwidth_share(analysis: Analysis) -> Measured[float]:
    """Return the same, at most 1, of a run that was alone: the counters are the machine's."""
    if (other_load(analysis) or 0.0) > OTHER_LOAD_SHARE:
        return Absent("other programs used CPUs meanwhile, and memory is counted for all together")
    share = bandwidth_share(analysis)
    return share if isinstance(share, Absent) else min(share, 1.0)


def recorded_bandwidth(analysis: Analysis) -> Measured[RecordedBandwidth]:
    """Return what a second of CPU time moved, and what a node sustains, on average."""
    share, sustained = own_bandwidth_share(analysis), _sustained(analysis)
    if isinstance(share, Absent):
        return share
    stages = [] if isinstance(analysis.stages, Absent) else analysis.stages
    if any(re.search("Python|Pandas|Arrow", " ".join(one.operators)) for one in stages):
        return Absent("Python workers ran, whose CPU time is not told apart")
    cpu_s = sum(use.cpu_s or 0.0 for use in known(one.use for one in analysis.executors))
    if isinstance(sustained, Absent) or not share or not cpu_s:
        return Absent("no CPU time of its JVMs, or no traffic of memory, was sampled")
    moved = share * sum(sustained) * analysis.record.wall_s
    return RecordedBandwidth(moved / cpu_s, statistics.fmean(sustained))


def _sustained(analysis: Analysis) -> Measured[list[float]]:
    """Return GB/s of each NUMA node; of those that are counted together, the mean of each."""
    bandwidth = analysis.timeline.bandwidth
    rates: list[float] = []
    nodes = {} if isinstance(bandwidth, Absent) else bandwidth.nodes
    for names, node in nodes.items():
        if isinstance(node.sustained_gb_s, Absent):
            return node.sustained_gb_s
        number = len(names.split(","))
        rates += [node.sustained_gb_s / number] * number
    return rates or _UNCOUNTED
