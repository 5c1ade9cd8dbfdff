"""Read perf's output as values; and formulas of Awan 2016 that need no event of a processor's."""

import math
import re
from dataclasses import dataclass, replace

from hearth.base.codec import parse

#: Bounds of Awan's regions of memory latency, as shares of the sustained bandwidth.
LINEAR_FROM, EXPONENTIAL_FROM = 0.4, 0.8
#: Below this share of the time an event was counted, its extrapolation says little (our judgement).
LEAST_RUNNING_SHARE = 0.25
_DOMAIN = re.compile(r"[SN]\d+")
#: perf's own metrics of top-down, which are shares, in lower case: Intel; AMD (Zen 5, Zen 4); Arm.
PERF_METRICS: dict[str, tuple[str, ...]] = {
    "retiring": ("tma_retiring", "retiring"),
    "bad_speculation": ("tma_bad_speculation", "bad_speculation"),
    "front_end_bound": ("tma_frontend_bound", "frontend_bound"),
    "back_end_bound": ("tma_backend_bound", "backend_bound"),
    "smt_contention": ("smt_contention",),
    "memory_bound": ("tma_memory_bound", "backend_bound_by_memory", "backend_bound_memory"),
    "core_bound": ("tma_core_bound", "backend_bound_by_cpu", "backend_bound_cpu"),
    "memory share of the back end's stalls": ("backend_mem_bound",),
    # Level 2 besides, as shares of slots.
    "front_end_latency": (
        *("tma_fetch_latency", "frontend_bound_by_latency", "frontend_bound_latency"),
    ),
    "front_end_bandwidth": (
        *("tma_fetch_bandwidth", "frontend_bound_by_bandwidth", "frontend_bound_bandwidth"),
    ),
    "branch_mispredicts": (
        *("tma_branch_mispredicts", "bad_speculation_from_mispredicts"),
        "bad_speculation_mispredicts",
    ),
    "machine_clears": (
        *("tma_machine_clears", "bad_speculation_from_pipeline_restarts"),
        "bad_speculation_pipeline_restarts",
    ),
    "light_operations": ("tma_light_operations", "retiring_from_fastpath", "retiring_fastpath"),
    "heavy_operations": ("tma_heavy_operations", "retiring_from_microcode", "retiring_microcode"),
    # Levels 3 and 4, of Intel alone, as shares of cycles.
    "icache_misses": ("tma_icache_misses",),
    "itlb_misses": ("tma_itlb_misses",),
    "l1_bound": ("tma_l1_bound",),
    "l2_bound": ("tma_l2_bound",),
    "l3_bound": ("tma_l3_bound",),
    "dram_bound": ("tma_dram_bound",),
    "store_bound": ("tma_store_bound",),
    "ports_utilization": ("tma_ports_utilization",),
    "dtlb_overhead": ("tma_dtlb_load",),
    "memory_bandwidth_bound": ("tma_mem_bandwidth",),
    "memory_latency_bound": ("tma_mem_latency",),
    "ports_0": ("tma_ports_utilized_0",),
}
#: Of levels 3 and 4: shares of cycles, not of slots.
OF_CYCLES = (
    *("icache_misses", "itlb_misses", "l1_bound", "l2_bound", "l3_bound", "dram_bound"),
    *("store_bound", "ports_utilization", "dtlb_overhead", "memory_bandwidth_bound"),
    *("memory_latency_bound", "ports_0"),
)
#: perf's metrics that are shares of cycles.
CYCLE_METRICS = frozenset(name for key in OF_CYCLES for name in PERF_METRICS[key])
_KNOWN_METRICS = frozenset(name for names in PERF_METRICS.values() for name in names)
_NOT_COUNTED = {"<not counted>": "not counted", "<not supported>": "not supported"}


@dataclass(frozen=True)
class CounterReading:
    """One event in one interval, scaled by perf to the whole interval.

    value: None where it was not counted, `absent` says why. running_share: the part of the time for
    which the event had a counter; below 1 events took turns (multiplexing), and the value is perf's
    extrapolation. metric: perf's own metric (name, value) where the line has one. domain: `S0` or
    `N0` of a count by socket or node.
    """

    t: float
    event: str
    value: float | None
    unit: str
    running_share: float | None
    absent: str | None = None
    metric: tuple[str, float] | None = None
    domain: str | None = None


