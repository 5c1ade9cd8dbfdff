"""hearth's wire and its shuffle files in memory use /dev/shm, of which Docker gives 64 MB."""

from hearth.base.sizes import show_bytes
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem, known

_PLACE = "/dev/shm"
#: Ours.
_LEAST = 1 << 30


def _look(machine: Machine) -> Outcome:
    mount = machine.tree.mount_of(_PLACE)
    if mount.point != _PLACE or mount.kind != "tmpfs":
        return Problem(
            f"{_PLACE} is not a file system in memory",
            "/proc/self/mountinfo",
            command="mount -t tmpfs -o mode=1777 tmpfs /dev/shm",
        )
    space = known(machine.the_own().space(_PLACE))
    if space.total_bytes >= _LEAST:
        return Fine(f"{_PLACE}: {show_bytes(space.total_bytes)}")
    return Problem(
        f"{_PLACE}: {show_bytes(space.total_bytes)}",
        "statvfs(3)",
        command="docker run --shm-size 8g; mount -o remount,size=50% /dev/shm",
    )


CHECK = Check(
    _look,
    group="files",
    better="1 GB or more",
    source="Docker: run, --shm-size; the limit is hearth's",
    touches="how much memory files can take there",
)
