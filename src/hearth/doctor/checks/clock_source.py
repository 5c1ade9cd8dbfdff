"""Spark and the JVM ask for the time in every task; some clocks need a system call or a device."""

from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen

_FOLDER = "sys/devices/system/clocksource/clocksource0"
_SLOW = ("hpet", "acpi_pm", "jiffies", "refined-jiffies", "xen")
_FAST = (
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
    "timebase",
    "riscv_clocksource",
)


def _look(machine: Machine) -> Outcome:
    now = machine.tree.choice(f"{_FOLDER}/current_clocksource", (*_SLOW, *_FAST))
    if now in _FAST:
        return Fine(f"clock source: {now}")
    others = machine.tree.text(f"{_FOLDER}/available_clocksource").split()
    better = next((name for name in _FAST if name in others), None)
    if better is None:
        raise NotSeen(
            f"the clock source is {now}, and /{_FOLDER}/available_clocksource has none "
            "that is faster"
        )
    change = Change(f"{_FOLDER}/current_clocksource", better)
    return Problem(
        f"clock source: {now}, with {better} available", f"/{_FOLDER}", changes=(change,)
    )


CHECK = Check(
    _look,
    group="cpu",
    better="tsc, or the hypervisor's clock that is read without a system call",
    source="kernel: timers/timekeeping, man 7 vdso; Redpanda: tuner clocksource",
    touches="the kernel may have left tsc because it was unstable: look at dmesg first",
)
