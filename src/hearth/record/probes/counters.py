"""Hardware events of each JVM, and perf's own top-down metrics of the processor.

Which events a processor has, and under which names perf knows them, is tried before a run.
"""

import shutil
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from hearth.record.counters import CYCLE_METRICS, CounterReading, topdown_metric
from hearth.record.probes.base import Probe, Roots, Row, SampledProcess
from hearth.record.probes.perf import (
    PerfStat,
    Tried,
    listed,
    plain,
    start_perf,
    try_events,
    try_generations,
    try_metrics,
)
from hearth.record.schema import ProbeStatus

HARDWARE = (
    *("cycles", "instructions", "branches", "branch-misses", "LLC-loads", "LLC-load-misses"),
    *("node-loads", "node-load-misses", "dTLB-loads", "dTLB-load-misses", "iTLB-load-misses"),
)
#: What the formulas of Awan 2016 read, by processor generation, the newest first; the first whose
#: names perf knows here is used. Intel since Skylake; Haswell, Broadwell; Sandy and Ivy Bridge.
OF_S4 = (
    (
        *("mem_load_retired.l1_miss", "mem_load_retired.l2_hit"),
        *("mem_load_l3_miss_retired.local_dram", "mem_load_l3_miss_retired.remote_dram"),
    ),
    (
        *("mem_load_uops_retired.l1_miss", "mem_load_uops_retired.l2_hit"),
        "mem_load_uops_l3_miss_retired.local_dram",
        "mem_load_uops_l3_miss_retired.remote_dram",
    ),
    (
        *("mem_load_uops_retired.l1_miss", "mem_load_uops_retired.l2_hit"),
        "mem_load_uops_llc_miss_retired.local_dram",
        "mem_load_uops_llc_miss_retired.remote_dram",
    ),
    # AMD: Zen 4 and later; Zen 3.
    (
        *("ls_dmnd_fills_from_sys.local_l2", "ls_dmnd_fills_from_sys.dram_io_near"),
        "ls_dmnd_fills_from_sys.dram_io_far",
    ),
    (
        *("ls_dmnd_fills_from_sys.lcl_l2", "ls_dmnd_fills_from_sys.mem_io_local"),
        "ls_dmnd_fills_from_sys.mem_io_remote",
    ),
    # POWER8 and POWER9: the chip's own memory, another chip's of the node, another node's.
    ("pm_data_from_lmem", "pm_data_from_rmem", "pm_data_from_dmem"),
)
#: perf's own groups of metrics: Intel, with level 2; Arm; Intel or Arm without it; AMD.
METRIC_GROUPS = (
    *("TopdownL1,TopdownL2", "TopdownL1,Topdown_Backend", "TopdownL1"),
    *("PipelineL1,PipelineL2", "PipelineL1"),
)
#: The same with levels 3 and 4, for the runs of a study: more events take turns on the counters.
DEEP_METRIC_GROUPS = ("TopdownL1,TopdownL2,TopdownL3,TopdownL4", *METRIC_GROUPS)
#: For a perf without these groups. Slots of Ice Lake and later are read as one group, led by
#: `slots` (perf-stat(1)); Sandy Bridge to Skylake; POWER10, POWER9, POWER8 (Linux names them in
#: tools/perf/pmu-events/arch/powerpc).
TOP_DOWN = (
    (
        *("slots", "topdown-retiring", "topdown-bad-spec", "topdown-fe-bound"),
        *("topdown-be-bound", "topdown-mem-bound"),
    ),
    ("slots", "topdown-retiring", "topdown-bad-spec", "topdown-fe-bound", "topdown-be-bound"),
    (
        *("uops_issued.any", "uops_retired.retire_slots", "idq_uops_not_delivered.core"),
        *("int_misc.recovery_cycles", "cycle_activity.stalls_mem_any"),
        "cycle_activity.stalls_total",
    ),
    (
        *("uops_issued.any", "uops_retired.retire_slots", "idq_uops_not_delivered.core"),
        *("int_misc.recovery_cycles", "cycle_activity.stalls_ldm_pending"),
        "cycle_activity.cycles_no_execute",
    ),
    ("pm_disp_stall_cyc", "pm_issue_stall", "pm_exec_stall", "pm_cmpl_stall"),
    ("pm_ict_noslot_cyc", "pm_cmplu_stall", "pm_cmplu_stall_dcache_miss"),
    ("pm_gct_noslot_cyc", "pm_cmplu_stall", "pm_cmplu_stall_dcache_miss"),
)


