"""Spark scans memory: modules that run below what they can do take bandwidth from every core."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.dmi import FOLDER, modules
from hearth.doctor.tree import NotSeen


def _look(machine: Machine) -> Outcome:
    speeds = [
        (one.rated, one.now)
        for one in modules(machine.tree)
        if one.size_mb and one.rated is not None and one.now is not None
    ]
    if not speeds:
        raise NotSeen(f"the firmware reports no memory speed in /{FOLDER}")
    slow = [(rated, now) for rated, now in speeds if now < rated]
    if not slow:
        return Fine(f"{len(speeds)} memory modules at their speed")
    rated, now = slow[0]
    return Problem(
        f"{len(slow)} of {len(speeds)} memory modules run at {now} MT/s but are rated for {rated}",
        f"/{FOLDER}/17-*",
        command="set the memory speed in the firmware's setup",
    )


CHECK = Check(
    _look,
    group="memory",
    better="the speed the modules are made for, as far as the processor allows with that many",
    source="DMTF DSP0134 (SMBIOS), type 17",
    touches="memory that was slowed down for stability may fail",
    reboot=True,
)
