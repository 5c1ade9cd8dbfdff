"""Tell whether a machine is virtual."""

import re

from hearth.doctor.tree import NotSeen, Tree


def names_hypervisor(tree: Tree) -> bool:
    """Return whether /proc/cpuinfo tells of a hypervisor; raise NotSeen where it cannot."""
    lines = tree.table("proc/cpuinfo")
    flags = next((line for line in lines if re.match(r"flags\s*:", line)), None)
    if flags is None:
        raise NotSeen("/proc/cpuinfo has no flags, which name a hypervisor on x86")
    return "hypervisor" in flags.split()


def modules_or_settings(tree: Tree, hardware: str, settings: str) -> str:
    """Return what to do about memory: to a virtual machine's settings, else to the hardware."""
    try:
        return settings if names_hypervisor(tree) else hardware
    except NotSeen:
        return f"{hardware}; in a virtual machine: {settings}"
