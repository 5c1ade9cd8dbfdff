"""RDMA registers memory, which must then stay in place: at the limit, registration fails."""

from hearth.base.sizes import show_bytes
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.rlimits import limit_of


def _look(machine: Machine) -> Outcome:
    _, hard = limit_of(machine.tree, "Max locked memory")
    shown = "unlimited" if hard is None else show_bytes(hard)
    adapters = [one.name for one in machine.the_topology().devices if one.kind == "infiniband"]
    if hard is None or not adapters:
        return Fine(f"locked memory: {shown}, {len(adapters)} RDMA adapters")
    return Problem(
        f"locked memory: {shown}, with the RDMA adapter {adapters[0][:40]}",
        "/proc/self/limits",
        command="a line '* - memlock unlimited' in /etc/security/limits.d, then log in again; "
        "docker run --ulimit memlock=-1",
    )


CHECK = Check(
    _look,
    group="limits",
    better="unlimited where there is an RDMA adapter",
    source="UCX: frequently asked questions",
    touches="how much memory the user's programs can hold in place",
)
