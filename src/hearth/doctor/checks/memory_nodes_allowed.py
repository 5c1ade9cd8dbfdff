"""A cpuset with CPUs of a node and not its memory makes every access of theirs a remote one."""

from hearth.base.ids import named, parse_ids
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem, published


def _look(machine: Machine) -> Outcome:
    topology = machine.the_topology()
    allowed = set(parse_ids(topology.allowed.nodes))
    cut = [
        one.id
        for one in topology.nodes
        if one.memory_bytes
        and one.id not in allowed
        and set(parse_ids(one.cpus)) & topology.usable_cpus
    ]
    if not cut:
        return Fine("the memory of all nodes whose CPUs may be used may be used too")
    return Problem(
        f"memory of {named('node', cut)} may not be used, and their CPUs may",
        "the cpuset and affinity of this process (hearth topology)",
        command="docker run --cpuset-mems with these nodes; AllowedMemoryNodes= of systemd",
    )


CHECK = Check(
    _look,
    group="container",
    concerns="placement",
    better="the memory of the nodes whose CPUs are allowed",
    source="kernel: admin-guide/cgroup-v1/cpusets; Awan 2016",
    worth=published("remote memory cost 10 % on average (Awan 2016)", 10),
    touches="other containers on these nodes",
)
