"""The more of the kernel a waking task may interrupt, the more often work is interrupted: that is
for answers in time, and costs throughput.
"""

import re

from hearth.doctor.boot import boot_words
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen, Tree

_FILE = "proc/version"
#: For root alone: such as `none voluntary (full) lazy`.
_NOW = "sys/kernel/debug/sched/preempt"
_MODELS = ("none", "voluntary", "full", "lazy")


def _look(machine: Machine) -> Outcome:
    text = machine.tree.text(_FILE)
    if not text.startswith("Linux version "):
        machine.tree.choice(_FILE, ())
    words = text.split()
    if "PREEMPT_RT" in words:
        return Problem(
            "a real-time kernel (PREEMPT_RT)",
            f"/{_FILE}",
            command="boot the distribution's usual kernel",
        )
    model, evidence = _model(machine.tree, words)
    if model != "full":
        return Fine(f"preemption: {model}")
    return Problem(
        "preemption: full",
        f"/{evidence}",
        command="boot a kernel that is built for servers"
        if evidence == _FILE
        else "boot option preempt=lazy (none before Linux 6.13)",
    )


def _model(tree: Tree, words: list[str]) -> tuple[str, str]:
    """Return the model that is active, and the file that tells it; raise NotSeen."""
    try:
        found = re.search(r"\((\w+)\)", tree.text(_NOW))
        if found and found[1] in _MODELS:
            return found[1], _NOW
    except NotSeen:
        pass
    if "PREEMPT_DYNAMIC" not in words:
        known = {"PREEMPT_LAZY": "lazy", "PREEMPT": "full"}
        named = next((model for word, model in known.items() if word in words), None)
        return named or "none or voluntary", _FILE
    try:
        chosen = [w.removeprefix("preempt=") for w in boot_words(tree) if w.startswith("preempt=")]
    except NotSeen:
        chosen = []
    if chosen and chosen[-1] in _MODELS:
        return chosen[-1], "proc/cmdline"
    raise NotSeen(f"the kernel has several preemption models (PREEMPT_DYNAMIC): root sees /{_NOW}")


CHECK = Check(
    _look,
    group="cpu",
    concerns="cpus",
    better="lazy, or none where the kernel still has it",
    source="kernel: scheduler/sched-preempt, kernel/Kconfig.preempt for throughput; "
    "core-api/real-time/theory for a real-time kernel's locks",
    touches="programs that need answers in time",
    reboot=True,
)
