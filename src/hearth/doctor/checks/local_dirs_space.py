"""Shuffle files of a job can be as large as its input; on a full disk its tasks fail."""

from dataclasses import replace

from hearth.base.absent import Absent
from hearth.base.sizes import show_bytes
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem, Space, known

#: Ours, of bytes and of inodes; and bytes of which less is little on a file system of any size.
_LITTLE, _NONE, _LEAST_BYTES = 0.10, 0.01, 1 << 30


def _look(machine: Machine) -> Outcome:
    own, told = machine.the_own(), []
    for folder in own.local_dirs:
        space, of_limit = _space(machine, folder)
        shares = [space.free_bytes / max(1, space.total_bytes)]
        shares += [space.free_inodes / space.total_inodes] if space.total_inodes else []
        size = f"{show_bytes(space.free_bytes)} of {show_bytes(space.total_bytes)}"
        what = f"{folder}: {size} free{of_limit}"
        what += f", {space.free_inodes} inodes" if space.total_inodes else ""
        if min(shares) < _LITTLE or space.free_bytes < _LEAST_BYTES:
            severity = "harm" if min(shares) < _NONE else "advice"
            return Problem(
                what,
                "statvfs(3)",
                severity,  # type: ignore[arg-type]
                command="remove files there, or --conf spark.local.dir=DIRECTORY with more space",
            )
        told.append(what)
    return Fine("; ".join(told) or "no directory")


def _space(machine: Machine, folder: str) -> tuple[Space, str]:
    """Return what is left, and by which limit: files in memory take it from the executors'."""
    space = known(machine.the_own().space(folder))
    topology, plan = machine.topology, machine.plan
    if isinstance(topology, Absent) or machine.tree.mount_of(folder).kind != "tmpfs":
        return space, ""
    limit, whose = sum(node.memory_bytes for node in topology.usable_nodes), "machine"
    of_group = topology.allowed.memory_limit_bytes
    if of_group is not None and of_group < limit:
        limit, whose = of_group, "control group"
    taken_mb = 0 if isinstance(plan, Absent) else plan.memory_mb
    left = max(0, limit - (taken_mb << 20))
    if left >= space.free_bytes:
        return space, ""
    words = f" in memory, beside the application, of the {whose}'s {show_bytes(limit)}"
    return replace(space, free_bytes=left, total_bytes=min(limit, space.total_bytes)), words


CHECK = Check(
    _look,
    group="files",
    concerns="files",
    better="a tenth of the disk and 1 GB free, or more: as much as the input",
    source="Spark: hardware provisioning, local disks; the limits are hearth's",
    touches="the files that are removed",
)