def parse_perf_line(line: str) -> CounterReading | None:
    """Return a line of `perf stat -I -x,` or `perf stat -I -j`.

    None for a comment, blank or torn line.
    """
    text = line.strip()
    if not text or text.startswith("#"):
        return None
    try:
        return _from_json(text) if text.startswith("{") else _from_csv(text)
    except (ValueError, KeyError, IndexError, TypeError):
        return None


def _from_csv(text: str) -> CounterReading:
    """Read perf-stat(1), CSV FORMAT: time, value, unit, event, runtime, share, metric, its unit.

    A further metric of the same event has blank fields before it. A count by socket or node has
    that and the number of counters behind the time.
    """
    fields = text.split(",")
    domain = fields[1] if _DOMAIN.fullmatch(fields[1]) else None
    if domain is not None:
        del fields[1:3]
    shown, unit, event = fields[1].strip(), fields[2], fields[3]
    share = float(fields[5]) / 100 if fields[5].strip() else None
    named = len(fields) > 7 and fields[6].strip() and fields[7].strip()
    metric = (fields[7].strip(), float(fields[6])) if named else None
    reading = _reading(float(fields[0]), event, shown, unit, share, metric)
    return replace(reading, domain=domain)


def _from_json(text: str) -> CounterReading:
    row = parse(text)
    named = row.get("metric-unit") and row.get("metric-value") is not None
    metric = (str(row["metric-unit"]), float(row["metric-value"])) if named else None
    share = row.get("pcnt-running")
    reading = _reading(
        float(row["interval"]),
        str(row.get("event", "")),
        str(row.get("counter-value", "")),
        str(row.get("unit", "")),
        None if share is None else float(share) / 100,
        metric,
    )
    return replace(reading, domain=row.get("socket") or row.get("node"))


def _reading(
    t: float,
    event: str,
    shown: str,
    unit: str,
    share: float | None,
    metric: tuple[str, float] | None,
) -> CounterReading:
    absent = _NOT_COUNTED.get(shown)
    value = float(shown) if shown and absent is None else None
    reported = metric[1] if metric is not None else 0.0
    if not all(math.isfinite(number) for number in (t, value or 0.0, share or 0.0, reported)):
        raise ValueError(f"{shown} is not a number")
    if absent is not None:
        return CounterReading(t, event, None, unit, None, absent)
    return CounterReading(t, event, value, unit, share, None if shown else "no value", metric)


def topdown_metric(reading: CounterReading) -> tuple[str, float] | None:
    """Return perf's own top-down metric of a line as (name, share); None where the line has
    another.

    perf writes its scale before the name: `%  tma_retiring`, `percent of slots  retiring`.
    """
    if reading.metric is None:
        return None
    *scale, name = reading.metric[0].lower().split() or [""]
    if name not in _KNOWN_METRICS or not math.isfinite(reading.metric[1]):
        return None
    per_cent = bool(scale) and scale[0].startswith(("%", "percent"))
    return name, reading.metric[1] / 100 if per_cent else reading.metric[1]


def share_of(part: float | None, whole: float | None) -> float | None:
    """Return part / whole; None where either is not known or there is no whole."""
    return None if part is None or not whole else part / whole


def smt_effectiveness(smt_scaling: float, dp_scaling: float) -> float:
    """Return smt_scaling x (0.538 + 0.462 / dp_scaling): Awan 2016, formula 3.

    Above 1 two threads pay. smt_scaling: speed-up of two threads a core over one. dp_scaling: of
    twice the cores.

    Raises ValueError where a scaling is not above zero.
    """
    if smt_scaling <= 0 or dp_scaling <= 0:
        raise ValueError(f"scalings {smt_scaling} and {dp_scaling}: both must be above zero")
    return smt_scaling * (0.538 + 0.462 / dp_scaling)


def peak_bandwidth(mt_s: float, channels: int) -> float:
    """Return GB/s of a socket with memory of so many MT/s of 8 bytes (Awan 2016, formula 6)."""
    if not (mt_s > 0 and channels > 0):
        raise ValueError(f"{mt_s} MT/s on {channels} channels: both must be above zero")
    return mt_s * 8 * channels / 1000


def bandwidth_region(used_gb_s: float, sustained_gb_s: float) -> str:
    """Return Awan's latency region: constant to 40 % of sustained, linear to 80 %, exponential."""
    if not (sustained_gb_s > 0 and math.isfinite(used_gb_s)):
        raise ValueError(f"{used_gb_s} of {sustained_gb_s} GB/s: no sustained bandwidth to compare")
    share = used_gb_s / sustained_gb_s
    if share < LINEAR_FROM:
        return "constant"
    return "linear" if share <= EXPONENTIAL_FROM else "exponential"
