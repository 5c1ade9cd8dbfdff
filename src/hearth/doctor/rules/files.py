"""Directories: of temporary files, of shuffle files, and in memory."""

import stat
from dataclasses import replace
from shlex import quote

from hearth.base.absent import Absent
from hearth.base.sizes import show_bytes
from hearth.doctor.java import temporaries_of
from hearth.doctor.machine import Machine, Space, known
from hearth.doctor.rule import Fine, Outcome, Problem, Rule

NETWORK_KINDS = (
    "nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "fuse.glusterfs", "fuse.sshfs", "lustre",
    "beegfs", "afs", "9p", "fuse.s3fs", "fuse.gcsfuse", "virtiofs",
)  # fmt: skip
_LAYERS = ("overlay", "aufs")
_MOUNTS = "/proc/self/mountinfo"
_SHARED_MEMORY = "/dev/shm"
#: Ours.
_LEAST_SHARED_BYTES = 1 << 30
#: Ours, of bytes and of inodes; and bytes of which less is little on a file system of any size.
_LITTLE, _NONE, _LEAST_BYTES = 0.10, 0.01, 1 << 30
_OTHERS = "TMPDIR, spark.local.dir and -Djava.io.tmpdir with a directory of your own"


def _temporary_noexec(machine: Machine) -> Outcome:
    mounts = {
        (folder, whose): machine.tree.mount_of(folder)
        for folder, whose in temporaries_of(machine).items()
    }
    bad = {folder: mount.point for folder, mount in mounts.items() if "noexec" in mount.options}
    if not bad:
        return Fine("; ".join(f"{folder}: programs may run there" for folder, _ in mounts))
    confs = [
        f"--conf spark.{who}.extraJavaOptions=-Djava.io.tmpdir=DIRECTORY"
        for who in ("driver", "executor")
        if any(who in whose for _, whose in bad)
    ]
    point = next(iter(bad.values()))
    return Problem(
        "; ".join(f"{folder} of {whose} is mounted noexec" for folder, whose in bad),
        "harm",
        how=f"{' '.join(confs)}; mount -o remount,exec {point}; docker run --tmpfs {point}:exec",
    )


def _directory_modes(machine: Machine) -> Outcome:
    user, fine = machine.user_settings(), []
    java = temporaries_of(machine)
    for folder in dict.fromkeys([user.temporary, *java, *user.local_dirs, _SHARED_MEMORY]):
        of = "" if folder in (user.temporary, *user.local_dirs) else java.get(folder, "")
        shown = f"{folder} (java.io.tmpdir of {of})" if of else folder
        outcome = _directory(machine, folder, shown)
        if isinstance(outcome, Problem):
            return outcome
        fine += [outcome.seen] if outcome else []
    return Fine("; ".join(fine) or "none of them exists")


def _directory(machine: Machine, folder: str, shown: str) -> Outcome | None:
    """Return what a directory is; None for one that is not there and need not be."""
    tree, path = machine.tree, folder.lstrip("/")
    if not tree.has(path):
        made_by_spark = folder in machine.user_settings().local_dirs and tree.may_make(path)
        if folder == _SHARED_MEMORY or made_by_spark:  # shared-memory tells of the first
            return None
        if tree.may_make(path):
            seen = f"{shown} does not exist, and Java does not create it"
            return Problem(seen, "harm", how=f"mkdir {quote(folder)}")
        seen = f"{shown} does not exist, and this user may not create it"
        return Problem(seen, "harm", how=_OTHERS)
    mode = tree.mode(path)
    seen = f"{shown}: mode {stat.S_IMODE(mode):04o}"
    if not stat.S_ISDIR(mode):
        command = f"make it one, or name another for {folder}"
        return Problem(f"{shown} is not a directory", "harm", how=command)
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        command = f"chmod +t {quote(folder)}"
        return Problem(f"{seen}, without the sticky bit", "harm", how=command)
    if not tree.may_write(path):
        command = f"chmod 1777 {quote(folder)}; or {_OTHERS}"
        return Problem(f"{seen}: this user may not write there", "harm", how=command)
    return Fine(seen)


def _local_dirs_kind(machine: Machine) -> Outcome:
    kinds = {
        folder: machine.tree.mount_of(folder).kind for folder in machine.user_settings().local_dirs
    }
    for folder, kind in kinds.items():
        if kind in (*NETWORK_KINDS, *_LAYERS):
            return Problem(f"{folder} for shuffle files is on {kind}")
    return Fine(", ".join(f"{folder}: {kind}" for folder, kind in kinds.items()) or "none")


