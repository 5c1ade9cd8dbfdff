"""Whether other programs keep the machine busy before a run, and waiting until they do not."""

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hearth.analysis.findings import OTHER_LOAD_SHARE
from hearth.base.durations import show_seconds
from hearth.base.progress import Work, tick
from hearth.record.kernel import CPU_FIELDS, parse_cpus

_LOOK_S = 1.0
#: Not used by a program of this machine.
_UNUSED = tuple(CPU_FIELDS.index(name) for name in ("idle", "iowait", "steal"))


def busy_share(
    sleep: Callable[[float], None] = time.sleep, stat: Path = Path("/proc/stat")
) -> float | None:
    """Return the share of the CPUs allowed here that is in use, over a second; None if it is
    unknown.

    To be asked while nothing of one's own runs.
    """
    try:
        before = parse_cpus(stat.read_text())
        sleep(_LOOK_S)
        after = parse_cpus(stat.read_text())
    except (OSError, ValueError):
        return None
    unused = total = 0
    for cpu in map(str, os.sched_getaffinity(0)):
        if cpu in before and cpu in after:
            passed = [new - old for old, new in zip(before[cpu], after[cpu], strict=True)]
            unused += sum(passed[at] for at in _UNUSED)
            total += sum(passed)
    return 1 - unused / total if total > 0 else None


@dataclass
class Quiet:
    """How to wait for other programs before each run.

    wait_s: how long to wait for them at most, before each run; None: say it once, before the first.
    """

    wait_s: float | None = None
    look: Callable[[], float | None] = busy_share
    clock: Callable[[], float] = time.monotonic
    _asked: bool = False

    def before_run(self, work: Work | None) -> None:
        """Wait, or warn. work: show that it waits."""
        if self.wait_s is None and self._asked:
            return
        self._asked = True
        share, start = self.look(), self.clock()
        while self.wait_s and _busy(share) and self.clock() - start < self.wait_s:
            if work is not None:
                work.title = f"waiting for other programs, which use {share:.0%} of the CPUs"
                tick()
            share = self.look()
        if _busy(share):
            print(f"hearth: warning: {self._warning(share)}", file=sys.stderr, flush=True)

    def _warning(self, share: float | None) -> str:
        used = f"other programs use {share:.0%} of the CPUs"
        if self.wait_s is None:
            return f"{used}, so times will scatter: stop them, or wait with --wait-quiet 10m"
        return f"{used} after {show_seconds(self.wait_s, 0)} of waiting: the next run goes on"


def _busy(share: float | None) -> bool:
    return share is not None and share > OTHER_LOAD_SHARE
