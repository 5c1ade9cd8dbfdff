"""Derive metrics from counted events: top-down levels 1 and 2, and the formulas of Awan 2016.

Each metric names its events, its formula with the source, the least share of the time for which
one of the events had a counter, and the confidence that follows from it (see `confidence`).
Top-down comes from the first of: perf's own metrics of the processor (Intel `tma_*`, AMD's
pipeline utilization, Arm's topdown), slot events (Ice Lake and later), micro-operation events
(Sandy Bridge to Skylake), stall cycles (POWER, which counts no slots).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from hearth.analysis.counter_samples import NO_VALUE, Count, Mean
from hearth.analysis.document import Metric
from hearth.base.absent import Absent, Measured
from hearth.record import counters

Confidence = Literal["high", "medium", "low"]
Shares = dict[str, float]
#: Our judgement: above it an extrapolation adds little to what was counted.
HIGH_FROM = 0.8

#: What a formula reads, by the names that processors' events have in perf, the newest first.
EVENTS: dict[str, tuple[str, ...]] = {
    "cycles": ("cycles", "cpu_clk_unhalted.thread"),
    "instructions": ("instructions", "inst_retired.any"),
    "loads from local DRAM": (
        "mem_load_l3_miss_retired.local_dram",  # Skylake and later
        "mem_load_uops_l3_miss_retired.local_dram",  # Haswell, Broadwell
        "mem_load_uops_llc_miss_retired.local_dram",  # Sandy Bridge, Ivy Bridge: Awan's
        "ls_dmnd_fills_from_sys.dram_io_near",  # Zen 4
        "ls_dmnd_fills_from_sys.mem_io_local",  # Zen 3
    ),
    "loads from remote DRAM": (
        "mem_load_l3_miss_retired.remote_dram",
        "mem_load_uops_l3_miss_retired.remote_dram",
        "mem_load_uops_llc_miss_retired.remote_dram",
        "ls_dmnd_fills_from_sys.dram_io_far",
        "ls_dmnd_fills_from_sys.mem_io_remote",
    ),
    "L1 misses": ("mem_load_retired.l1_miss", "mem_load_uops_retired.l1_miss"),
    "L2 hits": (
        "mem_load_retired.l2_hit",
        "mem_load_uops_retired.l2_hit",
        "ls_dmnd_fills_from_sys.local_l2",
        "ls_dmnd_fills_from_sys.lcl_l2",
    ),
    "slots": ("slots",),
    "retiring slots": ("topdown-retiring",),
    "bad speculation slots": ("topdown-bad-spec",),
    "front-end slots": ("topdown-fe-bound",),
    "memory-bound slots": ("topdown-mem-bound",),
    "issued": ("uops_issued.any",),
    "retired": ("uops_retired.retire_slots",),
    "not delivered": ("idq_uops_not_delivered.core",),
    "recovery cycles": ("int_misc.recovery_cycles",),
    "memory stalls": ("cycle_activity.stalls_mem_any", "cycle_activity.stalls_ldm_pending"),
    "stalls": ("cycle_activity.stalls_total", "cycle_activity.cycles_no_execute"),
    "cycles without delivery": ("idq_uops_not_delivered.cycles_0_uops_deliv.core",),
    "data from its own memory": ("pm_data_from_lmem",),
    "data from the node's other chips": ("pm_data_from_rmem",),
    "data from other nodes": ("pm_data_from_dmem",),
    "front-end stalls": ("pm_disp_stall_cyc", "pm_ict_noslot_cyc", "pm_gct_noslot_cyc"),
    "completion stalls": ("pm_cmplu_stall",),  # POWER8, POWER9
    "data cache stalls": ("pm_cmplu_stall_dcache_miss",),
    "issue stalls": ("pm_issue_stall",),  # POWER10
    "execution stalls": ("pm_exec_stall",),
    "finish stalls": ("pm_cmpl_stall",),
}
#: Awan 2016 measured its latencies on a processor that has events of this name.
_OF_THE_STUDY = "llc_miss_retired"
LEVEL_ONE = ("retiring", "bad_speculation", "front_end_bound", "back_end_bound")
LEVEL_TWO = ("memory_bound", "core_bound")
#: Slots of a cycle on these processors.
_WIDTH = 4
#: Levels 2 to 4 besides, from perf's own metrics alone; those of Awan's table V are among them.
DEEPER = (
    *("front_end_latency", "front_end_bandwidth", "branch_mispredicts", "machine_clears"),
    *("light_operations", "heavy_operations", *counters.OF_CYCLES),
)
#: The last one only on AMD: slots that went to the core's other thread.
TOP_DOWN = (*LEVEL_ONE, "smt_contention", *LEVEL_TWO)


@dataclass(frozen=True)
class Formula:
    """A metric from events: what `compute` takes, in its order, and how the formula reads.

    compute: raises ZeroDivisionError where nothing was counted to divide by. latencies: it uses
    Awan's, of Ivy Bridge; for another processor they are an approximation.
    """

    name: str
    inputs: tuple[str, ...]
    compute: Callable[..., float]
    words: str
    source: str
    unit: str = "share of cycles"
    latencies: bool = False


def _of_slots(slots: float, retired: float, wasted: float, starved: float) -> Shares:
    """Return level 1 from slot counts, for Ice Lake and later (perf's `topdown-*` events)."""
    return _level_one(retired / slots, wasted / slots, starved / slots)


def _of_uops(
    cycles: float, issued: float, retired: float, starved: float, recovery: float
) -> Shares:
    """Return level 1 from micro-operations, for Sandy Bridge to Skylake (Yasin, ISPASS 2014)."""
    slots = _WIDTH * cycles
    wasted = max(0.0, (issued - retired + _WIDTH * recovery) / slots)
    return _level_one(retired / slots, wasted, starved / slots)


def _level_one(retiring: float, bad_speculation: float, front_end: float) -> Shares:
    """Add the back end: what the others leave, as rounding of the counters may add up to more."""
    back_end = max(0.0, 1.0 - retiring - bad_speculation - front_end)
    return dict(zip(LEVEL_ONE, (retiring, bad_speculation, front_end, back_end), strict=True))


def _level_two(back_end: float, memory_share: float) -> Shares:
    """Split the back end by the share of its stalls that wait for memory."""
    memory = back_end * min(memory_share, 1.0)
    return dict(zip(LEVEL_TWO, (memory, back_end - memory), strict=True))


def _two_of_slots(*counts: float) -> Shares:
    *level_one, memory = counts
    back_end, share = _of_slots(*level_one)["back_end_bound"], memory / counts[0]
    return dict(zip(LEVEL_TWO, (share, max(0.0, back_end - share)), strict=True))


def _two_of_uops(*counts: float) -> Shares:
    *level_one, memory, stalls = counts
    return _level_two(_of_uops(*level_one)["back_end_bound"], memory / stalls)


def _each(
    names: Sequence[str],
    inputs: tuple[str, ...],
    shares: Callable[..., Shares],
    words: str,
) -> Iterator[Formula]:
    """Yield a formula for each of some shares of slots that one function computes."""
    for name in names:

        def compute(*counts: float, name: str = name) -> float:
            return shares(*counts)[name]

        yield Formula(name, inputs, compute, words, "A. Yasin, ISPASS 2014", "share of slots")


def _latency(cycles_each: int) -> Callable[..., float]:
    return lambda loads, cycles: cycles_each * loads / cycles


def _remote_share(local: float, *remote: float) -> float:
    return sum(remote) / (local + sum(remote))


def _stalled(*counts: float) -> float:
    *stalls, cycles = counts
    return sum(stalls) / cycles


_SLOTS = ("slots", "retiring slots", "bad speculation slots", "front-end slots")
_UOPS = ("cycles", "issued", "retired", "not delivered", "recovery cycles")
#: By preference, those of one metric: slots, micro-operations, POWER's stalls.
_TOP_DOWN = (
    *_each(LEVEL_ONE, _SLOTS, _of_slots, "slots of the kind / slots; the back end is the rest"),
    *_each(
        LEVEL_ONE, _UOPS, _of_uops,
        "micro-operations of the kind / (4 x cycles); the back end is the rest",
    ),
    *_each(
        LEVEL_TWO, (*_SLOTS, "memory-bound slots"), _two_of_slots,
        "memory-bound slots / slots; the core's are the rest of the back end",
    ),
    *_each(
        LEVEL_TWO, (*_UOPS, "memory stalls", "stalls"), _two_of_uops,
        "the back end, split by stalls that wait for memory / stalls",
    ),
    *(
        Formula(name, (*inputs, "cycles"), _stalled, f"{words} / cycles", "POWER's CPI stack")
        for name, inputs, words in (
            ("front_end_bound", ("front-end stalls",), "cycles in which nothing was dispatched"),
            ("back_end_bound", ("completion stalls",), "cycles in which completion stalled"),
            ("back_end_bound", ("issue stalls", "execution stalls", "finish stalls"),
             "cycles stalled in issue, execution and completion"),
            ("memory_bound", ("data cache stalls",),
             "cycles stalled for a miss of the data cache"),
        )
    ),
)  # fmt: skip
#: Latencies in cycles are those of Ivy Bridge.
_OF_THE_STUDIES = (
    *(
        Formula(name, (of, "cycles"), _latency(cycles), f"{cycles} x {of} / cycles",
                f"Awan 2016, formula {number}", latencies=True)
        for name, of, cycles, number in (
            ("local_dram_bound", "loads from local DRAM", 130, 1),
            ("remote_dram_bound", "loads from remote DRAM", 310, 2),
            ("l1_miss_impact", "L1 misses", 6, 4),
            ("l2_hit_impact", "L2 hits", 12, 5),
        )
    ),
    Formula("instructions_per_cycle", ("instructions", "cycles"), _stalled,
            "instructions / cycles", "Baig 2018", "instructions per cycle"),
    *(
        Formula("remote_loads", inputs, _remote_share, "loads from remote memory / from any memory",
                source, "share of loads")
        for inputs, source in (
            (("loads from local DRAM", "loads from remote DRAM"), "hearth"),
            (("data from its own memory", "data from the node's other chips",
              "data from other nodes"), "Linux: pmu-events/arch/powerpc"),
        )
    ),
)  # fmt: skip
FORMULAS = (*_TOP_DOWN, *_OF_THE_STUDIES)
NAMES = tuple(dict.fromkeys([*TOP_DOWN, *(one.name for one in _OF_THE_STUDIES), *DEEPER]))
#: Of Arm's metric, which is a share of the back end's stalls and not of all slots.
_ARM_MEMORY = "backend_mem_bound"


def confidence(running_share: float | None, *, borrowed: bool = False) -> Confidence:
    """Return `high` from HIGH_FROM of the time counted, `medium` from LEAST_RUNNING_SHARE, else
    `low`.

    running_share: None if perf does not say: `low`. borrowed: the formula holds latencies of
    another processor, so it is `medium` at best.
    """
    if running_share is None or running_share < counters.LEAST_RUNNING_SHARE:
        return "low"
    return "high" if running_share >= HIGH_FROM and not borrowed else "medium"


def derive(events: Mapping[str, Count], means: Mapping[str, Mean]) -> dict[str, Measured[Metric]]:
    """Return every metric of NAMES from what was counted: its value with its origin."""
    return {name: _metric(name, events, means) for name in NAMES}


def added(processes: Iterable[tuple[str, Mapping[str, Count]]]) -> dict[str, Count]:
    """Return the events of several processes, each summed; absent where one of them lacks it."""
    named = list(processes)
    total: dict[str, Count] = {}
    for event in dict.fromkeys(event for _, events in named for event in events):
        parts = [(name, events.get(event) or Count()) for name, events in named]
        missing = next((pair for pair in parts if not pair[1].intervals), None)
        if missing is not None:
            reason = missing[1].absent or NO_VALUE
            total[event] = Count(absent=f"{reason} (executor {missing[0]})")
            continue
        total[event] = Count(
            sum(part.value for _, part in parts),
            parts[0][1].unit,
            sum(part.intervals for _, part in parts),
            min(part.least_running_share for _, part in parts),
        )
    return total


def averaged(processes: Iterable[Mapping[str, Mean]]) -> dict[str, Mean]:
    """Return perf's metrics of several processes: means weighed with each one's cycles."""
    total: dict[str, Mean] = {}
    for means in processes:
        for name, mean in means.items():
            total.setdefault(name, Mean()).join(mean)
    return total


def _metric(name: str, events: Mapping[str, Count], means: Mapping[str, Mean]) -> Measured[Metric]:
    of_perf = _by_perf(name, means)
    if of_perf is not None:
        return of_perf
    reasons = []
    for formula in FORMULAS:
        if formula.name == name:
            metric = _by_formula(formula, events)
            if not isinstance(metric, Absent):
                return metric
            reasons.append(metric.reason)
    if not reasons:
        return Absent("only perf's own metrics of some processors have it")
    return Absent(min(reasons, key=lambda reason: "was tried" in reason))


def _by_perf(name: str, means: Mapping[str, Mean]) -> Metric | None:
    known = counters.PERF_METRICS.get(name, ())
    metric = next((metric for metric in known if metric in means), None)
    if metric is None or means[metric].value is None:
        return _by_arm(name, means)
    unit = "share of cycles" if name in counters.OF_CYCLES else "share of slots"
    return _perfs_own(float(means[metric].value or 0.0), [metric], means, unit)


def _by_arm(name: str, means: Mapping[str, Mean]) -> Metric | None:
    """Return level 2 on Arm, where perf gives the share of the back end's stalls."""
    back_end, share = means.get("backend_bound"), means.get(_ARM_MEMORY)
    if name not in LEVEL_TWO or back_end is None or share is None:
        return None
    if back_end.value is None or share.value is None:
        return None
    value = _level_two(back_end.value, share.value)[name]
    return _perfs_own(value, ["backend_bound", _ARM_MEMORY], means)


def _perfs_own(
    value: float, metrics: list[str], means: Mapping[str, Mean], unit: str = "share of slots"
) -> Metric:
    shares = [means[metric].least_running_share for metric in metrics]
    known = [share for share in shares if share is not None]
    least = min(known) if len(known) == len(shares) else None
    words = "perf's own metric of this processor, mean over intervals weighed with cycles"
    return Metric(
        value=round(value, 5), unit=unit, events=metrics, least_running_share=least,
        confidence=confidence(least), formula=words, source="perf",
    )  # fmt: skip


def _by_formula(formula: Formula, events: Mapping[str, Count]) -> Measured[Metric]:
    chosen: list[tuple[str, Count]] = []
    for name in formula.inputs:
        there = [(event, events[event]) for event in EVENTS[name] if event in events]
        counted = [pair for pair in there if pair[1].intervals]
        if not counted:
            return Absent(_why_not(name, there))
        chosen.append(counted[0])
    try:
        value = formula.compute(*(count.value for _, count in chosen))
    except ZeroDivisionError:
        return Absent("no cycles or slots were counted")
    least = min(count.least_running_share for _, count in chosen)
    borrowed = formula.latencies and not any(_OF_THE_STUDY in event for event in events)
    return Metric(
        value=round(value, 5), unit=formula.unit, events=[event for event, _ in chosen],
        least_running_share=least, confidence=confidence(least, borrowed=borrowed),
        formula=formula.words, source=formula.source,
    )  # fmt: skip


def _why_not(name: str, there: list[tuple[str, Count]]) -> str:
    if there:
        event, count = there[0]
        return f"{event}: {count.absent or NO_VALUE}"
    return f"{name}: none of its events was tried or known ({', '.join(EVENTS[name][:2])})"
