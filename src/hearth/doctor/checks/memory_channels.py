"""Spark scans memory: the processor reads all its channels at once only where all hold the same."""

import re

from hearth.base.sizes import show_mb
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.dmi import FOLDER, Module, modules
from hearth.doctor.tree import NotSeen

#: Where a firmware names channels: `ChannelA-DIMM0`, `P0 CHANNEL A`, `NODE 0 CHANNEL 1 DIMM 0`.
_CHANNEL = re.compile(r"channel[ _-]?([a-z0-9]{1,2})(?![a-z0-9])", re.IGNORECASE)
_DIMM = re.compile(r"(?<![ _-])[ _-]*(?:dimm|slot)[ _-]?\w{1,2}\b", re.IGNORECASE)


def _look(machine: Machine) -> Outcome:
    sizes: dict[str, int] = {}
    for one in modules(machine.tree):
        channel = _channel(one)
        if channel is None:
            raise NotSeen("the firmware does not name the channels of all memory modules")
        sizes[channel] = sizes.get(channel, 0) + one.size_mb
    most = max(sizes.values())
    less = sorted(name for name, size in sizes.items() if size < most)
    what = f"{len(sizes)} memory channels"
    if not less:
        return Fine(f"{what} of {show_mb(most)} each")
    empty = [name for name in less if not sizes[name]]
    told = f"{len(empty)} of {what} empty" if empty else f"{len(less)} of {what} hold less"
    shown = ", ".join(f"{name}: {show_mb(sizes[name])}" for name in less[:4])
    return Problem(
        f"{told} than {show_mb(most)} ({shown})" if not empty else f"{told} ({shown})",
        f"/{FOLDER}/17-*",
        command="modules of one size in every channel",
    )


def _channel(one: Module) -> str | None:
    """Return a name of its channel that no other one has; None where the firmware has none."""
    for text in (one.locator, one.bank):
        found = _CHANNEL.search(text)
        if found:
            other = one.bank if text is one.locator else one.locator
            around = _DIMM.sub("", f"{text[: found.start()]}{found[0]}")
            return f"{_node(other)}{around.strip()}"
    return None


def _node(text: str) -> str:
    """Return the processor, where the other text names that: `NODE 1`, `P1`, `CPU1`."""
    found = re.search(r"\b(?:node|cpu|p|socket|proc)[ _-]?(\d{1,2})(?![0-9])", text, re.IGNORECASE)
    return f"{found[0]} " if found else ""


CHECK = Check(
    _look,
    group="memory",
    better="the same size in every channel of every processor",
    source="DMTF DSP0134 (SMBIOS), type 17",
    touches="the machine has to be opened",
    reboot=True,
)
