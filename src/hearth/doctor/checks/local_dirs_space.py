"""Shuffle files of a job can be as large as its input; on a full disk its tasks fail."""

from hearth.base.sizes import show_bytes
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem, known

#: Ours, of bytes and of inodes.
_LITTLE, _NONE = 0.10, 0.01


def _look(machine: Machine) -> Outcome:
    own, told = machine.the_own(), []
    for folder in own.local_dirs:
        space = known(own.space(folder))
        shares = [space.free_bytes / max(1, space.total_bytes)]
        shares += [space.free_inodes / space.total_inodes] if space.total_inodes else []
        what = f"{folder}: {show_bytes(space.free_bytes)} of {show_bytes(space.total_bytes)} free"
        what += f", {space.free_inodes} inodes" if space.total_inodes else ""
        if min(shares) < _LITTLE:
            severity = "harm" if min(shares) < _NONE else "advice"
            return Problem(
                what,
                "statvfs(3)",
                severity,  # type: ignore[arg-type]
                command="remove files there, or --conf spark.local.dir=DIRECTORY with more space",
            )
        told.append(what)
    return Fine("; ".join(told) or "no directory")


CHECK = Check(
    _look,
    group="files",
    concerns="files",
    better="a tenth of the disk free, or more: as much as the input",
    source="Spark: hardware provisioning, local disks; the limits are hearth's",
    touches="the files that are removed",
)
