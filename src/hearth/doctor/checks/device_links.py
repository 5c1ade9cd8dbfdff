"""A disk or network adapter in a slot, or on a riser, with fewer lanes than its own is read at
their speed.
"""

import re
from contextlib import suppress

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen, Tree

_CLASSES = ("sys/class/nvme", "sys/class/net", "sys/class/infiniband")


def _look(machine: Machine) -> Outcome:
    tree, links = machine.tree, {}
    for folder in filter(tree.has, _CLASSES):
        for name in tree.names(folder):
            place = f"{folder}/{name}/device"
            if tree.has(f"{place}/max_link_width"):
                with suppress(NotSeen):  # of a port without a cable, or a virtual function
                    links[name] = (place, _link(tree, place, "current"), _link(tree, place, "max"))
    if not links:
        raise NotSeen("no disk or network adapter reports its PCI Express link")
    for name, (place, now, most) in links.items():
        # A device that saves power may run its lanes slower, not fewer of them.
        if now[1] < most[1]:
            return Problem(
                f"{name}: {now[1]} lanes of {now[0]:g} GT/s, it supports {most[1]} of {most[0]:g}",
                f"/{place}/current_link_width",
                command=f"put {name} into a slot with {most[1]} lanes; lspci -vv tells which end "
                "has fewer",
            )
    return Fine(f"all lanes in use: {', '.join(list(links)[:8])}")


def _link(tree: Tree, place: str, which: str) -> tuple[float, int]:
    """Return GT/s and the number of lanes; raise NotSeen."""
    path = f"{place}/{which}_link_speed"
    speed = re.match(r"(\d{1,3}(?:\.\d)?) GT/s", tree.text(path))
    lanes = tree.number(f"{place}/{which}_link_width", 32)
    if speed is None or not lanes:
        raise NotSeen(f"could not read /{path}: the link is down, or not what the kernel writes")
    return float(speed[1]), lanes


CHECK = Check(
    _look,
    group="files",
    better="as many lanes as the device has",
    source="kernel: ABI/testing/sysfs-bus-pci, current_link_width; PerfSpect: report of NVMe disks",
    touches="the machine has to be opened",
    reboot=True,
)
