"""Packets of the loopback, and of adapters with RPS, wait in a queue for each CPU: those that find
it full are dropped, and have to be sent again.
"""

import re

from hearth.base.sizes import counted
from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen

_FILE, _COUNTS = "proc/sys/net/core/netdev_max_backlog", "proc/net/softnet_stat"
_LINE = re.compile(r"([0-9a-f]{8}) ([0-9a-f]{8})( [0-9a-f]{8})+", re.ASCII)
#: Ours: ten times the kernel's own, and one packet in a million.
_LEAST, _RARE = 10_000, 1_000_000


def _look(machine: Machine) -> Outcome:
    longest = machine.tree.number(_FILE, 1 << 31)
    lines = [_LINE.fullmatch(line.strip()) for line in machine.tree.table(_COUNTS)]
    counts = [(int(line[1], 16), int(line[2], 16)) for line in lines if line]
    if len(counts) != len(lines):
        raise NotSeen(f"could not read /{_COUNTS}: it has other lines than the kernel's")
    whole, dropped = (sum(column) for column in zip(*counts, strict=True))
    what = f"net.core.netdev_max_backlog = {longest}; dropped: {counted(dropped, 'packet')}"
    if longest >= _LEAST or dropped * _RARE <= whole:
        return Fine(what)
    return Problem(what, f"/{_FILE}, /{_COUNTS}", changes=(Change(_FILE, str(_LEAST)),))


CHECK = Check(
    _look,
    group="network",
    concerns="network",
    better=f"{_LEAST}, where packets were dropped",
    source="kernel: admin-guide/sysctl/net, netdev_max_backlog; networking/scaling; saptune: note "
    "3024346; the limits are hearth's",
    touches="how much memory packets that wait can take",
)
