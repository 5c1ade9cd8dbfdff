"""Switched off for speed: whoever runs code here, such as a task of a job, can read other
memory.
"""

from hearth.doctor.boot import boot_words
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem

_FOLDER = "sys/devices/system/cpu/vulnerabilities"


def _look(machine: Machine) -> Outcome:
    tree = machine.tree
    if "mitigations=off" in boot_words(tree):
        return Problem(
            "boot option mitigations=off",
            "/proc/cmdline",
            "harm",
            command="remove mitigations=off from the boot options",
        )
    names = tree.names(_FOLDER, r"[a-z0-9_]{1,40}")
    active = [name for name in names if tree.text(f"{_FOLDER}/{name}").startswith("Mitigation:")]
    return Fine(f"mitigations: {', '.join(active) or 'none needed'}")


CHECK = Check(
    _look,
    group="cpu",
    better="the kernel's own choice; what the mitigations cost is the price of safety",
    source="kernel: admin-guide/hw-vuln",
    touches="system calls and context switches take longer",
    reboot=True,
)
