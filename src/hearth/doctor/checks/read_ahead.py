"""Spark reads files from front to back: a short read-ahead makes it wait for each part."""

from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem
from hearth.doctor.disks import queue_of

#: The kernel's default.
_LEAST_KB = 128


def _look(machine: Machine) -> Outcome:
    for folder in machine.the_own().local_dirs:
        queue = queue_of(machine.tree, folder)
        if queue is None:
            continue
        now = machine.tree.number(f"{queue}/read_ahead_kb", 1 << 30)
        if now < _LEAST_KB:
            return Problem(
                f"read-ahead of the disk of {folder}: {now} KB",
                f"/{queue}/read_ahead_kb",
                changes=(Change(f"{queue}/read_ahead_kb", "4096"),),
            )
    return Fine(f"read-ahead of the disks: {_LEAST_KB} KB or more")


CHECK = Check(
    _look,
    group="files",
    concerns="files",
    better="128 KB or more; 4096 as tuned sets it",
    source="kernel: ABI/stable/sysfs-block; tuned: profile throughput-performance",
    touches="programs that read small parts of large files read more than they need",
)
