"""A large virtual machine that shows one node spreads over nodes of its host without knowing."""

import re

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.virtual import names_hypervisor

#: Ours: hosts with more threads than this on one node are rare.
_MOST = 64


def _look(machine: Machine) -> Outcome:
    is_virtual = names_hypervisor(machine.tree)
    topology = machine.the_topology()
    if not is_virtual:
        return Fine("/proc/cpuinfo names no hypervisor")
    lines = machine.tree.table("proc/cpuinfo")
    cpus = sum(1 for line in lines if re.match(r"processor\s*:", line))
    if len(topology.nodes) > 1 or cpus <= _MOST:
        return Fine(f"a virtual machine; CPUs: {cpus}, nodes: {len(topology.nodes)}")
    return Problem(
        f"a virtual machine of {cpus} CPUs and one node",
        "/proc/cpuinfo, /sys/devices/system/node",
        command="give the virtual machine its host's nodes (libvirt: <numa>, numatune; clouds: a "
        "larger or metal type)",
    )


CHECK = Check(
    _look,
    group="cpu",
    concerns="cpus",
    better="the nodes of the host, with virtual CPUs and memory bound to them",
    source="Awan 2016 for what remote memory costs; the limit of 64 CPUs is hearth's",
    touches="the virtual machine has to be started again",
    reboot=True,
)
