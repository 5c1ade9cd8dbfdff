"""The queue of the disk that a directory lies on."""

from pathlib import PurePath

from hearth.doctor.tree import Tree


def queue_of(tree: Tree, folder: str) -> str | None:
    """Return its folder in sysfs; None where no disk is below the directory; raise NotSeen."""
    device = tree.mount_of(folder).device
    if device.startswith("0:"):  # a file system without a disk of its own
        return None
    own = f"sys/dev/block/{device}"
    queue = f"{own}/queue" if tree.has(f"{own}/queue") else f"{own}/../queue"  # of a partition
    # By the disk's name, where it has one: what is changed is kept by its path.
    named = f"sys/block/{PurePath(tree.real(queue)).parent.name}/queue"
    return named if tree.has(named) else queue


def is_virtual(tree: Tree, queue: str) -> bool:
    """Return whether a disk is a virtual machine's: whether it spins is then not known."""
    place = tree.real(queue)
    return "/virtio" in place or "/vbd-" in place or "/VMBUS" in place
