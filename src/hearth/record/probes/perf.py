"""Run `perf stat`: try what it counts here, and read a running one without waiting.

Each event is tried on a process of our own before it is used: which events count depends on
processor, hypervisor, container and the kernel's perf_event_paranoid.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hearth.base.processes import die_with
from hearth.record.counters import CounterReading, parse_perf_line, topdown_metric

_TRY_LIMIT_S = 20
_INTERVAL_MS = 1000
_LONGEST = 1 << 20


@dataclass(frozen=True)
class Tried:
    """Which events counted here, and why the others did not."""

    counted: tuple[str, ...]
    absent: dict[str, str]


def try_events(perf: str, events: Sequence[str]) -> Tried:
    """Count each event over a short program; an event that perf does not know is absent too."""
    absent: dict[str, str] = {}
    counted = []
    known = list(events)
    by_event = _count(perf, known)
    if by_event is None:  # perf refuses the whole list for one name that it does not know
        singly = {event: _count(perf, [event]) for event in known}
        absent = {event: "unknown to perf here" for event, got in singly.items() if got is None}
        by_event = {event: got[event] for event, got in singly.items() if got and event in got}
    for event, reading in by_event.items():
        if reading.value is None:
            absent[event] = reading.absent or "no value"
        else:
            counted.append(event)
    return Tried(tuple(counted), absent)


def try_generations(perf: str, generations: Sequence[Sequence[str]]) -> Tried:
    """Return the first set of events whose names perf knows here.

    Which of them count is tried too.
    """
    for events in generations:
        by_event = _count(perf, list(events))
        if by_event is not None:
            return try_events(perf, events)
    return Tried((), {events[0]: "unknown to perf here" for events in generations})


def try_metrics(perf: str, groups: Sequence[str]) -> str | None:
    """Return the first of perf's groups of metrics that gives a share of top-down here.

    A perf that has no such group counts its default events instead, and gives none.
    """
    for group in groups:
        readings = read_once(perf, ["-M", group])
        if any(topdown_metric(reading) for reading in readings):
            return group
    return None


def _count(perf: str, events: list[str]) -> dict[str, CounterReading] | None:
    readings = read_once(perf, ["-e", listed(events)])
    by_event = {plain(reading.event): reading for reading in readings if reading.event}
    return by_event or None


def read_once(perf: str, what: Sequence[str]) -> list[CounterReading]:
    """Read one `perf stat` over a short program; nothing if it takes too long."""
    # The interval is longer than the program, so there is one reading of each event.
    try:
        done = subprocess.run(
            [perf, "stat", "-x,", "-I", "60000", *what, "--", *_busy()],
            capture_output=True,
            text=True,
            timeout=_TRY_LIMIT_S,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired:
        return []
    readings = (parse_perf_line(line) for line in done.stderr.splitlines())
    return [reading for reading in readings if reading is not None]


def listed(events: Sequence[str]) -> str:
    """Return the argument of `-e`: top-down slots form a group led by `slots` (perf-stat(1))."""
    slots = [event for event in events if event == "slots" or event.startswith("topdown-")]
    others = [event for event in events if event not in slots]
    group = ["{" + ",".join(slots) + "}"] if "slots" in slots else slots
    return ",".join([*others, *group])


def _busy() -> list[str]:
    """Return a command that runs long enough for every event to get its turn on a counter."""
    return ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"]


def plain(event: str) -> str:
    """Strip the modifier that perf adds to an event if it may only count user code (`:u`)."""
    return event.removesuffix(":u")


def start_perf(perf: str, what: Sequence[str]) -> "PerfStat":
    """Start a `perf stat -I` that runs until it is ended or this process dies."""
    process = subprocess.Popen(
        [perf, "stat", "-x,", "-I", str(_INTERVAL_MS), *what],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "LC_ALL": "C"},
        preexec_fn=die_with(os.getpid()),  # noqa: PLW1509 - the sampler has one thread
    )
    assert process.stderr is not None
    os.set_blocking(process.stderr.fileno(), False)
    return PerfStat(process)


@dataclass
class PerfStat:
    """A running `perf stat` and what it has said so far."""

    process: subprocess.Popen[bytes]
    torn: bytes = b""
    previous_t: dict[str, float] = field(default_factory=dict)
    last_share: float | None = None

    def readings(self) -> Iterator[CounterReading]:
        """Yield what has come since, without waiting."""
        assert self.process.stderr is not None
        while True:
            try:
                part = os.read(self.process.stderr.fileno(), 1 << 16)
            except BlockingIOError:
                break
            if not part:
                break
            self.torn += part
        *lines, self.torn = self.torn[-_LONGEST:].split(b"\n")
        for line in lines:
            reading = parse_perf_line(line.decode(errors="replace"))
            if reading is not None:
                yield reading

    def interval_s(self, event: str, t: float) -> float:
        """Return how long the interval was that ends at t, of this event."""
        began = self.previous_t.get(event, 0.0)
        if t > began:
            self.previous_t[event] = t
        return round(t - began, 3)

    def running_share(self, reading: CounterReading) -> float | None:
        """Return the running share of a line's event.

        A metric's further lines inherit the one before.
        """
        if reading.event or reading.running_share is not None:
            self.last_share = reading.running_share
        return self.last_share

    def end(self) -> None:
        """End perf, and waits until it has gone."""
        self.process.kill()
        self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()
