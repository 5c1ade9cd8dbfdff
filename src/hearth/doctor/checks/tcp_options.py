"""Without these parts of TCP a connection has at most 64 KB on its way, also between executors of
one machine, or sends all again for one packet that was lost.
"""

from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem

_FOLDER = "proc/sys/net/ipv4"
_NAMES = ("tcp_window_scaling", "tcp_sack", "tcp_moderate_rcvbuf")


def _look(machine: Machine) -> Outcome:
    values = {name: machine.tree.number(f"{_FOLDER}/{name}", 255) for name in _NAMES}
    told = ", ".join(f"net.ipv4.{name} = {value}" for name, value in values.items())
    off = [f"{_FOLDER}/{name}" for name, value in values.items() if not value]
    if not off:
        return Fine(told)
    return Problem(told, f"/{_FOLDER}", changes=tuple(Change(path, "1") for path in off))


CHECK = Check(
    _look,
    group="network",
    concerns="network",
    better="1 for each, as the kernel has them",
    source="kernel: networking/ip-sysctl; RFC 7323, section 1.1; RFC 2018; saptune: notes 2382421 "
    "and 3024346",
    touches="connections that are made from then on",
)
