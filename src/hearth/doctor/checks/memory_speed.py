"""Spark scans memory: modules that run below what they can do take bandwidth from every core."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen

_FOLDER = "sys/firmware/dmi/entries"
#: Offsets in a structure of type 17 (DMTF DSP0134: size, speed, configured speed).
_SIZE, _SPEED, _CONFIGURED = 0x0C, 0x15, 0x20


def _look(machine: Machine) -> Outcome:
    modules = [
        machine.tree.data(f"{_FOLDER}/{name}/raw", 256)
        for name in machine.tree.names(_FOLDER, r"17-\d{1,4}")
    ]
    speeds = [speed for one in modules if (speed := _speeds(one))]
    if not speeds:
        raise NotSeen(f"the firmware tells no speed of a memory module in /{_FOLDER}")
    slow = [(rated, now) for rated, now in speeds if now < rated]
    if not slow:
        return Fine(f"{len(speeds)} memory modules at their speed")
    rated, now = slow[0]
    return Problem(
        f"{len(slow)} of {len(speeds)} memory modules run at {now} MT/s and are made for {rated}",
        f"/{_FOLDER}/17-*",
        command="set the memory speed in the firmware's setup",
    )


def _speeds(raw: bytes) -> tuple[int, int] | None:
    """Return what a module is made for and runs at, in MT/s; None where it does not tell."""
    if len(raw) < _CONFIGURED + 2 or raw[0] != 17 or raw[1] < _CONFIGURED + 2:
        return None
    size, rated, now = (
        int.from_bytes(raw[at : at + 2], "little") for at in (_SIZE, _SPEED, _CONFIGURED)
    )
    return (rated, now) if size and 0 < rated < 0xFFFF and 0 < now < 0xFFFF else None


CHECK = Check(
    _look,
    group="memory",
    better="the speed the modules are made for, as far as the processor allows with that many",
    source="DMTF DSP0134 (SMBIOS), type 17",
    touches="memory that was slowed down for stability may fail",
    reboot=True,
)
