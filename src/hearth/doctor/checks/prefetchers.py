"""Prefetchers load what a program may need next; what Spark needs next is often elsewhere."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem, published
from hearth.doctor.tree import NotSeen

#: MSR_MISC_FEATURE_CONTROL: a set bit among the lowest four turns one off (Intel).
_FILE, _REGISTER, _BITS = "dev/cpu/0/msr", 0x1A4, 0xF


def _look(machine: Machine) -> Outcome:
    if "GenuineIntel" not in "".join(machine.tree.table("proc/cpuinfo")[:2]):
        raise NotSeen("the register of prefetchers is known of Intel's processors only")
    value = int.from_bytes(machine.tree.register(_FILE, _REGISTER), "little")
    off = value & _BITS
    if off:
        return Fine(f"prefetchers that are off: {off.bit_count()} of 4")
    return Problem(
        "all prefetchers are on",
        f"/{_FILE}",
        command="hearth lab characterise --questions prefetchers measures which to turn off here",
    )


CHECK = Check(
    _look,
    group="cpu",
    concerns="cpus",
    better="what is fastest for your application: each of four can be turned off",
    source="Awan 2016; Intel: disclosure of hardware prefetcher control",
    worth=published(
        "without the next-line L1 prefetcher up to 14.2 % faster, without the adjacent-line one "
        "up to 4.13 % (Awan 2016, Ivy Bridge)",
        14.2,
    ),
    touches="every program on the machine; some depend on them",
)
