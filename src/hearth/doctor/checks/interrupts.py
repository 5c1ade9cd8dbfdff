"""If one CPU serves all devices, the tasks on it are late, and so are packets."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen

_FILE = "proc/interrupts"
#: Ours: shares and counts below these are no burden.
_SHARE, _LEAST, _CPUS = 0.80, 10_000_000, 8


def _look(machine: Machine) -> Outcome:
    head, *rows = machine.tree.table(_FILE)
    cpus = head.split()
    if not cpus or any(not cpu.startswith("CPU") for cpu in cpus):
        raise NotSeen(f"could not read /{_FILE}: its first line names no CPUs")
    totals = [0] * len(cpus)
    for row in rows:
        name, *counts = row.split()
        numbers = counts[: len(cpus)]
        if (
            name.rstrip(":").isdigit()
            and len(numbers) == len(cpus)
            and all(map(_is_count, numbers))
        ):
            totals = [total + int(n) for total, n in zip(totals, numbers, strict=True)]
    whole, most = sum(totals), max(totals)
    what = f"{most / whole:.0%} of {whole} on {cpus[totals.index(most)]}" if whole else "none"
    if len(cpus) < _CPUS or whole < _LEAST or most <= _SHARE * whole:
        return Fine(f"device interrupts: {what}")
    return Problem(what, f"/{_FILE}", command="systemctl enable --now irqbalance")


def _is_count(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 20


CHECK = Check(
    _look,
    group="cpu",
    concerns="cpus",
    better="spread, near each device's node",
    source="kernel: core-api/irq/irq-affinity; Redpanda: tuners net and disk_irq; the limits "
    "are hearth's",
    touches="programs that are bound to the CPUs that then serve interrupts",
)
