"""The firmware chooses by its profile between speed and quiet, cool or long-lived on battery."""

from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem

_FILE = "sys/firmware/acpi/platform_profile"
_SAVING = ("low-power", "cool", "quiet")
_ALL = (*_SAVING, "balanced", "balanced-performance", "performance", "max-power", "custom")


def _look(machine: Machine) -> Outcome:
    tree = machine.tree
    chosen = tree.choice(_FILE, _ALL)
    if chosen not in _SAVING:
        return Fine(f"platform profile: {chosen}")
    choices = tree.text(f"{_FILE}_choices").split()
    better = next((one for one in ("performance", "balanced") if one in choices), None)
    return Problem(
        f"platform profile: {chosen}",
        f"/{_FILE}",
        changes=(Change(_FILE, better),) if better else (),
        command="" if better else "the firmware's own settings",
    )


CHECK = Check(
    _look,
    group="cpu",
    concerns="cpus",
    better="performance, or balanced",
    source="kernel: ABI/testing/sysfs-platform_profile; tuned: profile throughput-performance",
    touches="power, heat and noise",
)
