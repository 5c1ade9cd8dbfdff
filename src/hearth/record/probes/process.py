"""Each process: CPU time, context switches, wait for a CPU, page faults, memory, bytes.

The kernel keeps context switches and schedstat per thread and forgets those of ended threads
(proc(5)), so they are summed over threads here, and a thread that ended keeps its last reading:
what it did between its last sample and its end is not counted.
"""

from collections.abc import Iterator, Sequence

from hearth.record import kernel
from hearth.record.probes.base import Probe, Roots, Row, SampledProcess, read_if_alive, unreadable
from hearth.record.probes.schedstat import Schedstat

#: voluntary, involuntary switches; ns run; ns waited for a CPU.
_Counts = tuple[int, int, int, int]
_SUMMED = ("voluntary", "involuntary", "", "run_delay_ns")


class ProcessProbe(Probe):
    """/proc/PID/{stat,status,io} and /proc/PID/task/TID/{status,schedstat}."""

    name = "process"
    budget_share = 0.006
    cost = "three files for each process, one for each thread, another for each that has run"

    def __init__(self, roots: Roots) -> None:
        super().__init__(roots)
        self._threads: dict[SampledProcess, dict[str, _Counts]] = {}
        self._schedstat = Schedstat(roots.proc)

    def supported(self) -> str | None:
        return unreadable(self.roots.proc / "self" / "stat")

    def sample(self, targets: Sequence[SampledProcess]) -> Iterator[Row]:
        for gone in self._threads.keys() - set(targets):
            del self._threads[gone]
        self._schedstat.keep_only(targets)
        for target in targets:
            row = self._row(target)
            if row is not None:
                yield "samples/process.jsonl", {**target.identity, **row}

    def _row(self, target: SampledProcess) -> dict[str, object] | None:
        folder = f"{self.roots.proc}/{target.pid}"
        stat_text = read_if_alive(f"{folder}/stat")
        status_text = read_if_alive(f"{folder}/status")
        if stat_text is None or status_text is None:
            return None
        stat, status = kernel.parse_stat(stat_text), kernel.parse_status(status_text)
        if stat.start_ticks != target.start_ticks or "VmRSS" not in status:
            return None  # another process by now, or a zombie
        return {
            "utime": stat.utime,
            "stime": stat.stime,
            "minflt": stat.minflt,
            "majflt": stat.majflt,
            "rss_kb": kernel.kilobytes(status, "VmRSS"),
            "rss_max_kb": kernel.kilobytes(status, "VmHWM"),
            **self._summed(target, folder),
            **_written(folder),
        }

    def _summed(self, target: SampledProcess, folder: str) -> dict[str, int]:
        counts = self._threads.setdefault(target, {})
        for thread, text in self._schedstat.of(target):
            before = counts.get(thread)
            reading = _reading(f"{folder}/task/{thread}", text, before)
            if reading is not None:
                # An id that starts again from little is a new thread: the old one keeps its sum.
                if before is not None and reading[2] < before[2]:
                    counts[f"{thread} until {len(counts)}"] = before
                counts[thread] = reading
        sums = [sum(column) for column in zip(*counts.values(), strict=True)]
        return {name: total for name, total in zip(_SUMMED, sums, strict=False) if name}


def _reading(thread: str, schedstat: bytes, before: _Counts | None) -> _Counts | None:
    """Return the thread's counts; those of `before` where it has not run since."""
    if not schedstat:
        return None
    run_ns, delay_ns, _ = map(int, schedstat.split())
    if before is not None and (run_ns, delay_ns) == before[2:]:
        return before
    status = read_if_alive(f"{thread}/status")
    return None if status is None else (*kernel.parse_switches(status), run_ns, delay_ns)


def _written(folder: str) -> dict[str, int]:
    """Read /proc/PID/io, the owner's alone (ptrace access, proc(5)): no key elsewhere."""
    try:
        text = read_if_alive(f"{folder}/io")
    except PermissionError:
        return {}
    written = kernel.parse_numbers(text or "").get("write_bytes")
    return {} if written is None else {"write_bytes": written}
