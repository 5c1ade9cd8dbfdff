"""Shuffle files on a network, or in a container's image layers, are written and read at their
speed.
"""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem

NETWORK = (
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "ceph",
    "glusterfs",
    "fuse.glusterfs",
    "fuse.sshfs",
    "lustre",
    "beegfs",
    "afs",
    "9p",
    "fuse.s3fs",
    "fuse.gcsfuse",
    "virtiofs",
)
_LAYERS = ("overlay", "aufs")


def _look(machine: Machine) -> Outcome:
    kinds = {folder: machine.tree.mount_of(folder).kind for folder in machine.the_own().local_dirs}
    for folder, kind in kinds.items():
        if kind in (*NETWORK, *_LAYERS):
            return Problem(
                f"{folder} for shuffle files is on {kind}",
                "/proc/self/mountinfo",
                "advice",
                command="--conf spark.local.dir=DIRECTORY of a local disk; a volume in a container",
            )
    return Fine(", ".join(f"{folder}: {kind}" for folder, kind in kinds.items()) or "none")


CHECK = Check(
    _look,
    group="files",
    concerns="files",
    better="local disks, or memory where there is room",
    source="Spark: hardware provisioning, local disks; Docker: storage drivers",
    touches="where shuffle files need space",
)
