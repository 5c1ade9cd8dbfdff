"""What the kernel says of the hardware contradicts itself: plans rest on an interpretation of
it.
"""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem


def _look(machine: Machine) -> Outcome:
    topology = machine.the_topology()
    if not topology.warnings:
        return Fine("the kernel's description of the hardware is consistent")
    more = f" (and {len(topology.warnings) - 1} more)" if len(topology.warnings) > 1 else ""
    return Problem(
        f"{topology.warnings[0][:160]}{more}",
        "hearth topology",
        command="hearth topology shows all; start a container with the host's /sys, correct the "
        "virtual machine's CPU topology, or update the firmware",
    )


CHECK = Check(
    _look,
    group="cpu",
    better="a consistent topology from the virtual machine or the firmware",
    source="hearth: how it reads a topology",
    touches="nothing",
    reboot=True,
)
