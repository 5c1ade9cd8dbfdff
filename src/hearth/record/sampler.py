"""The process that samples a run; `hearth.spark.sampling` starts it.

One thread does everything. A probe whose samples are costly is sampled less often, so that each
stays within its budget of one CPU. Standard input is the owner's hold on it: `end` and the sampler
takes a last sample; if it closes without that (the owner was killed), it also ends the driver and
its descendants.
"""

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hearth.base.processes import is_alive
from hearth.base.redaction import Redaction
from hearth.record.discovery import ObservedProcess, ProcessFinder
from hearth.record.gc_copy import GcLogCopies
from hearth.record.probes import surveyed_probes
from hearth.record.probes.base import Probe, Roots, Row, SampledProcess
from hearth.record.probes.schedstat import allow_many_files
from hearth.record.store import RecordWriter

PERIOD_S = 1.0
#: The exit code of a sampler that could not write all that it saw.
ROWS_LOST = 74
_DRIVER_GRACE_S = 20.0
_ORPHAN_GRACE_S = 2.0
_STANDARD_INPUT = 0


@dataclass
class Schedule:
    """The schedule of a probe; its period grows with the CPU seconds that its samples cost."""

    probe: Probe
    period_s: float
    due: float = 0.0
    samples: int = 0
    cpu_s: float = 0.0

    def after(self, cost_s: float, now: float) -> bool:
        """Take account of a sample; return whether the period has changed by much."""
        self.samples += 1
        self.cpu_s += cost_s
        wanted = max(self.probe.least_period_s, cost_s / self.probe.budget_share)
        before = self.period_s
        # A costly sample counts at once; a cheap one after it brings the period back slowly.
        self.period_s = wanted if wanted > before else max(wanted, before * 0.9)
        self.due = now + self.period_s
        return not 0.8 < self.period_s / before < 1.25


class Sampler:
    """Finds the processes, asks each probe that is due, appends what it says."""

    def __init__(self, writer: RecordWriter, driver: int, roots: Roots) -> None:
        self._writer = writer
        redaction = Redaction.of(writer.head.configuration)
        self.finder = ProcessFinder(roots.proc, driver, writer.directory.name, redaction)
        probes = surveyed_probes(roots, writer.head.probes)
        self._schedules = [Schedule(probe, probe.least_period_s) for probe in probes]
        self._finding = 0.0
        self._copies = GcLogCopies(roots.proc, writer.directory, writer.lose, writer.warn)
        self._refused: set[tuple[str, int]] = set()
        self._strangers: set[int] = set()

    def step(self, *, all_of_them: bool = False) -> None:
        """Sample once: find the processes, then run each probe that is due."""
        began = time.thread_time()
        for row in self.finder.scan():
            self._writer.append("processes.jsonl", row)
        self._name_strangers()
        self._copies.follow(self.finder.known.values())
        self._finding += time.thread_time() - began
        now = time.monotonic()
        targets = self.finder.targets
        for schedule in self._schedules:
            if all_of_them or now >= schedule.due:
                self._ask(schedule, targets)

    def _name_strangers(self) -> None:
        for pid in sorted(self.finder.strangers - self._strangers):
            self._strangers.add(pid)
            what = f"process {pid} carries this record's id but is another user's"
            self._writer.warn(what, "it is left out: run hearth as the user of the executors")

    def _ask(self, schedule: Schedule, targets: list[SampledProcess]) -> None:
        began, t = time.thread_time(), self._writer.now_s()
        rows = 0
        for file, row in self._answers(schedule.probe, targets):
            self._writer.append(file, row, t)
            rows += 1
        if not rows:
            return  # nothing to sample yet, as before the JVM is there: ask again in the next round
        if schedule.after(time.thread_time() - began, time.monotonic()):
            self._tell_cost(schedule)

    def _answers(self, probe: Probe, targets: list[SampledProcess]) -> Iterator[Row]:
        """Sample memory by process, so that an unreadable one does not hide the others."""
        groups = [[target] for target in targets] if probe.name == "memory" else [targets]
        for group in groups:
            try:
                yield from probe.sample(group)
            except PermissionError as error:
                self._refuse(probe.name, group[0].pid if group else 0, error)

    def _refuse(self, probe: str, pid: int, error: PermissionError) -> None:
        if (probe, pid) not in self._refused:
            self._refused.add((probe, pid))
            what = f"the probe '{probe}' may not read {error.filename}"
            self._writer.warn(what, "run hearth as the user of that process, or as root")

    def _tell_cost(self, schedule: Schedule) -> None:
        row = {"probe": schedule.probe.name, "period_s": round(schedule.period_s, 2)}
        row |= {"samples": schedule.samples, "cpu_s": round(schedule.cpu_s, 4)}
        self._writer.append("samples/cost.jsonl", row)

    def close(self) -> None:
        """Sample a last time, then record what each probe has cost."""
        self.step(all_of_them=True)
        for schedule in self._schedules:
            schedule.probe.close()
            self._tell_cost(schedule)
        total = {"probe": "finding", "period_s": PERIOD_S, "cpu_s": round(self._finding, 4)}
        self._writer.append("samples/cost.jsonl", total)
        whole = {"probe": "sampler", "cpu_s": round(time.process_time(), 4)}
        self._writer.append("samples/cost.jsonl", whole)


def main(record: Path, driver_pid: int) -> int:
    """Sample until standard input says `end` or closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for the application
    allow_many_files()
    writer = RecordWriter.open(record)
    sampler = Sampler(writer, driver_pid, Roots())
    received = b""
    next_round = time.monotonic()
    while True:
        sampler.step()
        next_round = max(next_round + PERIOD_S, time.monotonic())
        if _hears(next_round):
            received = os.read(_STANDARD_INPUT, 64)
            break
    # Before the last look, which forgets who is gone: the driver may be by now.
    tree = driver_tree(sampler.finder, driver_pid)
    sampler.close()
    if received.strip() != b"end":
        end_tree(tree, driver_pid)
    return ROWS_LOST if writer.lost else 0


def _hears(until: float) -> bool:
    wait = max(0.0, until - time.monotonic())
    return bool(select.select([_STANDARD_INPUT], [], [], wait)[0])


def driver_tree(finder: ProcessFinder, driver: int) -> list[SampledProcess]:
    """Return the driver and what descends from it, as last seen."""
    known = finder.known.values()
    return [process.target for process in known if _descends(finder, process, driver)]


def end_tree(tree: list[SampledProcess], driver: int) -> None:
    """End the driver, which the kernel signalled at its parent's death, and what descends from
    it."""
    deadline = time.monotonic() + _DRIVER_GRACE_S
    while any(_alive(target) for target in tree) and time.monotonic() < deadline:
        time.sleep(0.2)
        if not any(_alive(target) for target in tree if target.pid == driver):
            deadline = min(deadline, time.monotonic() + _ORPHAN_GRACE_S)
    for target in tree:
        if _alive(target):
            with contextlib.suppress(ProcessLookupError):  # it ended meanwhile
                os.kill(target.pid, signal.SIGKILL)


def _descends(finder: ProcessFinder, process: ObservedProcess | None, driver: int) -> bool:
    while process is not None:
        if process.target.pid == driver:
            return True
        process = finder.known.get(process.parent)
    return False


def _alive(target: SampledProcess) -> bool:
    return is_alive(target.pid, target.start_ticks)
