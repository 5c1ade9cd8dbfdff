"""hearth's executors, and the driver in local mode, talk over the loopback interface."""

import re

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen

_FILE = "sys/class/net/lo/flags"
_UP = 1  # IFF_UP of netdevice(7)


def _look(machine: Machine) -> Outcome:
    text = machine.tree.text(_FILE)
    if not re.fullmatch(r"0x[0-9a-f]{1,8}", text):
        raise NotSeen(f"could not read /{_FILE}: it is not what the kernel writes there")
    if int(text, 16) & _UP:
        return Fine("the loopback interface is up")
    return Problem(
        "the loopback interface is down", f"/{_FILE}", "harm", command="ip link set lo up"
    )


CHECK = Check(
    _look,
    group="network",
    better="up",
    source="man 7 netdevice, IFF_UP",
    touches="nothing",
)
