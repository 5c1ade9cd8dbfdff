"""Threads wait for memory: it is read back from disk, or made free, while they stand still."""

import re

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen

_FILE = "proc/pressure/memory"
_FULL = re.compile(
    r"^full avg10=\d+\.\d+ avg60=\d+\.\d+ avg300=(\d{1,3}\.\d\d) total=\d+$", re.MULTILINE
)
#: Ours, in percent of the last five minutes.
_MOST = 1.0


def _look(machine: Machine) -> Outcome:
    found = _FULL.search(machine.tree.text(_FILE))
    if found is None or float(found[1]) > 100:
        raise NotSeen(f"could not read /{_FILE}: it is not what the kernel writes there")
    what = f"all threads waited for memory in {found[1]} % of the last five minutes"
    if float(found[1]) <= _MOST:
        return Fine(what)
    return Problem(what, f"/{_FILE}", command="end what holds memory, or plan with --memory less")


CHECK = Check(
    _look,
    group="memory",
    concerns="heaps",
    better="none",
    source="kernel: accounting/psi; the limit of 1 % is hearth's",
    touches="the programs that are ended",
)
