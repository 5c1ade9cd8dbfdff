"""Old microcode has known faults, of safety or of function, that a newer one repairs."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen

_FILE = "sys/devices/system/cpu/vulnerabilities/old_microcode"


def _look(machine: Machine) -> Outcome:
    text = machine.tree.text(_FILE)
    if text == "Not affected":
        return Fine("microcode: the kernel knows of no newer one")
    if text.startswith("Unknown"):
        raise NotSeen("a virtual machine does not see its host's microcode")
    if text != "Vulnerable":
        machine.tree.choice(_FILE, ())
    return Problem(
        "microcode: older than one the kernel knows of",
        f"/{_FILE}",
        command="install the distribution's package (intel-microcode) or new firmware",
    )


CHECK = Check(
    _look,
    group="cpu",
    better="the current one",
    source="kernel: admin-guide/hw-vuln/old_microcode",
    touches="mitigations may become active that cost speed",
    reboot=True,
)
