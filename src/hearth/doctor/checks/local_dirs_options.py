"""Some options of a mount make each write, or even each read, wait for the disk."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem

_SLOW = {
    "sync": "every write waits for the disk",
    "dirsync": "every new file waits for the disk",
    "strictatime": "every read writes the time of access",
    "data=journal": "all data is written twice",
}


def _look(machine: Machine) -> Outcome:
    for folder in machine.the_own().local_dirs:
        mount = machine.tree.mount_of(folder)
        for option, why in _SLOW.items():
            if option in mount.options:
                return Problem(
                    f"{folder} is mounted with {option}: {why}",
                    "/proc/self/mountinfo",
                    command=f"remove {option} of {mount.point} in /etc/fstab, then mount -o "
                    f"remount {mount.point}",
                )
    return Fine("no option of the mounts slows shuffle files down")


CHECK = Check(
    _look,
    group="files",
    concerns="files",
    better="none of them for shuffle files, which nobody needs after a crash",
    source="man 8 mount; kernel: admin-guide/ext4",
    touches="what else lies on that file system: it may lose data in a crash",
)
