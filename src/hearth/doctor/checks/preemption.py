"""A real-time kernel turns locks into ones that sleep, which costs throughput."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem

_FILE = "proc/version"


def _look(machine: Machine) -> Outcome:
    text = machine.tree.text(_FILE)
    if not text.startswith("Linux version "):
        machine.tree.choice(_FILE, ())
    if "PREEMPT_RT" not in text.split():
        return Fine("not a real-time kernel")
    return Problem(
        "a real-time kernel (PREEMPT_RT)",
        f"/{_FILE}",
        command="boot the distribution's usual kernel",
    )


CHECK = Check(
    _look,
    group="cpu",
    concerns="cpus",
    better="a kernel for servers (PREEMPT_NONE, PREEMPT_LAZY or PREEMPT_DYNAMIC)",
    source="kernel: core-api/real-time/theory for the locks, kernel/Kconfig.preempt for throughput",
    touches="programs that need real time",
    reboot=True,
)
