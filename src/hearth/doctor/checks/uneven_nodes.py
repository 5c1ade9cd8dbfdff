"""Executors bound to a node with less memory get a smaller heap, or all get what the smallest
allows.
"""

from statistics import median

from hearth.base.sizes import show_bytes
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.virtual import modules_or_settings

#: Ours: a node's own kernel structures and firmware take some percent.
_MOST = 0.20


def _look(machine: Machine) -> Outcome:
    nodes = [one for one in machine.the_topology().nodes if one.cpus and one.memory_bytes]
    if len(nodes) < 2:
        return Fine("one node with CPUs and memory")
    middle = median(one.memory_bytes for one in nodes)
    odd = [one for one in nodes if abs(one.memory_bytes - middle) > _MOST * middle]
    if not odd:
        return Fine(f"{len(nodes)} nodes of about {show_bytes(int(middle))}")
    listed = ", ".join(f"node {one.id} has {show_bytes(one.memory_bytes)}" for one in odd[:4])
    return Problem(
        f"{listed}; the median of nodes with CPUs is {show_bytes(int(middle))}",
        "/sys/devices/system/node",
        command=modules_or_settings(
            machine.tree,
            "move modules so that every node has the same",
            "give its nodes the same memory (libvirt: <numa>)",
        ),
    )


CHECK = Check(
    _look,
    group="memory",
    concerns="placement",
    better="the same memory on every node",
    source="hearth: a plan gives executors equal heaps; the limit of 20 % is hearth's",
    touches="the machine has to be opened, or the virtual machine started again",
    reboot=True,
)