class CountersProbe(Probe):
    """Hardware events of each JVM through one `perf stat` for each.

    An event that cannot be counted is absent with the reason, never zero.
    """

    name = "counters"
    cost = "one perf process for each JVM; the kernel saves counters at each switch of a thread"

    def __init__(self, roots: Roots, perf: str | None = None, *, deep: bool = False) -> None:
        """deep: levels 3 and 4 of top-down too."""
        super().__init__(roots)
        self._perf = perf or shutil.which("perf")
        self._deep = deep
        self._events: Sequence[str] | None = None
        self._metrics: str | None = None
        self._streams: dict[SampledProcess, PerfStat] = {}

    def tried(self) -> dict[str, Any]:
        group = self.metric_group if self.hardware.counted else None
        return {
            "events": self.hardware.counted,
            "absent_events": self.hardware.absent,
            "metric_group": group,
        }

    def resume(self, status: ProbeStatus) -> None:
        self.use(status.more["events"], status.more.get("metric_group"))

    def use(self, events: Sequence[str], metric_group: str | None = None) -> None:
        """Take what was tried already, so that it is not tried twice."""
        self._events, self._metrics = events, metric_group

    @cached_property
    def hardware(self) -> Tried:
        if self._perf is None:
            return Tried((), {})
        basic = try_events(self._perf, HARDWARE)
        if "cycles" not in basic.counted:
            return basic  # the processor's own events need the same counters
        of_s4 = try_generations(self._perf, OF_S4)
        has_metrics = self.metric_group is not None
        topdown = Tried((), {}) if has_metrics else try_generations(self._perf, TOP_DOWN)
        tried = (basic, of_s4, topdown)
        counted = dict.fromkeys(event for one in tried for event in one.counted)
        absent = {event: why for one in tried for event, why in one.absent.items()}
        return Tried(tuple(counted), absent)

    @cached_property
    def metric_group(self) -> str | None:
        """perf's own top-down metrics of this processor, where it has them."""
        groups = DEEP_METRIC_GROUPS if self._deep else METRIC_GROUPS
        return try_metrics(self._perf, groups) if self._perf else None

    def supported(self) -> str | None:
        if self._perf is None:
            return "perf is not installed (Debian: apt-get install linux-perf)"
        if not self.hardware.counted:
            reasons = sorted(set(self.hardware.absent.values()))
            where = f"{self._perf} counts none of {len(HARDWARE)} hardware events here"
            return f"{where} ({', '.join(reasons)}): {self._why_not()}"
        return None

    def _why_not(self) -> str:
        info = self.roots.proc / "cpuinfo"
        if info.is_file() and " hypervisor" in info.read_text(errors="replace"):
            return "this is a virtual machine without a virtual performance counter unit"
        paranoid = self.roots.proc / "sys" / "kernel" / "perf_event_paranoid"
        level = paranoid.read_text().strip() if paranoid.is_file() else "unknown"
        return (
            f"kernel.perf_event_paranoid is {level}; 'sysctl kernel.perf_event_paranoid=1' allows"
        )

    def sample(self, targets: Sequence[SampledProcess]) -> Iterator[Row]:
        if self._events is None:
            self._events = self.hardware.counted
            self._metrics = self.metric_group if self.hardware.counted else None
        events = self._events
        jvms = {target for target in targets if target.role in ("driver", "executor")}
        for target in jvms - self._streams.keys():
            if events:
                self._streams[target] = self._start(target, events)
        for target, stream in list(self._streams.items()):
            for reading in stream.readings():
                yield from self._rows(target, stream, reading)
            if target not in jvms:
                self._streams.pop(target).end()

    def _start(self, target: SampledProcess, events: Sequence[str]) -> PerfStat:
        assert self._perf is not None
        metrics = ["-M", self._metrics] if self._metrics else []
        return start_perf(self._perf, ["-e", listed(events), *metrics, "-p", str(target.pid)])

    def _rows(
        self, target: SampledProcess, stream: PerfStat, reading: CounterReading
    ) -> Iterator[Row]:
        """Yield a line's event, and its metric where that is one of top-down."""
        event, share = plain(reading.event), stream.running_share(reading)
        interval_s = stream.interval_s(event, reading.t)
        head = {**target.identity, "interval_s": interval_s}
        if event and interval_s > 0:  # a metric may count what is counted already: once is enough
            row = {**head, "event": event, "value": reading.value, "unit": reading.unit}
            row["running_share"] = reading.running_share
            if reading.absent is not None:
                row["absent"] = reading.absent
            yield "samples/counters.jsonl", row
        metric = topdown_metric(reading)
        if metric is not None:
            unit = "share of cycles" if metric[0] in CYCLE_METRICS else "share of slots"
            metric_fields = {"metric": metric[0], "value": metric[1], "unit": unit}
            yield "samples/counters.jsonl", {**head, **metric_fields, "running_share": share}

    def close(self) -> None:
        for stream in self._streams.values():
            stream.end()
        self._streams.clear()
