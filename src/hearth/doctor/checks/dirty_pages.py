"""On a large memory a share of it is many seconds of the disk: writers of shuffle files then
stall.
"""

from hearth.base.sizes import show_bytes
from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem

_SHARE, _BYTES = "proc/sys/vm/dirty_background_ratio", "proc/sys/vm/dirty_background_bytes"
#: Ours: what one disk of 500 MB/s writes in half a minute.
_MOST = 16 << 30


def _look(machine: Machine) -> Outcome:
    total = machine.tree.field("proc/meminfo", "MemTotal") << 10
    fixed = machine.tree.number(_BYTES)
    share = machine.tree.number(_SHARE, 100)
    size = fixed or total * share // 100
    what = f"the kernel starts writing at {show_bytes(size)} of unwritten data"
    if size <= _MOST:
        return Fine(what)
    change = Change(_BYTES, str(1 << 30), counterpart=_SHARE)
    return Problem(what, f"/{_BYTES if fixed else _SHARE}", changes=(change,))


CHECK = Check(
    _look,
    group="memory",
    concerns="files",
    better="vm.dirty_background_bytes of 1 GB, so that disks begin early",
    source="kernel: admin-guide/sysctl/vm, dirty_background_bytes; the limit of 16 GB is hearth's",
    touches="every program that writes; files that live for seconds reach the disk",
)
