"""`perf stat` beside each process: one stream for each, read without waiting.

Each event is tried on a process of our own before it is used: which events count depends on
processor, hypervisor, container and the kernel's perf_event_paranoid.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from hearth.measure.counters import Reading, parse_perf_line
from hearth.measure.probes.base import Probe, Roots, Row, Target
from hearth.model.processes import die_with

SOFTWARE = ("context-switches", "cpu-migrations", "page-faults")
_IN_THE_KERNEL = ("context-switches", "cpu-migrations")
HARDWARE = (
    *("cycles", "instructions", "branches", "branch-misses", "LLC-loads", "LLC-load-misses"),
    *("node-loads", "node-load-misses", "dTLB-loads", "dTLB-load-misses", "iTLB-load-misses"),
)
#: What the formulas of S4 read, by the names of Intel's processors since Skylake.
OF_INTEL = (
    *("l1d.replacement", "mem_load_retired.l2_hit", "mem_load_l3_miss_retired.local_dram"),
    "mem_load_l3_miss_retired.remote_dram",
)
#: Slots of Ice Lake and later; the group must be read as a whole, led by `slots` (perf-stat(1)).
TOPDOWN = (
    *("slots", "topdown-retiring", "topdown-bad-spec", "topdown-fe-bound", "topdown-be-bound"),
    "topdown-mem-bound",
)
_TRY_LIMIT_S = 20
_INTERVAL_MS = 1000


@dataclass(frozen=True)
class Tried:
    """Which events counted here, and why the others did not."""

    counted: tuple[str, ...]
    absent: dict[str, str]


def try_events(perf: str, events: Sequence[str]) -> Tried:
    """Counts each event over a short program; an event that perf does not know is absent too."""
    absent: dict[str, str] = {}
    counted = []
    known = list(events)
    told = _count(perf, known)
    if told is None:  # perf refuses the whole list for one name that it does not know
        singly = {event: _count(perf, [event]) for event in known}
        absent = {event: "unknown to perf here" for event, got in singly.items() if got is None}
        told = {event: got[event] for event, got in singly.items() if got and event in got}
    for event, reading in told.items():
        if reading.value is None:
            absent[event] = reading.absent or "no value"
        elif reading.event.endswith(":u") and event in _IN_THE_KERNEL:
            absent[event] = "happens in the kernel, of which perf may count nothing here"
        else:
            counted.append(event)
    return Tried(tuple(counted), absent)


def _count(perf: str, events: list[str]) -> dict[str, Reading] | None:
    # The interval is longer than the program, so there is one reading of each event.
    command = [perf, "stat", "-x,", "-I", "60000", "-e", ",".join(events), "--", *_busy()]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=_TRY_LIMIT_S,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    readings = [parse_perf_line(line) for line in done.stderr.splitlines()]
    found = {plain(reading.event): reading for reading in readings if reading and reading.event}
    return found or None


def _busy() -> list[str]:
    """Long enough for every event to get its turn on a counter."""
    return ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"]


def plain(event: str) -> str:
    """An event without the modifier that perf adds where it may count user code only (`:u`)."""
    return event.removesuffix(":u")


@dataclass
class _Stream:
    """A running `perf stat` of one process and what it has said so far."""

    process: subprocess.Popen[bytes]
    torn: bytes = b""
    previous_t: dict[str, float] = field(default_factory=dict)

    def readings(self) -> Iterator[Reading]:
        """What has come since; never waits."""
        assert self.process.stderr is not None
        while True:
            try:
                part = os.read(self.process.stderr.fileno(), 1 << 16)
            except BlockingIOError:
                break
            if not part:
                break
            self.torn += part
        *lines, self.torn = self.torn.split(b"\n")
        for line in lines:
            reading = parse_perf_line(line.decode(errors="replace"))
            if reading is not None:
                yield reading


class CountersProbe(Probe):
    """Hardware and software events of each JVM through one `perf stat` for each.

    Software events go to `samples/scheduler.jsonl`, hardware events to `samples/counters.jsonl`; a
    probe of either kind that cannot count is absent with the reason, never zero.
    """

    name = "counters"
    cost = "one perf process for each JVM; the kernel saves counters at each switch of a thread"

    def __init__(self, roots: Roots, perf: str | None = None) -> None:
        super().__init__(roots)
        self._perf = perf or shutil.which("perf")
        self._events: Sequence[str] | None = None
        self._streams: dict[Target, _Stream] = {}

    def use(self, events: Sequence[str]) -> None:
        """Takes events that were tried already, so that they are not tried twice."""
        self._events = events

    @cached_property
    def hardware(self) -> Tried:
        if self._perf is None:
            return Tried((), {})
        basic = try_events(self._perf, HARDWARE)
        if "cycles" not in basic.counted:
            return basic  # the processor's own events need the same counters
        events = self.roots.sys / "bus" / "event_source" / "devices" / "cpu" / "events"
        topdown = TOPDOWN if (events / "topdown-retiring").exists() else ()
        more = try_events(self._perf, (*OF_INTEL, *topdown))
        return Tried((*basic.counted, *more.counted), {**basic.absent, **more.absent})

    @cached_property
    def software(self) -> Tried:
        return try_events(self._perf, SOFTWARE) if self._perf else Tried((), {})

    def supported(self) -> str | None:
        """Hardware events; see `scheduler_supported` for the software events."""
        if self._perf is None:
            return "perf is not installed (Debian: apt-get install linux-perf)"
        if not self.hardware.counted:
            reasons = sorted(set(self.hardware.absent.values()))
            where = f"{self._perf} counts none of {len(HARDWARE)} hardware events here"
            return f"{where} ({', '.join(reasons)}): {self._why_not()}"
        return None

    def scheduler_supported(self) -> str | None:
        if self._perf is None:
            return "perf is not installed (Debian: apt-get install linux-perf)"
        if not self.software.counted:
            return f"{self._perf} counts no software event here: {self._why_not()}"
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

    def sample(self, targets: Sequence[Target]) -> Iterator[Row]:
        if self._events is None:
            self._events = (*self.software.counted, *self.hardware.counted)
        events = self._events
        jvms = {target for target in targets if target.role in ("driver", "executor")}
        for target in jvms - self._streams.keys():
            if events:
                self._streams[target] = _Stream(self._start(target, events))
        for target, stream in list(self._streams.items()):
            yield from (self._row(target, stream, reading) for reading in stream.readings())
            if target not in jvms:
                _end(self._streams.pop(target).process)

    def _start(self, target: Target, events: Sequence[str]) -> subprocess.Popen[bytes]:
        assert self._perf is not None
        counting = ["-I", str(_INTERVAL_MS), "-e", ",".join(events), "-p", str(target.pid)]
        process = subprocess.Popen(
            [self._perf, "stat", "-x,", *counting],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C"},
            preexec_fn=die_with(os.getpid()),  # noqa: PLW1509 - the sampler has one thread
        )
        assert process.stderr is not None
        os.set_blocking(process.stderr.fileno(), False)
        return process

    def _row(self, target: Target, stream: _Stream, reading: Reading) -> Row:
        event = plain(reading.event)
        began = stream.previous_t.get(event, 0.0)
        stream.previous_t[event] = reading.t
        row: dict[str, Any] = {
            **target.identity,
            "interval_s": round(reading.t - began, 3),
            "event": event,
            "value": reading.value,
            "unit": reading.unit,
            "running_share": reading.running_share,
        }
        if reading.absent is not None:
            row["absent"] = reading.absent
        kind = "scheduler" if event in SOFTWARE else "counters"
        return f"samples/{kind}.jsonl", row

    def close(self) -> None:
        for stream in self._streams.values():
            _end(stream.process)
        self._streams.clear()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    if process.stderr is not None:
        process.stderr.close()


def uncore_events(sys: Path) -> tuple[str, ...]:
    """Reads and writes of the memory controllers, where the kernel has their counters."""
    devices = sys / "bus" / "event_source" / "devices"
    found = []
    for device in sorted(devices.glob("uncore_imc*")):
        names = ("cas_count_read", "cas_count_write")
        found += [f"{device.name}/{n}/" for n in names if (device / "events" / n).exists()]
    return tuple(found)
