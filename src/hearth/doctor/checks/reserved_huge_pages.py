"""Memory reserved for explicit huge pages serves no heap and no cache of files."""

from hearth.base.absent import Absent
from hearth.base.sizes import show_bytes
from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen

_FOLDER = "sys/kernel/mm/hugepages"
#: Ours: less than this share of the memory is not worth a line.
_SHARE = 0.02


def _look(machine: Machine) -> Outcome:
    tree, idle, reserved = machine.tree, 0, []
    for name in tree.names(_FOLDER, r"hugepages-\d{1,9}kB"):
        size = int(name.removeprefix("hugepages-").removesuffix("kB")) << 10
        free = tree.number(f"{_FOLDER}/{name}/free_hugepages", 1 << 40)
        idle += free * size
        if free:
            reserved.append(f"{_FOLDER}/{name}/nr_hugepages")
    total = tree.field("proc/meminfo", "MemTotal") << 10
    if idle > total:
        raise NotSeen(f"could not read /{_FOLDER}: it holds more than the machine's memory")
    if idle <= _SHARE * total:
        return Fine(f"unused explicit huge pages: {show_bytes(idle)}")
    if not isinstance(machine.own, Absent) and "+UseLargePages" in machine.java_options():
        return Fine(f"explicit huge pages: {show_bytes(idle)}, and Java's options ask for them")
    changes = tuple(Change(path, "0") for path in reserved)
    return Problem(
        f"explicit huge pages: {show_bytes(idle)} of {show_bytes(total)} reserved and unused",
        f"/{_FOLDER}",
        changes=changes,
    )


CHECK = Check(
    _look,
    group="memory",
    concerns="heaps",
    better="none, unless a program on this machine (a database, a virtual machine) is about to "
    "use them",
    source="kernel: admin-guide/mm/hugetlbpage; the limit of 2 % is hearth's",
    touches="programs that map explicit huge pages fail if there are none",
)
