"""Each memory error that is corrected stops a core while it is reported; what cannot be corrected
ends a program, or the machine.
"""

from hearth.base.sizes import counted
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem, published
from hearth.doctor.tree import NotSeen

_FOLDER = "sys/devices/system/edac/mc"
_DAY_S = 86_400
#: Of each controller, as mcelog has it of each module.
_MOST_A_DAY = 10


def _look(machine: Machine) -> Outcome:
    tree = machine.tree
    controllers = [f"{_FOLDER}/{name}" for name in tree.names(_FOLDER, r"mc\d{1,3}")]
    if not controllers:
        raise NotSeen(f"there is no memory controller in /{_FOLDER}")
    lost = {one: tree.number(f"{one}/ue_count", 1 << 32) for one in controllers}
    fixed = {one: tree.number(f"{one}/ce_count", 1 << 32) for one in controllers}
    days = {one: tree.number(f"{one}/seconds_since_reset") / _DAY_S for one in controllers}
    what = f"{counted(sum(fixed.values()), 'memory error')} corrected, {sum(lost.values())} not"
    many = [one for one in controllers if fixed[one] > _MOST_A_DAY * max(days[one], 1)]
    bad = [one for one in controllers if lost[one]] or many
    if not bad:
        return Fine(what)
    return Problem(
        what,
        f"/{bad[0]}",
        "harm" if lost[bad[0]] else "advice",
        command=f"cd /{bad[0]} && grep -s . dimm*/dimm_*_count rank*/dimm_*_count names the "
        "module: replace it",
    )


CHECK = Check(
    _look,
    group="memory",
    better=f"none that could not be corrected, and at most {_MOST_A_DAY} a day that were",
    source="kernel: ABI/testing/sysfs-devices-edac; Gottscho et al.: Measuring the Impact of "
    "Memory Errors on Application Performance, 2017; mcelog: mcelog.conf, "
    "ce-error-threshold; PerfSpect: system event log",
    worth=published(
        "programs took up to 2.5 times as long on memory with faults that are corrected "
        "(Gottscho 2017, SPEC CPU2006)",
        60,
    ),
    touches="the machine has to be opened",
    reboot=True,
)
