"""Spark maps each block above spark.storage.memoryMapThreshold that it reads from disk, and ZGC
its heap.
"""

from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem

_FILE = "proc/sys/vm/max_map_count"
_WANTED = 262_144


def _look(machine: Machine) -> Outcome:
    value = machine.tree.number(_FILE)
    if value >= _WANTED:
        return Fine(f"vm.max_map_count = {value}")
    return Problem(
        f"vm.max_map_count = {value}", f"/{_FILE}", changes=(Change(_FILE, str(_WANTED)),)
    )


CHECK = Check(
    _look,
    group="limits",
    better="262144",
    source="Elasticsearch: bootstrap checks, maximum map count; Spark: configuration, "
    "memoryMapThreshold",
    touches="some kernel memory for programs that map that much",
)
