"""A connection that arrives while the queue of a listener is full is dropped, and made again a
second or more later.
"""

import re

from hearth.base.sizes import counted
from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen

_FILE, _COUNTS = "proc/sys/net/core/somaxconn", "proc/net/netstat"
#: As tuned sets it; the kernel's own since Linux 5.4 is more.
_LEAST, _BETTER = 2048, 4096


def _look(machine: Machine) -> Outcome:
    tree = machine.tree
    longest = tree.number(_FILE, 1 << 31)
    what = f"net.core.somaxconn = {longest}"
    if longest >= _LEAST:
        return Fine(what)
    lines = [line.split() for line in tree.table(_COUNTS) if line.startswith("TcpExt:")]
    if len(lines) != 2 or len(lines[0]) != len(lines[1]):
        raise NotSeen(f"could not read /{_COUNTS}: it has no sound lines 'TcpExt:'")
    dropped = dict(zip(*lines, strict=True)).get("ListenOverflows", "")
    if not re.fullmatch(r"[0-9]{1,19}", dropped):
        raise NotSeen(f"could not read /{_COUNTS}: it has no ListenOverflows")
    if not int(dropped):
        return Fine(f"{what}, and no connection was dropped for it")
    return Problem(
        f"{what}; dropped at full queues: {counted(int(dropped), 'connection')}",
        f"/{_FILE}, /{_COUNTS}",
        changes=(Change(_FILE, str(_BETTER)),),
    )


CHECK = Check(
    _look,
    group="network",
    concerns="network",
    better=f"{_BETTER}: Spark's listeners ask for as much as it allows",
    source="kernel: admin-guide/sysctl/net, somaxconn; Spark: configuration, "
    "spark.shuffle.io.backLog; tuned: profile throughput-performance; Redpanda: tuner net",
    touches="listeners that are started from then on",
)
