"""A core in a deep idle state wakes up late, for each task and each answer of a shuffle; one that
may not sleep at all leaves the others no power for their turbo.
"""

from hearth.base.ids import brief_ids, show_ids
from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem

_FOLDER = "sys/devices/system/cpu"
#: Ours, in microseconds: waking up takes as long as a small remote read; idle states of servers
#: are below.
_LATE_US = 500
_MOST_US = 1 << 32


def _look(machine: Machine) -> Outcome:
    late: dict[int, list[str]] = {}
    slowest, asleep = 0, False
    for cpu in sorted(machine.the_topology().usable_cpus):
        for state in machine.tree.names(f"{_FOLDER}/cpu{cpu}/cpuidle", r"state\d{1,2}"):
            place = f"{_FOLDER}/cpu{cpu}/cpuidle/{state}"
            latency = machine.tree.number(f"{place}/latency", _MOST_US)
            if machine.tree.number(f"{place}/disable", _MOST_US):
                continue
            asleep = asleep or latency > 0
            slowest = max(slowest, latency)
            if latency >= _LATE_US:
                late.setdefault(cpu, []).append(f"{place}/disable")
    if not asleep:
        return Problem(
            "all idle states are disabled",
            f"/{_FOLDER}/cpu*/cpuidle",
            command="cpupower idle-set --enable-all",
            better="the states that wake up quickly enabled",
        )
    if not late:
        return Fine(f"idle states: at most {slowest} us to wake up")
    return Problem(
        f"idle states of CPUs {brief_ids(show_ids(late))}: up to {slowest} us to wake up",
        f"/{_FOLDER}/cpu*/cpuidle",
        changes=tuple(Change(path, "1") for paths in late.values() for path in paths),
    )


CHECK = Check(
    _look,
    group="cpu",
    concerns="cpus",
    better="those that take 500 us or longer disabled, and the others enabled",
    source="kernel: admin-guide/pm/cpuidle; the limit of 500 us is hearth's",
    touches="power when idle",
)