def _local_dirs_space(machine: Machine) -> Outcome:
    fine = []
    for folder in machine.user_settings().local_dirs:
        space, of_limit = _space(machine, folder)
        shares = [space.free_bytes / max(1, space.total_bytes)]
        shares += [space.free_inodes / space.total_inodes] if space.total_inodes else []
        size = f"{show_bytes(space.free_bytes)} of {show_bytes(space.total_bytes)}"
        seen = f"{folder}: {size} free{of_limit}"
        seen += f", {space.free_inodes} inodes" if space.total_inodes else ""
        if min(shares) < _LITTLE or space.free_bytes < _LEAST_BYTES:
            return Problem(seen, "harm" if min(shares) < _NONE else "advice")
        fine.append(seen)
    return Fine("; ".join(fine) or "no directory")


def _space(machine: Machine, folder: str) -> tuple[Space, str]:
    """Return what is left, and by which limit: files in memory take it from the executors'."""
    space = known(machine.user_settings().space(folder))
    topology, plan = machine.topology, machine.plan
    if isinstance(topology, Absent) or machine.tree.mount_of(folder).kind != "tmpfs":
        return space, ""
    limit, whose = sum(node.memory_bytes for node in topology.usable_nodes), "machine"
    less = topology.allowed.least_memory_bytes
    if less is not None and less < limit:
        limit = less
        whose = "control group" if less == topology.allowed.memory_limit_bytes else "job"
    taken_mb = 0 if isinstance(plan, Absent) else plan.memory_mb
    left = max(0, limit - (taken_mb << 20))
    if left >= space.free_bytes:
        return space, ""
    words = f" in memory, beside the application, of the {whose}'s {show_bytes(limit)}"
    return replace(space, free_bytes=left, total_bytes=min(limit, space.total_bytes)), words


def _shared_memory(machine: Machine) -> Outcome:
    mount = machine.tree.mount_of(_SHARED_MEMORY)
    if mount.point != _SHARED_MEMORY or mount.kind != "tmpfs":
        return Problem(
            f"{_SHARED_MEMORY} is not a file system in memory",
            how="mount -t tmpfs -o mode=1777 tmpfs /dev/shm",
            reads=_MOUNTS,
        )
    size = known(machine.user_settings().space(_SHARED_MEMORY)).total_bytes
    seen = f"{_SHARED_MEMORY}: {show_bytes(size)}"
    return Fine(seen) if size >= _LEAST_SHARED_BYTES else Problem(seen)


FILES = {
    "temporary-noexec": Rule(
        _temporary_noexec,
        why="Libraries for compression (zstd, Snappy) and JNA unpack native code into Java's "
        "temporary directory and run it there.",
        reads=_MOUNTS,
        better="a temporary directory without noexec",
        source="JNA: jna.tmpdir; Elasticsearch: executable JNA temporary directory",
        touches="whoever writes there can run what they wrote",
    ),
    "directory-modes": Rule(
        _directory_modes,
        why="Every JVM writes to these directories: where it may not, it fails; where everybody "
        "may, and no sticky bit is set, other users can remove or replace its files.",
        reads="stat(2)",
        better="mode 1777 where several users write, else a directory of your own",
        source="man 7 inode, S_ISVTX; Elasticsearch: JNA temporary directory",
        touches="other users can no longer remove each other's files there",
    ),
    "local-dirs-kind": Rule(
        _local_dirs_kind,
        why="Shuffle files on a network, or in a container's image layers, are written and read "
        "at their speed.",
        reads=_MOUNTS,
        better="local disks, or memory where there is room",
        source="Spark: hardware provisioning, local disks; Docker: storage drivers",
        touches="where shuffle files need space",
        how="--conf spark.local.dir=DIRECTORY of a local disk; a volume in a container",
    ),
    "local-dirs-space": Rule(
        _local_dirs_space,
        why="Shuffle files of a job can be as large as its input; on a full disk its tasks fail.",
        reads="statvfs(3)",
        better="a tenth of the disk and 1 GB free, or more: as much as the input",
        source="Spark: hardware provisioning, local disks; the limits are hearth's",
        touches="the files that are removed",
        how="remove files there, or --conf spark.local.dir=DIRECTORY with more space",
    ),
    "shared-memory": Rule(
        _shared_memory,
        why="hearth's wire and its shuffle files in memory use /dev/shm, of which Docker gives 64 "
        "MB.",
        reads="statvfs(3)",
        better="1 GB or more",
        source="Docker: run, --shm-size; the limit is hearth's",
        touches="how much memory files can take there",
        how="docker run --shm-size 8g; mount -o remount,size=50% /dev/shm",
    ),
}
