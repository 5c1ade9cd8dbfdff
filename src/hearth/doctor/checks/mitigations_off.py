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
    states = {name: tree.text(f"{_FOLDER}/{name}") for name in names}
    active = [name for name, state in states.items() if state.startswith("Mitigation:")]
    bare = [name for name, state in states.items() if state.startswith("Vulnerable")]
    if not bare:
        return Fine(f"mitigations: {', '.join(active[:9]) or 'none needed'}")
    return Fine(
        f"mitigations: {', '.join(active[:9]) or 'none'}; vulnerable: {', '.join(bare[:6])}"
    )


CHECK = Check(
    _look,
    group="cpu",
    better="the kernel's own choice; what the mitigations cost is the price of safety",
    source="kernel: admin-guide/hw-vuln",
    touches="system calls and context switches take longer",
    reboot=True,
)
