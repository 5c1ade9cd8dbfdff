"""A node then drops its cache of files before it takes memory of another node."""

from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem

_FILE = "proc/sys/vm/zone_reclaim_mode"


def _look(machine: Machine) -> Outcome:
    value = machine.tree.number(_FILE, 7)
    if not value:
        return Fine("vm.zone_reclaim_mode = 0")
    return Problem(f"vm.zone_reclaim_mode = {value}", f"/{_FILE}", changes=(Change(_FILE, "0"),))


CHECK = Check(
    _look,
    group="memory",
    concerns="placement",
    better="0: Spark's input and shuffle files profit from the cache",
    source="kernel: admin-guide/sysctl/vm, zone_reclaim_mode",
    touches="where programs that are not bound get memory once their node is full",
)
