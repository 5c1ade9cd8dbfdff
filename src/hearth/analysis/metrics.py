"""Derive metrics from counted events: top-down levels 1 and 2, and the formulas of Awan 2016.

Each metric names its events, its formula with the source, the least share of the time for which
one of the events had a counter, and the confidence that follows from it (see `confidence`).
Top-down comes from the first of: perf's own metrics of the processor (Intel `tma_*`, AMD's
pipeline utilization, Arm's topdown), slot events (Ice Lake and later), micro-operation events
(Sandy Bridge to Skylake), stall cycles (POWER, which counts no slots).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hearth.analysis.counter_samples import NO_VALUE, Count, Mean
from hearth.analysis.document import Metric
from hearth.base.absent import Absent, Measured
from hearth.record import counters

Confidence = Literal["high", "medium", "low"]
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
    "latency slots": ("topdown-fetch-lat",),
    "mispredicted slots": ("topdown-br-mispredict",),
    "heavy slots": ("topdown-heavy-ops",),
    "load stalls": ("cycle_activity.stalls_mem_any", "cycle_activity.stalls_ldm_pending"),
    "stalls past L1": ("cycle_activity.stalls_l1d_miss", "cycle_activity.stalls_l1d_pending"),
    "stalls past L2": ("cycle_activity.stalls_l2_miss", "cycle_activity.stalls_l2_pending"),
    "stalls past L3": ("cycle_activity.stalls_l3_miss",),
    "L3 hits": ("mem_load_uops_retired.llc_hit",),
    "L3 misses": ("mem_load_uops_retired.llc_miss",),
    "store stalls": ("exe_activity.bound_on_stores", "resource_stalls.sb"),
    "fetch stalls": ("icache_16b.ifdata_stall", "icache.ifetch_stall"),
    "second TLB hits": ("dtlb_load_misses.stlb_hit",),
    "page walk cycles": ("dtlb_load_misses.walk_active", "dtlb_load_misses.walk_duration"),
    "idle ports": ("exe_activity.exe_bound_0_ports", "cycle_activity.cycles_no_execute"),
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
#: Levels 2 to 4 besides, and the metrics of Awan's table V among them.
DEEPER = (
    *("front_end_latency", "front_end_bandwidth", "branch_mispredicts", "machine_clears"),
    *("light_operations", "heavy_operations", *counters.OF_CYCLES),
)
#: The last one only on AMD: slots that went to the core's other thread.
TOP_DOWN = (*LEVEL_ONE, "smt_contention", *LEVEL_TWO)


@dataclass(frozen=True)
class Formula:
    """A metric from events: what `compute` takes, in its order, and how the formula reads.

    latencies: it uses Awan's, of Ivy Bridge; for another processor they are an approximation.
    """

    name: str
    inputs: tuple[str, ...]
    compute: Callable[..., float | None]
    words: str
    source: str
    unit: str = "share of cycles"
    latencies: bool = False


def _level_one(field: str, ways: Callable[..., Any]) -> Callable[..., float | None]:
    def compute(*values: float) -> float | None:
        found = ways(*values)
        return None if found is None else float(getattr(found, field))

    return compute


def _memory_bound_of_slots(slots: float, *rest: float) -> float | None:
    return counters.share_of(rest[-1], slots)


def _core_bound_of_slots(slots: float, *rest: float) -> float | None:
    *level_one, memory = rest
    found = counters.topdown_one_of_slots(slots, *level_one)
    return None if found is None else max(0.0, found.back_end_bound - memory / slots)


def _of_uops(field: str) -> Callable[..., float | None]:
    def compute(*values: float) -> float | None:
        cycles, issued, retired, starved, recovery, memory, stalls = values
        found = counters.topdown_one_of_uops(cycles, issued, retired, starved, recovery)
        share = counters.share_of(memory, stalls)
        if found is None or share is None:
            return None
        two = counters.topdown_two(found.back_end_bound, min(share, 1.0))
        return None if two is None else float(getattr(two, field))

    return compute


def _stalled(*values: float) -> float | None:
    *stalls, cycles = values
    return counters.share_of(sum(stalls), cycles)


_S4 = (
    Formula("local_dram_bound", ("loads from local DRAM", "cycles"), counters.local_dram_bound,
            "130 x loads from local DRAM / cycles", "Awan 2016, formula 1", latencies=True),
    Formula("remote_dram_bound", ("loads from remote DRAM", "cycles"), counters.remote_dram_bound,
            "310 x loads from remote DRAM / cycles", "Awan 2016, formula 2", latencies=True),
    Formula("l1_miss_impact", ("L1 misses", "cycles"), counters.l1_miss_impact,
            "6 x L1 misses / cycles", "Awan 2016, formula 4", latencies=True),
    Formula("l2_hit_impact", ("L2 hits", "cycles"), counters.l2_hit_impact,
            "12 x L2 hits / cycles", "Awan 2016, formula 5", latencies=True),
    Formula("instructions_per_cycle", ("instructions", "cycles"),
            counters.instructions_per_cycle, "instructions / cycles", "Baig 2018",
            unit="instructions per cycle"),
)  # fmt: skip

#: Of a load that the second TLB answers, in cycles (A. Yasin: Ivy Bridge).
_SECOND_TLB_CYCLES = 7
#: How much longer memory takes than the last-level cache (A. Yasin: Ivy Bridge).
_MEMORY_TO_L3 = 7.0


def _less(*values: float) -> float | None:
    """Return (first - second) / third, at least 0."""
    one, other, whole = values
    return counters.share_of(max(one - other, 0.0), whole)


def _third_level(hits: float, misses: float) -> float:
    """Return the share of the stalls past the second level that the third level answers."""
    return counters.share_of(hits, hits + _MEMORY_TO_L3 * misses) or 0.0


def _deeper_formulas() -> tuple[Formula, ...]:
    """Return formulas for metrics that perf lacks: name, events, formula, its text."""
    cycles: tuple[tuple[str, tuple[str, ...], Callable[..., float | None], str], ...] = (
        ("l1_bound", ("load stalls", "stalls past L1", "cycles"), _less,
         "(stalls on loads - those past L1) / cycles"),
        ("l2_bound", ("stalls past L1", "stalls past L2", "cycles"), _less,
         "(stalls past L1 - past L2) / cycles"),
        ("l3_bound", ("stalls past L2", "stalls past L3", "cycles"), _less,
         "(stalls past L2 - past L3) / cycles"),
        ("l3_bound", ("stalls past L2", "L3 hits", "L3 misses", "cycles"),
         lambda s, h, m, c: counters.share_of(s * _third_level(h, m), c),
         "stalls past L2 x hits / (hits + 7 x misses) / cycles"),
        ("dram_bound", ("stalls past L3", "cycles"), counters.share_of, "stalls past L3 / cycles"),
        ("dram_bound", ("stalls past L2", "L3 hits", "L3 misses", "cycles"),
         lambda s, h, m, c: counters.share_of(s * (1 - _third_level(h, m)), c),
         "stalls past L2 x 7 x misses / (hits + 7 x misses) / cycles"),
        ("store_bound", ("store stalls", "cycles"), counters.share_of,
         "stalls on a full store buffer / cycles"),
        ("icache_misses", ("fetch stalls", "cycles"), counters.share_of,
         "stalls on fetching instructions / cycles"),
        ("dtlb_overhead", ("second TLB hits", "page walk cycles", "cycles"),
         lambda h, w, c: counters.share_of(_SECOND_TLB_CYCLES * h + w, c),
         "(7 x hits of the second TLB + cycles of page walks) / cycles"),
        ("ports_0", ("idle ports", "cycles"), counters.share_of,
         "cycles in which no port executes / cycles"),
    )  # fmt: skip
    slots: tuple[tuple[str, tuple[str, ...], Callable[..., float | None], str], ...] = (
        ("front_end_latency", ("latency slots", "slots"), counters.share_of,
         "latency slots / slots"),
        ("front_end_latency", ("cycles without delivery", "cycles"), counters.share_of,
         "cycles in which nothing was delivered / cycles"),
        ("front_end_bandwidth", ("front-end slots", "latency slots", "slots"), _less,
         "(front-end slots - latency slots) / slots"),
        ("front_end_bandwidth", ("not delivered", "cycles without delivery", "cycles"),
         lambda n, w, c: _less(n, 4 * w, 4 * c),
         "(slots not delivered - 4 x cycles in which nothing was) / (4 x cycles)"),
        ("branch_mispredicts", ("mispredicted slots", "slots"), counters.share_of,
         "mispredicted slots / slots"),
        ("machine_clears", ("bad speculation slots", "mispredicted slots", "slots"), _less,
         "(bad speculation slots - mispredicted) / slots"),
        ("heavy_operations", ("heavy slots", "slots"), counters.share_of, "heavy slots / slots"),
        ("light_operations", ("retiring slots", "heavy slots", "slots"), _less,
         "(retiring slots - heavy) / slots"),
    )  # fmt: skip
    return (
        *(Formula(*of, _YASIN) for of in cycles),
        *(Formula(*of, _YASIN, "share of slots") for of in slots),
    )


def _remote_of_loads(local: float, *remote: float) -> float | None:
    return counters.share_of(sum(remote), local + sum(remote))


_REMOTE = tuple(
    Formula("remote_loads", inputs, _remote_of_loads, "loads from remote memory / from any memory",
            source, "share of loads")
    for inputs, source in (
        (("loads from local DRAM", "loads from remote DRAM"), "hearth"),
        (("data from its own memory", "data from the node's other chips", "data from other nodes"),
         "Linux: pmu-events/arch/powerpc"),
    )
)  # fmt: skip

_SLOTS = ("slots", "retiring slots", "bad speculation slots", "front-end slots")
_UOPS = ("cycles", "issued", "retired", "not delivered", "recovery cycles")
_YASIN = "A. Yasin, ISPASS 2014"
_OF_SLOTS_WORDS = "slots of the kind / slots; the back end is the rest"
_OF_UOPS_WORDS = "micro-operations of the kind / (4 x cycles); the back end is the rest"
_POWER = "POWER's CPI stack"


def _topdown_formulas() -> tuple[Formula, ...]:
    """Return formulas by preference: slots, micro-operations, POWER's stalls."""
    found = []
    for name in LEVEL_ONE:
        slots = _level_one(name, counters.topdown_one_of_slots)
        uops = _level_one(name, counters.topdown_one_of_uops)
        found.append(Formula(name, _SLOTS, slots, _OF_SLOTS_WORDS, _YASIN, "share of slots"))
        found.append(Formula(name, _UOPS, uops, _OF_UOPS_WORDS, _YASIN, "share of slots"))
    memory = (*_SLOTS, "memory-bound slots")
    stalls = (*_UOPS, "memory stalls", "stalls")
    for name, of_slots in (("memory_bound", _memory_bound_of_slots),
                           ("core_bound", _core_bound_of_slots)):  # fmt: skip
        words = "memory-bound slots / slots; the core's are the rest of the back end"
        found.append(Formula(name, memory, of_slots, words, _YASIN, "share of slots"))
        words = "the back end, split by stalls that wait for memory / stalls"
        found.append(Formula(name, stalls, _of_uops(name), words, _YASIN, "share of slots"))
    power = (
        ("front_end_bound", ("front-end stalls",), "cycles in which nothing was dispatched"),
        ("back_end_bound", ("completion stalls",), "cycles in which completion stalled"),
        ("back_end_bound", ("issue stalls", "execution stalls", "finish stalls"),
         "cycles stalled in issue, execution and completion"),
        ("memory_bound", ("data cache stalls",), "cycles stalled for a miss of the data cache"),
    )  # fmt: skip
    found += [
        Formula(name, (*inputs, "cycles"), _stalled, f"{words} / cycles", _POWER)
        for name, inputs, words in power
    ]
    return tuple(found)


FORMULAS = (*_topdown_formulas(), *_deeper_formulas(), *_S4, *_REMOTE)
NAMES = tuple(
    dict.fromkeys([*TOP_DOWN, *(formula.name for formula in _S4), "remote_loads", *DEEPER])
)
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
    own = _by_perf(name, means)
    if own is not None:
        return own
    reasons = []
    for formula in FORMULAS:
        if formula.name == name:
            found = _by_formula(formula, events)
            if not isinstance(found, Absent):
                return found
            reasons.append(found.reason)
    if not reasons:
        whose = "AMD's own metrics" if name == "smt_contention" else "Intel's own metrics"
        return Absent(f"only {whose} have it")
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
    two = counters.topdown_two(back_end.value, min(share.value, 1.0))
    if two is None:
        return None
    return _perfs_own(getattr(two, name), ["backend_bound", _ARM_MEMORY], means)


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
    value = formula.compute(*(count.value for _, count in chosen))
    if value is None:
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
