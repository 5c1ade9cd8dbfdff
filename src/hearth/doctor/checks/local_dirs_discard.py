"""With online discard, removing shuffle files sends the disk commands while the next stage
reads.
"""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem


def _look(machine: Machine) -> Outcome:
    for folder in machine.the_own().local_dirs:
        mount = machine.tree.mount_of(folder)
        if "discard" in mount.options and mount.kind != "btrfs":  # whose own is asynchronous
            return Problem(
                f"{folder} is mounted with discard",
                "/proc/self/mountinfo",
                command="systemctl enable --now fstrim.timer; mount -o remount,nodiscard "
                f"{mount.point}",
            )
    return Fine("no online discard where shuffle files are")


CHECK = Check(
    _look,
    group="files",
    concerns="files",
    better="fstrim once a week instead",
    source="man 8 fstrim and mount; Redpanda: tuner fstrim",
    touches="a disk that is an image on a host gives space back later",
)
